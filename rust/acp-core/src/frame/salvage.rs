//! Search of a frame that cannot be read for what identifies it.
//!
//! Owns the lenient walk, in constant memory and one pass, that finds the top-level `id` and `method` of a frame which
//! is too long, too deep, or broken inside, so that its sender can be told, or its caller be freed. It matches brackets
//! and quotes and checks nothing else.

use super::is_space;
use crate::id::Id;
use crate::json::Scanner;
use crate::member::{Member, Members};

/// Longest id that is read, with its quotes and escapes.
const MAX_ID: usize = 1024;
/// Longest member name that is read; more than `"jsonrpc"` takes with every letter escaped.
const MAX_KEY: usize = 64;

/// What was found in a frame that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salvaged {
    /// Bytes of the frame, without its line ending.
    pub size: usize,
    pub(crate) id: SalvagedId,
    /// A method that is a string, so that it is a request or a notification.
    pub(crate) call: bool,
    /// A result or an error, and no method.
    pub(crate) response: bool,
    /// The first bytes of the frame, as many as were to be kept.
    pub(crate) head: Vec<u8>,
}

/// The id of such a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SalvagedId {
    /// There is no such member.
    Absent,
    /// There is one, or the frame is so broken that none can be told.
    Unreadable,
    /// This one.
    Read(Id),
}

/// The walk itself; fed with parts of a frame.
#[derive(Debug, Default)]
pub(crate) struct Salvage {
    size: usize,
    kept: usize,
    head: Vec<u8>,
    /// The last byte that was fed.
    last: u8,
    state: State,
    /// Whether the outermost value is an object.
    object: bool,
    depth: usize,
    escape: bool,
    key: Capture<MAX_KEY>,
    member: Option<Member>,
    id: Capture<MAX_ID>,
    members: Members,
    text_method: bool,
}

/// Where the walk stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Before the outermost value.
    #[default]
    Start,
    /// Before a member name of the outermost object.
    Name,
    /// In that name.
    Key,
    /// Between the name and its colon.
    Colon,
    /// Before the value of that member.
    Value,
    /// In a value that is a string.
    Text,
    /// In a value that is a number or a word.
    Scalar,
    /// After a value.
    Next,
    /// In an array or object further in.
    Deep,
    /// In a string further in.
    DeepText,
    /// After the outermost value.
    End,
    /// Nothing can be told any more.
    Broken,
}

/// The first bytes of something.
#[derive(Debug, Default)]
struct Capture<const MAX: usize> {
    bytes: Vec<u8>,
    over: bool,
}

impl<const MAX: usize> Capture<MAX> {
    fn clear(&mut self) {
        self.bytes.clear();
        self.over = false;
    }

    fn push(&mut self, part: &[u8]) {
        self.over |= self.bytes.len() + part.len() > MAX;
        if !self.over {
            self.bytes.extend_from_slice(part);
        }
    }

    /// The bytes, when they are all there and are one JSON value.
    fn value(&self) -> Option<&str> {
        let text = core::str::from_utf8(&self.bytes).ok().filter(|_| !self.over)?;
        Scanner::check(text).is_ok().then_some(text)
    }
}

impl Salvage {
    /// Searches a frame that is there as a whole.
    pub(crate) fn of(frame: &[u8]) -> Salvaged {
        let mut salvage = Self::default();
        salvage.feed(frame);
        salvage.finish()
    }

    /// Searches the value that `text` begins with; also returns where it ends, unless it does not.
    pub(crate) fn of_value(text: &[u8]) -> Option<(Salvaged, usize)> {
        let mut salvage = Self::default();
        let mut at = 0;
        while salvage.state != State::End {
            at += salvage.step(text.get(at..).filter(|rest| !rest.is_empty())?);
        }
        salvage.size = at;
        Some((salvage.finish(), at))
    }

    /// Begins a search that keeps the first bytes, at most `kept`.
    pub(crate) fn keeping(kept: usize) -> Self {
        Self { kept, ..Self::default() }
    }

