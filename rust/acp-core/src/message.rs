//! Reading of one message: which kind it is, and where its parts stand.
//!
//! Owns the envelope. A message is checked in one pass from its first byte to its last; params and results stay text.
//! Knows nothing of what was sent before or of any method.

use crate::frame::{Salvage, Salvaged};
use crate::id::Id;
use crate::json::{Cursor, Kind, Number, Scanner, Str, SyntaxError, SyntaxKind};
use crate::member::{Member, Members};

/// A method with its params.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub method: Str<'a>,
    /// None for absent and `null`.
    pub params: Option<&'a str>,
    pub lane: Option<Str<'a>>,
}

/// One message.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request { id: Id, call: Call<'a> },
    Notification(Call<'a>),
    Response { id: Id, answer: Answer<'a> },
    Invalid(Invalid),
}

/// What a well-formed response holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer<'a> {
    Result { text: &'a str, lane: Option<Str<'a>> },
    Error { code: i32, message: Str<'a>, data: Option<&'a str>, raw: &'a str },
}

/// JSON that is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Invalid {
    pub fault: Fault,
    /// The integer id of something that may have been meant as a response.
    pub id: Option<i64>,
    /// Shaped like a response, which nothing is said to.
    pub response: bool,
    /// An object without method and id: whoever sent it waits for no answer.
    pub asks_nothing: bool,
}

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Envelope,
    Duplicate,
    Id,
}

/// One entry of a batch.
#[derive(Debug)]
pub(crate) enum Entry<'a> {
    Message {
        message: Message<'a>,
        text: &'a str,
    },
    /// Nested too deep.
    Deep {
        salvaged: Salvaged,
        text: &'a str,
    },
}

/// A frame that is an array.
#[derive(Debug)]
pub(crate) struct Array<'a> {
    /// The entries; empty when there are more than were asked for.
    pub entries: Vec<Entry<'a>>,
    pub count: usize,
}

/// A frame.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    Message(Message<'a>),
    Array(Array<'a>),
}

/// Reads a frame: values of at most `depth` levels, arrays of at most `limit` entries.
pub(crate) fn read(text: &str, depth: usize, limit: usize) -> Result<Content<'_>, SyntaxError> {
    let mut scanner = Scanner::new(text);
    if scanner.peek() == Some(b'[') {
        return array(scanner, text, depth, limit).map(Content::Array);
    }
    let message = message(&mut scanner, depth)?;
    scanner.finish()?;
    Ok(Content::Message(message))
}

fn array<'a>(
    mut scanner: Scanner<'a>,
    mut text: &'a str,
    depth: usize,
    limit: usize,
) -> Result<Array<'a>, SyntaxError> {
    let mut array = Array { entries: Vec::new(), count: 0 };
    scanner.take(b'[');
    if scanner.take(b']') {
        return scanner.finish().map(|()| array);
    }
    loop {
        let start = scanner.offset();
        let rest = text.get(start..).unwrap_or_default();
        let entry = match message(&mut scanner, depth) {
            Ok(message) => {
                let entry = text.get(start..scanner.offset()).unwrap_or_default();
                Entry::Message { message, text: entry.trim_ascii_end() }
            }
            // The other entries are read as if this one were well-formed.
            Err(error) if error.kind == SyntaxKind::Depth => {
                let (salvaged, end) = Salvage::of_value(rest.as_bytes()).ok_or(error)?;
                let (entry, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                text = after;
                scanner = Scanner::new(text);
                Entry::Deep { salvaged, text: entry }
            }
            Err(error) => return Err(error),
        };
        array.count += 1;
        if array.count <= limit {
            array.entries.push(entry);
        }
        if scanner.take(b']') {
            break;
        }
        if !scanner.take(b',') {
            return Err(scanner.unexpected());
        }
    }
    if array.count > limit {
        array.entries = Vec::new();
    }
    scanner.finish().map(|()| array)
}

/// The parts of an envelope.
#[derive(Default)]
struct Envelope<'a> {
    members: Members,
    other_version: bool,
    ids_differ: bool,
    id: Option<&'a str>,
    method: Option<Str<'a>>,
    params: &'a str,
    result: &'a str,
    error: &'a str,
    /// The `sessionId` of params or result.
    lane: Option<Str<'a>>,
}

