//! What depends on the protocol version.
//!
//! Owns every comparison of versions, and the rules for `initialize` on the agent's side. A version that is added finds
//! its place here. Knows nothing of ids, replies or the order of messages.

use std::borrow::Cow;

use crate::json::{Cursor, Kind, Number, Str, Writer};
use crate::message::{for_each_member, number, string};
use crate::options::{Options, Role};

/// The method that opens a connection.
pub(crate) const INITIALIZE: &str = "initialize";

/// Data of the error for an `initialize` whose version cannot be read, as JSON.
pub(crate) const BAD_VERSION: &str =
    "\"initialize.protocolVersion must be a valid ACP protocol version\"";

/// Data of the error for a request whose id is `null` where that is none, as JSON.
pub(crate) const NULL_ID: &str =
    "\"ACP protocol v2 request ids must be a string or an integer, not null\"";

/// Data of the error for a request that came before initialization, as JSON.
pub(crate) fn too_early(method: &str) -> String {
    let mut text = Vec::new();
    Writer::new(&mut text)
        .string(&format!("ACP initialization must complete before `{method}` can be used"));
    String::from_utf8(text).unwrap_or_default()
}

/// Whether `null` is the id of a request.
pub(crate) fn allows_null_id(version: u16) -> bool {
    version < 2
}

/// Whether requests are served by the rules of initialization.
pub(crate) fn is_guarded(options: &Options) -> bool {
    options.guard && options.role == Role::Agent
}

/// Params of `initialize` in the form that a handler of `version` reads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Normalised<'a> {
    pub params: Option<Cow<'a, str>>,
    /// Only the lax reading accepts the version that was asked for.
    pub lax: bool,
}

/// Puts the params of `initialize` in the form of `version`, whatever version they ask for; None when they ask for
/// none. Only version 1 has such rules so far.
pub(crate) fn normalise(
    version: u16,
    params: Option<Cow<'_, str>>,
    lax: bool,
) -> Option<Normalised<'_>> {
    if version != 1 {
        return Some(Normalised { params, lax: false });
    }
    let text = params?;
    let mut asked = None;
    for_each_member(&text, |name, value| {
        if name.is("protocolVersion") {
            asked = Some(value);
        }
    })?;
    let exact = asked.and_then(exact_version);
    let loose = if lax && exact.is_none() { asked.and_then(lax_version) } else { None };
    let requested = exact.or(loose)?;
    // Programs that ask for a later version in the shape of this one were always understood by lax endpoints.
    let own_shape = lax && members(&text, ["clientCapabilities", "clientInfo"]) != [None, None];
    let params = if requested > version && !own_shape {
        Cow::Owned(from_later(version, &text))
    } else if exact == Some(version) {
        text
    } else {
        Cow::Owned(with_version(version, &text)?)
    };
    Some(Normalised { params: Some(params), lax: loose.is_some() })
}

/// The object `text` with `protocolVersion` set; None when it is no object.
pub(crate) fn with_version(version: u16, text: &str) -> Option<String> {
    let mut object = ObjectText::new();
    object.member("protocolVersion", &version.to_string());
    for_each_member(text, |name, value| {
        if !name.is("protocolVersion") {
            object.raw_member(name, value);
        }
    })?;
    Some(object.finish())
}

fn exact_version(value: &str) -> Option<u16> {
    match number(value)? {
        Number::Int(number) => u16::try_from(number).ok(),
        _ => None,
    }
}

fn lax_version(value: &str) -> Option<u16> {
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
        return Some(1);
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
fn from_later(version: u16, text: &str) -> String {
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
    object.member("protocolVersion", &version.to_string());
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

fn is_object(text: &str) -> bool {
    Cursor::new(text).kind() == Kind::Object
}

/// The members of an object with these names; all None when it is none.
fn members<'a, const N: usize>(text: &'a str, names: [&str; N]) -> [Option<&'a str>; N] {
    let mut found = [None; N];
    for_each_member(text, |name, value| {
        for (place, wanted) in found.iter_mut().zip(names) {
            if name.is(wanted) {
                *place = Some(value);
            }
        }
    });
    found
}

/// An object that is being written from parts that are JSON already.
struct ObjectText(String);

impl ObjectText {
    fn new() -> Self {
        Self(String::from("{"))
    }

    fn member(&mut self, name: &str, value: &str) {
        self.raw_member(Str { raw: name, escaped: false }, value);
    }

    fn raw_member(&mut self, name: Str<'_>, value: &str) {
        let comma = if self.0.len() > 1 { "," } else { "" };
        for part in [comma, "\"", name.raw, "\":", value] {
            self.0.push_str(part);
        }
    }

    fn object_member(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value.filter(|value| is_object(value)) {
            self.member(name, value);
        }
    }

    fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}