    /// Goes on with the next part.
    pub(crate) fn feed(&mut self, part: &[u8]) {
        let room = part.len().min(self.kept - self.head.len());
        self.head.extend_from_slice(part.get(..room).unwrap_or_default());
        self.size = self.size.saturating_add(part.len());
        if let Some(last) = part.last() {
            self.last = *last;
        }
        let mut rest = part;
        while !rest.is_empty() {
            let taken = self.step(rest);
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    /// Whether there was nothing but white space.
    pub(crate) fn is_blank(&self) -> bool {
        self.state == State::Start
    }

    /// What was found.
    pub(crate) fn finish(mut self) -> Salvaged {
        let size = self.size - usize::from(self.last == b'\r');
        self.head.truncate(size);
        let told = self.state == State::End && self.object;
        let id = match self.members.has(Member::Id) {
            false if told => SalvagedId::Absent,
            true if told && !self.members.repeated() => {
                self.id.value().and_then(Id::read).map_or(SalvagedId::Unreadable, SalvagedId::Read)
            }
            _ => SalvagedId::Unreadable,
        };
        let answer = self.members.has(Member::Result) || self.members.has(Member::Error);
        let method = self.members.has(Member::Method);
        Salvaged {
            size,
            id,
            call: told && self.text_method && !answer,
            response: told && answer && !method,
            head: self.head,
        }
    }

    /// Takes at least one byte, and returns how many.
    fn step(&mut self, rest: &[u8]) -> usize {
        match self.state {
            State::Key | State::Text | State::DeepText => self.string(rest),
            State::Deep => self.deep(rest),
            State::Broken => rest.len(),
            _ => {
                if let Some(byte) = rest.first() {
                    self.state = self.structure(*byte);
                }
                1
            }
        }
    }

    fn capture(&mut self, part: &[u8]) {
        match (self.state, self.member) {
            (State::Key, _) => self.key.push(part),
            (State::Text | State::Scalar, Some(Member::Id)) => self.id.push(part),
            _ => {}
        }
    }

    fn string(&mut self, rest: &[u8]) -> usize {
        if self.escape {
            self.escape = false;
            self.capture(rest.get(..1).unwrap_or_default());
            return 1;
        }
        let stop = memchr::memchr2(b'"', b'\\', rest);
        let taken = stop.map_or(rest.len(), |stop| stop + 1);
        self.capture(rest.get(..taken).unwrap_or_default());
        match stop.and_then(|stop| rest.get(stop)) {
            Some(b'\\') => self.escape = true,
            Some(_) => {
                self.state = match self.state {
                    State::Key => State::Colon,
                    State::Text => State::Next,
                    _ => State::Deep,
                }
            }
            None => {}
        }
        taken
    }

    fn deep(&mut self, rest: &[u8]) -> usize {
        let floor = usize::from(self.object);
        for (at, byte) in rest.iter().enumerate() {
            match byte {
                b'"' => {
                    self.state = State::DeepText;
                    return at + 1;
                }
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == floor {
                        self.state = if self.object { State::Next } else { State::End };
                        return at + 1;
                    }
                }
                _ => {}
            }
        }
        rest.len()
    }

    fn structure(&mut self, byte: u8) -> State {
        if is_space(byte) {
            return if self.state == State::Scalar { State::Next } else { self.state };
        }
        match (self.state, byte) {
            (State::Start, b'{') => {
                self.object = true;
                self.depth = 1;
                State::Name
            }
            (State::Start, b'[') => {
                self.depth = 1;
                State::Deep
            }
            (State::Name, b'"') => {
                self.key.clear();
                self.key.push(b"\"");
                State::Key
            }
            (State::Colon, b':') => {
                self.member = self.key.value().and_then(Member::of_literal);
                if let Some(member) = self.member {
                    self.members.add(member);
                }
                State::Value
            }
            (State::Value, byte) => self.value(byte),
            (State::Scalar | State::Next, b',') => State::Name,
            (State::Scalar | State::Next | State::Name, b'}') => State::End,
            (State::Scalar, byte) => {
                self.capture(&[byte]);
                State::Scalar
            }
            _ => State::Broken,
        }
    }

    fn value(&mut self, first: u8) -> State {
        if self.member == Some(Member::Method) {
            self.text_method = first == b'"';
        }
        self.state = match first {
            b'"' => State::Text,
            b'{' | b'[' => {
                self.depth += 1;
                State::Deep
            }
            b',' | b'}' | b']' | b':' => State::Broken,
            _ => State::Scalar,
        };
        self.capture(&[first]);
        self.state
    }
}
