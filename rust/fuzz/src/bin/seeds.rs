//! Writes the inputs that a search starts from, and a dictionary, made from the corpus of the schema.
//!
//! `seeds CORPUS OUT`: reads the `*.jsonl` files of a directory, writes `OUT/<target>/<number>` and `OUT/dictionary`.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use acp_core::schema::generated::{V1, V2};
use acp_fuzz::{Header, type_index};
use serde_json::Value;

/// Messages that show what no schema case does.
const MESSAGES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":0,"result":{"sessionId":"s1"}}"#,
    r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no","data":null}}"#,
    r#"{"id":3,"result":{"score":NaN}}"#,
    r#"{"id":1,"error":"boom"}"#,
    r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}"#,
    r#"{"id":null,"method":"m","params":null}"#,
    r#"{"id":1.5,"method":"m"}"#,
    r#"{"id":1,"id":2,"method":"m"}"#,
    r#"[{"id":"a","method":"m"},7,{"method":"n"},{"id":0,"result":1},[]]"#,
    r#"[{"id":1,"method":"m"},{"method":"$/cancel_request","params":{"requestId":1}}]"#,
    r#"{"id":1,"method":"_proxy/successor","params":{"method":"session/prompt","params":{"sessionId":"s"}}}"#,
    r#"{"id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}"#,
    r#"{"id":1,"method":"initialize","params":{"protocolVersion":2,"info":{"name":"c","version":"1"}}}"#,
    r#"{"id":1,"method":"initialize","params":{"protocolVersion":3,"capabilities":{"auth":7}}}"#,
    r#"{"id":0,"result":{"protocolVersion":1}}"#,
    r#"{"id":1,"method":"m","params":[[[[[[[[[[]]]]]]]]]]}"#,
    r#"{"params":["\u0022}{"],"\u0069d":"\ud800","method":"m"}"#,
    "{oops",
    "[1,",
    "[]",
    "17",
    " \r",
    "\u{feff}{}",
];

struct Seeds {
    out: PathBuf,
    written: usize,
    words: BTreeSet<String>,
}

impl Seeds {
    fn write(
        &mut self,
        target: &str,
        header: Header,
        payload: &[u8],
    ) -> Result<(), Box<dyn Error>> {
        let folder = self.out.join(target);
        fs::create_dir_all(&folder)?;
        self.written += 1;
        fs::write(folder.join(self.written.to_string()), [&header, payload].concat())?;
        Ok(())
    }

    fn row(&mut self, row: &Value) -> Result<(), Box<dyn Error>> {
        let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
        let (version, ty, json) = (text("v"), text("type"), text("json"));
        if let Ok(value) = serde_json::from_str(json) {
            self.collect(&value);
        }
        let (schema, target) =
            if version == "v1" { (&V1, "decode_v1") } else { (&V2, "decode_v2") };
        if let Some(header) = type_index(schema, ty) {
            self.write(target, header, json.as_bytes())?;
        }
        let mut path = ty.splitn(3, ':');
        let (kind, method) = (path.next().unwrap_or_default(), path.nth(1).unwrap_or_default());
        let message = match kind {
            "@req" => format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{json}}}"#),
            "@note" => format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{json}}}"#),
            "@res" => format!(r#"{{"jsonrpc":"2.0","id":0,"result":{json}}}"#),
            _ => return Ok(()),
        };
        // A connection of version 2 that is not initialized serves nothing of it.
        let (flags, ready) = if version == "v1" { (0x08, 0) } else { (0x0A, 1) };
        self.write("connection", [flags, 0, 16, ready], (message + "\n").as_bytes())
    }

    fn collect(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.words.insert(text.clone());
            }
            Value::Array(list) => list.iter().for_each(|value| self.collect(value)),
            Value::Object(object) => {
                for (name, value) in object {
                    self.words.insert(name.clone());
                    self.collect(value);
                }
            }
            _ => {}
        }
    }

    fn dictionary(&self) -> String {
        let envelope = [
            "jsonrpc", "2.0", "id", "method", "params", "result", "error", "code", "message",
            "data",
        ];
        let plain = |word: &&str| {
            word.len() <= 32
                && word.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte))
        };
        let words = self.words.iter().map(String::as_str).chain(envelope).filter(plain);
        words.flat_map(|word| ["\"\\\"", word, "\\\"\"\n"]).collect()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(corpus), Some(out)) = (arguments.next(), arguments.next()) else {
        return Err("seeds CORPUS OUT".into());
    };
    let mut seeds = Seeds { out, written: 0, words: BTreeSet::new() };
    for file in rows(&corpus)? {
        for line in fs::read_to_string(file)?.lines() {
            seeds.row(&serde_json::from_str(line)?)?;
        }
    }
    let stream = MESSAGES.join("\n");
    for flags in 0..=u8::MAX {
        seeds.write("connection", [flags, flags % 5 * 20, flags, flags >> 6], stream.as_bytes())?;
    }
    for (at, message) in (0..).zip(MESSAGES) {
        seeds.write("connection", [at, 0, 1, 0], message.as_bytes())?;
        seeds.write("split", [at, 0, at, 0], (stream.clone() + "\r\n").as_bytes())?;
        seeds.write("split", [0, 1, at, 0], message.as_bytes())?;
    }
    fs::write(seeds.out.join("dictionary"), seeds.dictionary())?;
    Ok(())
}

fn rows(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() { Err("no *.jsonl there".into()) } else { Ok(files) }
}
