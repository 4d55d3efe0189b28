//! How version 1 reads `initialize`.
//!
//! Owns its fallback, by which any version is served as this one, the looser forms of the compatibility profile, and
//! what of a later version's params has a meaning here.

use std::borrow::Cow;

use super::object::{ObjectText, is_object, members, with_version};
use super::{Opening, Refusal, exact};
use crate::json::Number;
use crate::message::{for_each_member, number, string};

const THIS: u16 = 1;

/// Puts params that ask for the version `asked` in the form of version 1.
pub(super) fn read<'a>(text: &'a str, asked: &str, lax: bool) -> Result<Opening<'a>, Refusal> {
    let exact = exact(asked);
    let loose = if lax && exact.is_none() { loosely(asked) } else { None };
    let requested = exact.or(loose).ok_or(Refusal::BadVersion)?;
    // Programs that ask for a later version in the shape of this one were always understood by lax endpoints.
    let own_shape = lax && members(text, ["clientCapabilities", "clientInfo"]) != [None, None];
    let params = if requested > THIS && !own_shape {
        Cow::Owned(from_later(text))
    } else if exact == Some(THIS) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(with_version(THIS, text).ok_or(Refusal::BadVersion)?)
    };
    Ok(Opening { params, lax: loose.is_some() })
}

fn loosely(value: &str) -> Option<u16> {
    if let Some(Number::Float(number)) = number(value) {
        let whole = number.fract() == 0.0 && (0.0..=f64::from(u16::MAX)).contains(&number);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        return whole.then_some(number as u16);
    }
    let text = string(value)?;
    let text = text.text();
    let text = text.as_str()?;
    if is_date(text) {
        return Some(THIS);
    }
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())?
}

/// Whether a text has the form of `2024-11-05`, which a related protocol uses for its versions.
fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// Params of a later version in the form of version 1. What a later version says about file system and terminal means
/// something else there, so neither is ever switched on; what does not fit is left out.
fn from_later(text: &str) -> String {
    let (mut info, mut capabilities, mut meta) = (None, None, None);
    for_each_member(text, |name, value| {
        if name.is("info") {
            info = Some(value);
        } else if name.is("capabilities") {
            capabilities = Some(value);
        } else if name.is("_meta") {
            meta = Some(value);
        }
    });
    let mut object = ObjectText::new();
    object.member("protocolVersion", &THIS.to_string());
    object.member("clientCapabilities", &client_capabilities(capabilities.unwrap_or("{}")));
    if let Some(info) = info.and_then(implementation) {
        object.member("clientInfo", &info);
    }
    object.object_member("_meta", meta);
    object.finish()
}

fn implementation(text: &str) -> Option<String> {
    let [name, version, title, meta] = members(text, ["name", "version", "title", "_meta"]);
    string(name?)?;
    string(version?)?;
    let mut object = ObjectText::new();
    object.member("name", name?);
    if let Some(title) = title.filter(|title| string(title).is_some()) {
        object.member("title", title);
    }
    object.member("version", version?);
    object.object_member("_meta", meta);
    Some(object.finish())
}

fn client_capabilities(text: &str) -> String {
    let [auth, elicitation, meta] = members(text, ["auth", "elicitation", "_meta"]);
    let mut object = ObjectText::new();
    object.member("session", r#"{"configOptions":{"boolean":{}}}"#);
    if let Some(auth) = auth.filter(|auth| is_object(auth)) {
        let [terminal, meta] = members(auth, ["terminal", "_meta"]);
        let mut inner = ObjectText::new();
        inner.member("terminal", if terminal.is_some_and(is_object) { "true" } else { "false" });
        inner.object_member("_meta", meta);
        object.member("auth", &inner.finish());
    }
    if let Some(elicitation) = elicitation.filter(|elicitation| is_object(elicitation)) {
        let [form, url, meta] = members(elicitation, ["form", "url", "_meta"]);
        let mut inner = ObjectText::new();
        inner.object_member("form", form);
        inner.object_member("url", url);
        inner.object_member("_meta", meta);
        object.member("elicitation", &inner.finish());
    }
    object.object_member("_meta", meta);
    object.finish()
}
