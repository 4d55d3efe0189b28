#!/usr/bin/env node
// Checks an agent at the level of raw ndjson lines, without any SDK: framing, JSON-RPC rules, leniency.
// Usage: node wire_rules.mjs [--protocol=1|2] [--rules=acp|sdk] AGENT [ARG…]
// --rules: acp (default) = the decisions of docs/decisions.md: batches are answered in one array, a missing jsonrpc member is accepted,
// fractional ids are refused. sdk = the TypeScript SDK's choices, to check this script against agent_v1.mjs and agent_v2.mjs.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Checks, log, parseArgs, sleep, within } from "./lib.mjs";

const { flags, rest } = parseArgs(process.argv.slice(2));
const V = Number(flags.protocol ?? 1);
const SDK = flags.rules === "sdk";
if (rest.length === 0) {
  console.error("usage: wire_rules.mjs [--protocol=1|2] AGENT [ARG…]");
  process.exit(2);
}
const checks = new Checks();
const info = { name: "wire-rules", version: "1" };
const goodInit = V === 2 ? { protocolVersion: 2, info, capabilities: {} } : { protocolVersion: 1, clientInfo: info, clientCapabilities: {} };

/** A fresh agent process; `ask` sends raw bytes and waits for the next line. */
function start() {
  const child = spawn(rest[0], rest.slice(1), { stdio: ["pipe", "pipe", "ignore"] });
  const lines = [];
  const waiters = [];
  createInterface({ input: child.stdout }).on("line", (l) => {
    lines.push(JSON.parse(l));
    waiters.splice(0).forEach((w) => w());
  });
  const exited = new Promise((resolve) => child.once("exit", (code) => resolve(code)));
  const next = (n) => within(15000, `line ${n + 1}`, (async () => {
    while (lines.length <= n) await new Promise((resolve) => waiters.push(resolve));
    return lines[n];
  })());
  const write = (bytes) => child.stdin.write(bytes);
  const ask = async (bytes) => {
    const n = lines.length;
    write(bytes);
    return next(n);
  };
  const send = (m) => ask(`${JSON.stringify({ jsonrpc: "2.0", ...m })}\n`);
  return { child, lines, next, write, ask, send, exited, end: () => child.stdin.end() };
}
const err = (m) => [m.id, m.error?.code];
async function session(name, body) {
  log("scenario", { name });
  const a = start();
  await body(a).catch((e) => checks.ok(`${name}: no exception`, false, { message: e.message }));
  a.end();
  const code = await Promise.race([a.exited, sleep(5000).then(() => "still running")]);
  checks.equal(`${name}: agent leaves at end of input`, code, 0);
  a.child.kill();
}