/// Nearly every message begins so, and one comparison costs less than a name and a string.
const USUAL_START: &str = r#""jsonrpc":"2.0","#;

/// Reads one value as a message; white space after it is passed.
fn message<'a>(scanner: &mut Scanner<'a>, depth: usize) -> Result<Message<'a>, SyntaxError> {
    if !scanner.take(b'{') {
        scanner.value(depth)?;
        let fault = Fault::Envelope;
        let invalid = Invalid { fault, id: None, response: false, asks_nothing: false };
        return Ok(Message::Invalid(invalid));
    }
    let mut envelope = Envelope::default();
    if scanner.take_text(USUAL_START) {
        envelope.members.add(Member::Version);
    } else if scanner.take(b'}') {
        return Ok(envelope.classify());
    }
    loop {
        let name = scanner.key()?;
        envelope.member(Member::of(name), scanner, depth)?;
        if scanner.take(b',') {
            continue;
        }
        if scanner.take(b'}') {
            return Ok(envelope.classify());
        }
        return Err(scanner.unexpected());
    }
}

impl<'a> Envelope<'a> {
    #[inline]
    fn member(
        &mut self,
        member: Option<Member>,
        scanner: &mut Scanner<'a>,
        depth: usize,
    ) -> Result<(), SyntaxError> {
        let Some(member) = member else { return scanner.value(depth).map(drop) };
        self.members.add(member);
        match member {
            Member::Version => {
                let version = text_or_value(scanner, depth)?;
                self.other_version |= !version.is_some_and(|version| version.is("2.0"));
            }
            Member::Id => {
                let id = scanner.value(depth)?;
                self.ids_differ |= self.id.is_some_and(|other| other != id);
                self.id = Some(id);
            }
            Member::Method => self.method = text_or_value(scanner, depth)?,
            Member::Params => (self.params, self.lane) = value_with_lane(scanner, depth)?,
            Member::Result => (self.result, self.lane) = value_with_lane(scanner, depth)?,
            Member::Error => self.error = scanner.value(depth)?,
        }
        Ok(())
    }

    fn classify(self) -> Message<'a> {
        let has = |member| self.members.has(member);
        let answers = has(Member::Result) || has(Member::Error);
        if has(Member::Method) || !has(Member::Id) || !answers {
            return self.call(answers);
        }
        self.response()
    }

    fn invalid(&self, fault: Fault) -> Message<'a> {
        let has = |member| self.members.has(member);
        let id =
            if has(Member::Method) || self.ids_differ { None } else { self.id.and_then(Id::read) };
        Message::Invalid(Invalid {
            fault: if self.members.repeated() { Fault::Duplicate } else { fault },
            id: if let Some(Id::Int(number)) = id { Some(number) } else { None },
            response: !has(Member::Method) && (has(Member::Result) || has(Member::Error)),
            asks_nothing: !has(Member::Method) && !has(Member::Id),
        })
    }

    fn call(self, answers: bool) -> Message<'a> {
        let params = match self.params.as_bytes().first() {
            Some(b'{' | b'[') => Some(self.params),
            Some(b'n') | None => None,
            Some(_) => return self.invalid(Fault::Envelope),
        };
        let Some(method) = self.method else { return self.invalid(Fault::Envelope) };
        if answers || self.other_version || self.members.repeated() {
            return self.invalid(Fault::Envelope);
        }
        let call = Call { method, params, lane: self.lane };
        let Some(id) = self.id else { return Message::Notification(call) };
        match Id::read(id) {
            Some(id) => Message::Request { id, call },
            None => self.invalid(Fault::Id),
        }
    }

    fn response(self) -> Message<'a> {
        if self.other_version || self.members.repeated() {
            return self.invalid(Fault::Envelope);
        }
        let Some(id) = self.id.and_then(Id::read) else { return self.invalid(Fault::Envelope) };
        // Some peers write both members of every response and set one to null. With a null result it cannot be told
        // whether the request succeeded.
        let answer = match (self.members.has(Member::Result), self.members.has(Member::Error)) {
            (true, has_error) if !has_error || self.error == "null" => {
                Some(Answer::Result { text: self.result, lane: self.lane })
            }
            (false, true) => error_object(self.error),
            _ => None,
        };
        answer.map_or_else(
            || self.invalid(Fault::Envelope),
            |answer| Message::Response { id, answer },
        )
    }
}

