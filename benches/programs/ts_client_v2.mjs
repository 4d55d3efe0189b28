// A client of version 2 on the TypeScript SDK: `ts_client_v2.mjs UPDATES COMMAND…` prints microseconds for each update.
import * as acp from "@agentclientprotocol/sdk/experimental/v2";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const [updates, command, ...rest] = process.argv.slice(2);
const child = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
const { agent: A, client: C } = acp.methods;
let count = 0, characters = 0, target = Infinity, seen = () => {};
const app = acp.client({ name: "bench" }).onNotification(C.session.update, ({ params: { update } }) => {
  if (update.sessionUpdate === "agent_message_chunk") characters += update.content.text.length;
  count += 1;
  if (count === target) seen();
});
const streams = [Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)];
await app.connectWith(acp.ndJsonStream(...streams), async (agent) => {
  await agent.request(A.initialize, { protocolVersion: 2, info: { name: "bench", version: "1" }, capabilities: {} });
  const { sessionId } = await agent.request(A.session.new, { cwd: "/tmp", mcpServers: [] });
  const stream = async (wanted) => {
    count = characters = 0;
    target = wanted;
    const all = new Promise((resolve) => (seen = resolve));
    const started = performance.now();
    const prompt = [{ type: "text", text: String(wanted) }];
    await Promise.all([agent.request(A.session.prompt, { sessionId, prompt }), all]);
    return performance.now() - started;
  };
  await stream(1000);
  const wanted = Number(updates);
  const milliseconds = await stream(wanted);
  if (characters !== (wanted / 10) * 8 * 42) throw new Error(`read ${characters} characters`);
  console.log(JSON.stringify({ update: (milliseconds * 1000) / wanted }));
});
child.kill();
