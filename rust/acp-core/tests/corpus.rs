//! Every row of the corpus, as labelled by the official schema or as `schema/decisions.toml` decides otherwise.

#![expect(clippy::unwrap_used, reason = "a row that cannot be read is the failure itself")]

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use acp_core::schema::decode::Options;
use acp_core::schema::generated::{V1, V2};
use acp_core::schema::table::{Schema, Side, Type};
use acp_core::schema::value::{Value, decode, encode};
use serde::Deserialize;

#[derive(Deserialize)]
struct Row {
    v: String,
    #[serde(rename = "type")]
    ty: String,
    case: String,
    json: String,
    ok: bool,
    out: Option<String>,
    quirk: Option<String>,
}

#[derive(Deserialize)]
struct Decisions {
    decision: Vec<Decision>,
}

#[derive(Deserialize)]
struct Decision {
    name: String,
    v: Option<String>,
    #[serde(rename = "type")]
    ty: Option<String>,
    case: Option<String>,
    quirk: Option<String>,
    file: Option<String>,
    json: Option<String>,
    verdict: Verdict,
    reason: String,
    #[serde(skip)]
    used: Cell<usize>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    /// The value is refused although the label accepts it: the row, or the part of it that may be left out.
    Refuse,
    /// The row is accepted although the label refuses it.
    Accept,
    /// The row is accepted as the label says, and written otherwise.
    Written,
    /// The row is not judged here.
    Skip,
}

/// Whether `text` matches `pattern`, in which `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

impl Decision {
    fn covers(&self, row: &Row, file: &str) -> bool {
        let fits = |pattern: &Option<String>, text: &str| {
            pattern.as_ref().is_none_or(|pattern| matches(pattern, text))
        };
        fits(&self.v, &row.v)
            && fits(&self.ty, &row.ty)
            && fits(&self.case, &row.case)
            && fits(&self.file, file)
            && fits(&self.json, &row.json)
            && fits(&self.quirk, row.quirk.as_deref().unwrap_or(""))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn type_of(schema: &Schema, name: &str) -> Option<Type> {
    let Some(path) = name.strip_prefix('@') else { return schema.find(name) };
    let mut parts = path.splitn(3, ':');
    let (kind, side, method) = (parts.next()?, parts.next()?, parts.next()?);
    let side = match side {
        "agent" => Side::Agent,
        "client" => Side::Client,
        _ => Side::Protocol,
    };
    // A response travels the other way: the side named is the one that answers.
    let found = schema.method(side, kind != "note", method);
    match found {
        Some(found) => Some(if kind == "res" { found.result } else { found.params }),
        None => method.starts_with('_').then_some(Type::Any),
    }
}

/// JSON equality: members in any order, `1` and `1.0` apart, doubles within one unit in the last place.
fn same(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    use serde_json::Value as Json;
    match (a, b) {
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Json::Number(a), Json::Number(b)) => {
            let (a, b) = (a.to_string(), b.to_string());
            let float =
                |text: &str| text.contains(['.', 'e', 'E']).then(|| text.parse::<f64>().unwrap());
            match (float(&a), float(&b)) {
                (Some(a), Some(b)) => a.to_bits().abs_diff(b.to_bits()) <= 1,
                (None, None) => a == b,
                _ => false,
            }
        }
        _ => a == b,
    }
}

/// Decodes, writes, decodes again: what was read, and what the reference implementation would write.
fn transcode(ty: &Type, text: &str) -> Result<(Value, Vec<u8>), String> {
    let value =
        decode(ty, text, Options::default()).map_err(|faults| format!("refused: {faults:?}"))?;
    let full = match encode(ty, &value, true) {
        Ok(full) => full,
        Err(fault) => return Err(format!("written: {fault:?}")),
    };
    let again = decode(ty, std::str::from_utf8(&full).unwrap(), Options::default());
    let again = again.ok().and_then(|again| encode(ty, &again, true).ok());
    if again.as_ref() != Some(&full) {
        return Err(format!("not stable: {}", String::from_utf8_lossy(&full)));
    }
    let out = encode(ty, &value, false).unwrap();
    Ok((value, out))
}

fn fault_of(row: &Row, schema: &Schema, verdict: Option<Verdict>) -> Option<String> {
    let Some(ty) = type_of(schema, &row.ty) else {
        // A method that is neither known nor an extension is refused; a type that the tables do not have is an oversight.
        return (row.ok || !row.ty.starts_with('@')).then(|| "no such type".into());
    };
    let got = transcode(&ty, &row.json);
    let accepted = match verdict {
        // Refused as a whole, or (the row differs from its label already) in a part that may be left out.
        Some(Verdict::Refuse) => got.is_ok(),
        Some(Verdict::Accept | Verdict::Written) => true,
        _ => row.ok,
    };
    match (accepted, got) {
        (false, Ok((_, out))) => Some(format!("accepted: {}", String::from_utf8_lossy(&out))),
        (true, Err(error)) => Some(error),
        (true, Ok((_, out))) if verdict.is_none() => {
            let out: serde_json::Value = serde_json::from_slice(&out).unwrap();
            let expected = serde_json::from_str(row.out.as_deref().unwrap_or_default()).unwrap();
            (!same(&out, &expected)).then(|| format!("written as {out}"))
        }
        _ => None,
    }
}

#[test]
fn every_row_of_the_corpus_is_read_and_written_as_labelled_or_decided() {
    let decisions: Decisions =
        toml::from_str(&fs::read_to_string(root().join("schema/decisions.toml")).unwrap()).unwrap();
    let mut judged = 0;
    let mut skipped = 0;
    let mut faults = Vec::new();
    let mut files: Vec<_> = fs::read_dir(root().join("tests/data/corpus"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for path in files {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        for line in fs::read_to_string(&path).unwrap().lines() {
            let row: Row = serde_json::from_str(line).unwrap();
            let decision = decisions.decision.iter().find(|decision| decision.covers(&row, &file));
            let skip = decision.filter(|decision| decision.verdict == Verdict::Skip);
            if let Some(decision) = skip {
                decision.used.set(decision.used.get() + 1);
                skipped += 1;
                continue;
            }
            judged += 1;
            let schema = if row.v == "v1" { &V1 } else { &V2 };
            // A decision counts only for rows that come out otherwise than labelled.
            let mut fault = fault_of(&row, schema, None);
            if let Some(decision) = decision.filter(|_| fault.is_some()) {
                decision.used.set(decision.used.get() + 1);
                fault = fault_of(&row, schema, Some(decision.verdict));
            }
            if let Some(fault) = fault {
                faults.push(format!(
                    "{file} {} {} {:?} {}\n    label {} {:?}\n    {fault}",
                    row.v, row.ty, row.case, row.json, row.ok, row.out
                ));
            }
        }
    }
    for decision in &decisions.decision {
        assert!(!decision.reason.is_empty(), "{} has no reason", decision.name);
        if decision.used.get() == 0 {
            faults.push(format!("decision {:?} covers no row", decision.name));
        }
    }
    println!("{judged} rows judged, {skipped} skipped");
    assert!(
        faults.is_empty(),
        "{} of {judged} rows differ:\n{}",
        faults.len(),
        faults.iter().take(400).cloned().collect::<Vec<_>>().join("\n")
    );
    assert!(judged > 12_000);
}