/// A string, or None for any other value.
#[inline]
fn text_or_value<'a>(
    scanner: &mut Scanner<'a>,
    depth: usize,
) -> Result<Option<Str<'a>>, SyntaxError> {
    if scanner.peek() == Some(b'"') {
        return scanner.string().map(Some);
    }
    scanner.value(depth).map(|_| None)
}

/// A value, and its `sessionId` when it is an object with such a string.
fn value_with_lane<'a>(
    scanner: &mut Scanner<'a>,
    depth: usize,
) -> Result<(&'a str, Option<Str<'a>>), SyntaxError> {
    if scanner.peek() != Some(b'{') || depth == 0 {
        return scanner.value(depth).map(|text| (text, None));
    }
    let start = scanner.offset();
    let mut lane = None;
    scanner.take(b'{');
    let mut end = scanner.offset();
    if !scanner.take(b'}') {
        loop {
            let name = scanner.key()?;
            if name.is("sessionId") {
                lane = text_or_value(scanner, depth - 1)?;
            } else if scanner.peek() == Some(b'"') {
                scanner.string()?;
            } else {
                scanner.value(depth - 1)?;
            }
            if scanner.take(b',') {
                continue;
            }
            end = scanner.offset();
            if scanner.take(b'}') {
                break;
            }
            return Err(scanner.unexpected());
        }
    }
    Ok((scanner.slice(start, end + 1), lane))
}

/// The parts of an error object; None when it is none. Of a repeated member the last one counts.
fn error_object(raw: &str) -> Option<Answer<'_>> {
    let (mut code, mut message, mut data) = (None, None, None);
    for_each_member(raw, |name, value| {
        if name.is("code") {
            code = Some(value);
        } else if name.is("message") {
            message = Some(value);
        } else if name.is("data") {
            data = Some(value);
        }
    })?;
    let Number::Int(code) = number(code?)? else { return None };
    Some(Answer::Error { code: i32::try_from(code).ok()?, message: string(message?)?, data, raw })
}

/// Hands on the members of a checked text that is an object; None when it is something else.
pub(crate) fn for_each_member<'a>(
    text: &'a str,
    mut member: impl FnMut(Str<'a>, &'a str),
) -> Option<()> {
    let mut cursor = Cursor::new(text);
    if cursor.kind() != Kind::Object {
        return None;
    }
    if cursor.enter() {
        loop {
            let name = cursor.key();
            member(name, cursor.skip());
            if !cursor.more() {
                break;
            }
        }
    }
    Some(())
}

/// The contents of a checked text that is a string.
pub(crate) fn string(text: &str) -> Option<Str<'_>> {
    let mut cursor = Cursor::new(text);
    (cursor.kind() == Kind::Str).then(|| cursor.string())
}

/// The value of a checked text that is a number.
pub(crate) fn number(text: &str) -> Option<Number<'_>> {
    let mut cursor = Cursor::new(text);
    (cursor.kind() == Kind::Number).then(|| cursor.number())
}

/// The message in a successor's envelope; None when the params are no such envelope.
pub(crate) fn successor_call(params: &str) -> Option<Call<'_>> {
    let (mut method, mut inner) = (None, None);
    for_each_member(params, |name, value| {
        if name.is("method") {
            method = Some(value);
        } else if name.is("params") {
            inner = Some(value);
        }
    })?;
    let method = string(method?)?;
    let params = match inner.map(str::as_bytes) {
        None | Some(b"null") => None,
        Some([b'{' | b'[', ..]) => inner,
        Some(_) => return None,
    };
    let mut lane = None;
    params.and_then(|params| {
        for_each_member(params, |name, value| {
            if name.is("sessionId") {
                lane = string(value);
            }
        })
    });
    Some(Call { method, params, lane })
}

/// The id that the params of `$/cancel_request` name; None when they are malformed.
pub(crate) fn cancelled_id(params: &str) -> Option<Id> {
    let mut id = None;
    for_each_member(params, |name, value| {
        if name.is("requestId") {
            id = Some(value);
        }
    })?;
    Id::read(id?)
}