await session("framing", async (a) => {
  checks.equal("broken JSON", err(await a.ask("{oops\n")), [null, -32700]);
  const batch = await a.ask('[{"jsonrpc":"2.0","id":1,"method":"x"},7,{"jsonrpc":"2.0","method":"_n/x"}]\n');
  if (SDK) checks.equal("batch", err(batch), [null, -32600]);
  else checks.equal("batch", Array.isArray(batch) ? batch.map((m) => [m.id, typeof m.error?.code]) : batch, [[1, "number"], [null, "number"]]);
  checks.equal("empty batch", err(await a.ask("[]\n")), [null, -32600]);
  checks.equal("number", err(await a.ask("3\n")), [null, -32600]);
  checks.equal("no jsonrpc member", err(await a.ask('{"id":1,"method":"initialize","params":{}}\n')), SDK ? [null, -32600] : [1, -32602]);
  checks.equal("method is not a string", err(await a.ask('{"jsonrpc":"2.0","id":1,"method":7}\n')), [null, -32600]);
  checks.equal("id is an object", err(await a.ask('{"jsonrpc":"2.0","id":{},"method":"initialize"}\n')), [null, -32600]);
  checks.equal("request before initialize", err(await a.send({ id: "early", method: "session/list", params: {} })), ["early", -32600]);
  a.write('\n\r\n  \n{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"x"}}\n{"jsonrpc":"2.0","id":77,"result":{}}\n{"jsonrpc":"2.0","method":"_interop.test/unknown"}\n{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":123}}\n');
  const bytes = Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id: "i\u00e9\ud83c\udf89", method: "initialize", params: goodInit })}\r\n`);
  const cut = bytes.indexOf(0xf0) + 2;
  a.write(bytes.subarray(0, cut));
  await sleep(50);
  const init = await a.ask(bytes.subarray(cut));
  checks.equal("UTF-8 split over two writes, CRLF, blank lines and notifications before it", [init.id, init.result?.protocolVersion], ["i\u00e9\ud83c\udf89", V]);
  checks.equal("unknown method", err(await a.send({ id: 2, method: "no/such" })), [2, -32601]);
  checks.equal("unknown vendor method", err(await a.send({ id: 3, method: "_no.such/method", params: {} })), [3, -32601]);
  checks.equal("params left out where all are optional", (await a.send({ id: 4, method: "session/list" })).result?.sessions, []);
  checks.equal("wrong params", err(await a.send({ id: 5, method: "session/new", params: { cwd: 3 } })), [5, -32602]);
  checks.equal("id 0", (await a.send({ id: 0, method: "session/list", params: {} })).id, 0);
  checks.equal("negative id", (await a.send({ id: -5, method: "session/list", params: {} })).id, -5);
  const nullId = await a.send({ id: null, method: "session/list", params: {} });
  const fraction = await a.send({ id: 1.5, method: "session/list", params: {} });
  if (V === 2) checks.equal("null and fractional ids are refused", [err(nullId), err(fraction)], [[null, -32600], [null, -32600]]);
  else checks.equal("a null id is answered, a fractional one by choice", [nullId.id, Boolean(nullId.result), SDK ? fraction.id : err(fraction)], [null, true, SDK ? 1.5 : [null, -32600]]);
  const n = a.lines.length;
  const two = ["a", "b"].map((id) => JSON.stringify({ jsonrpc: "2.0", id, method: "session/list", params: {} })).join("\n");
  a.write(`${two}\n`);
  checks.equal("two messages in one write", [(await a.next(n)).id, (await a.next(n + 1)).id].sort(), ["a", "b"]);
  checks.equal("nothing else was answered", a.lines.length, n + 2);
});

await session("leniency", async (a) => {
  if (V === 2) {
    const old = await a.send({ id: 1, method: "initialize", params: { ...goodInit, protocolVersion: 1 } });
    checks.equal("older version is refused with what is supported", [old.error?.code, old.error?.data?.requested, old.error?.data?.supported], [-32022, 1, [2]]);
    checks.equal("info is required", err(await a.send({ id: 2, method: "initialize", params: { protocolVersion: 2 } })), [2, -32602]);
  }
  checks.equal("protocol version is not a number", err(await a.send({ id: 3, method: "initialize", params: { ...goodInit, protocolVersion: "x" } })), [3, -32602]);
  const loose = V === 2
    ? { protocolVersion: 2, info: { ...info, extra: 1 }, capabilities: { elicitation: "yes", future: { x: 1 }, auth: null }, _meta: { k: 1 }, more: true }
    : { protocolVersion: 1, clientInfo: { name: 5 }, clientCapabilities: { fs: "yes", terminal: 3, future: {} }, _meta: { k: 1 }, more: true };
  checks.equal("malformed optional parts of initialize are dropped", (await a.send({ id: 4, method: "initialize", params: loose })).result?.protocolVersion, V);
  checks.equal("a newer version gets the newest one known", (await a.send({ id: 5, method: "initialize", params: { protocolVersion: 99, capabilities: 7 } })).result?.protocolVersion, V);
  const made = await a.send({ id: 6, method: "session/new", params: { cwd: "/tmp", mcpServers: V === 2 ? null : [], additionalDirectories: null, futureField: [1], _meta: null } });
  checks.ok("session/new with nulls and unknown fields", typeof made.result?.sessionId === "string", made.error);
  const server = V === 2 ? { type: "stdio", name: "ok", command: "/bin/true" } : { name: "ok", command: "/bin/true", args: [], env: [] };
  const mixed = await a.send({ id: 7, method: "session/new", params: { cwd: "/tmp", mcpServers: [{ name: 5, command: 6, type: V === 2 ? "stdio" : undefined }, server] } });
  log("note", { name: "one malformed MCP server in a list", answer: mixed.error ?? "accepted" });
  checks.ok("one malformed MCP server: a clear answer", mixed.result || mixed.error.code === -32602);
});

await session("last line without a newline", async (a) => {
  const n = a.lines.length;
  a.write(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: goodInit }));
  a.end();
  const answer = await Promise.race([a.next(n).catch(() => undefined), a.exited.then(() => sleep(100)).then(() => undefined)]);
  log("note", { name: "unterminated last line", answered: answer !== undefined });
  checks.ok("unterminated last line does no harm", true);
});

process.exit(checks.finish());
