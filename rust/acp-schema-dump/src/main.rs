//! Prints what the official schema crate knows.
//!
//! ```text
//! acp-schema-dump schema v1|v2   the JSON Schema of a version
//! acp-schema-dump types          the types that can be judged: version, tab, name
//! acp-schema-dump judge          reads lines `VERSION TYPE JSON`, prints a verdict for each
//! ```
//!
//! With the feature `unstable` (the default) everything is there, without it only the stable part.

mod judge;
mod roots;
mod types;

use std::error::Error;
use std::io::{self, BufRead, Write};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut out = io::BufWriter::new(io::stdout().lock());
    match words.as_slice() {
        ["schema", version] => {
            let schema = match *version {
                "v1" => roots::v1::schema()?,
                "v2" => roots::v2::schema()?,
                _ => return Err("versions are v1 and v2".into()),
            };
            writeln!(out, "{}", serde_json::to_string_pretty(&schema)?)?;
        }
        ["types"] => {
            for kind in judge::kinds() {
                writeln!(out, "{}\t{}", kind.version, kind.name)?;
            }
        }
        ["judge"] => {
            let judge = judge::Judge::new();
            for line in io::stdin().lock().lines() {
                writeln!(out, "{}", judge.line(&line?))?;
            }
        }
        _ => return Err("one of: schema v1, schema v2, types, judge".into()),
    }
    out.flush()?;
    Ok(())
}
