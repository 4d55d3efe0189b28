//! Checking of JSON text of unknown quality.
//!
//! Owns the grammar. Works without recursion, so that nesting costs no stack.

use super::string::{self, Str};
use super::{number, space};

/// The most levels of nesting that are read or written.
pub const MAX_DEPTH: usize = 1024;

/// Where and why a text is no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub kind: SyntaxKind,
    /// Byte offset at which it showed.
    pub offset: usize,
}

/// What is wrong with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxKind {
    /// A character that cannot stand there.
    Unexpected,
    /// The text ends within a value.
    End,
    /// A bad escape or a control character in a string.
    String,
    /// A malformed number, one with too many digits, or one that overflows a double.
    Number,
    /// More than [`MAX_DEPTH`] levels.
    Depth,
}

/// Checks values in a text, one after another.
#[derive(Clone, Copy, Debug)]
pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Starts at the first byte of `text`.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text, at: space(text.as_bytes(), 0) }
    }

    /// Checks that `text` is one JSON value, white space around it allowed.
    ///
    /// # Errors
    /// The first place that is no JSON.
    pub fn check(text: &'a str) -> Result<(), SyntaxError> {
        let mut scanner = Self::new(text);
        scanner.value(MAX_DEPTH)?;
        scanner.finish()
    }

    /// Byte offset of the next unread byte.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.at
    }

    /// The next byte, unread.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The part of the text between two offsets.
    #[must_use]
    pub fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Takes `byte` and the white space after it when it is next.
    #[inline]
    pub fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at = space(self.text.as_bytes(), self.at + 1);
        }
        found
    }

    /// Takes `text` and the white space after it when it is next, written exactly so.
    #[inline]
    pub fn take_text(&mut self, text: &str) -> bool {
        let bytes = self.text.as_bytes();
        let found = bytes.get(self.at..).is_some_and(|rest| rest.starts_with(text.as_bytes()));
        if found {
            self.at = space(bytes, self.at + text.len());
        }
        found
    }

    /// Fails unless only white space is left.
    ///
    /// # Errors
    /// [`SyntaxKind::Unexpected`] at the first other byte.
    pub fn finish(&self) -> Result<(), SyntaxError> {
        if self.at == self.text.len() { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The error for the byte at hand.
    #[must_use]
    pub fn unexpected(&self) -> SyntaxError {
        let kind = if self.peek().is_none() { SyntaxKind::End } else { SyntaxKind::Unexpected };
        SyntaxError { kind, offset: self.at }
    }

    /// Checks a string literal and returns its contents; white space after it is skipped.
    ///
    /// # Errors
    /// Where the text is no string literal.
    #[inline]
    pub fn string(&mut self) -> Result<Str<'a>, SyntaxError> {
        let bytes = self.text.as_bytes();
        let (end, escaped) = string_end(bytes, self.at)?;
        let raw = self.slice(self.at + 1, end - 1);
        self.at = space(bytes, end);
        Ok(Str { raw, escaped })
    }

    /// Checks a member name and the colon after it.
    ///
    /// # Errors
    /// Where the text is something else.
    #[inline]
    pub fn key(&mut self) -> Result<Str<'a>, SyntaxError> {
        let key = self.string()?;
        if self.take(b':') { Ok(key) } else { Err(self.unexpected()) }
    }

    /// Checks one value of at most `depth` levels and returns its text; white space after it is skipped.
    ///
    /// # Errors
    /// The first place that is no JSON.
    pub fn value(&mut self, depth: usize) -> Result<&'a str, SyntaxError> {
        let bytes = self.text.as_bytes();
        let end = value_end(bytes, self.at, depth)?;
        let raw = self.slice(self.at, end);
        self.at = space(bytes, end);
        Ok(raw)
    }
}

/// The kinds of the containers around a place, one bit each.
struct Levels {
    bits: [u64; MAX_DEPTH / 64],
    depth: usize,
    limit: usize,
}

impl Levels {
    fn new(limit: usize) -> Self {
        Self { bits: [0; MAX_DEPTH / 64], depth: 0, limit: limit.min(MAX_DEPTH) }
    }

    #[inline]
    fn push(&mut self, object: bool, offset: usize) -> Result<(), SyntaxError> {
        if self.depth == self.limit {
            return Err(SyntaxError { kind: SyntaxKind::Depth, offset });
        }
        if let Some(word) = self.bits.get_mut(self.depth / 64) {
            let bit = 1 << (self.depth % 64);
            *word = if object { *word | bit } else { *word & !bit };
        }
        self.depth += 1;
        Ok(())
    }

    #[inline]
    fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Whether the innermost container is an object; None outside of all.
    #[inline]
    fn top(&self) -> Option<bool> {
        let at = self.depth.checked_sub(1)?;
        self.bits.get(at / 64).map(|word| word >> (at % 64) & 1 == 1)
    }
}

/// The end of the value at `at`.
fn value_end(bytes: &[u8], mut at: usize, depth: usize) -> Result<usize, SyntaxError> {
    let mut levels = Levels::new(depth);
    loop {
        match bytes.get(at) {
            Some(b'"') => at = string_end(bytes, at)?.0,
            Some(b'{') => {
                levels.push(true, at)?;
                at = space(bytes, at + 1);
                if bytes.get(at) != Some(&b'}') {
                    at = key_end(bytes, at)?;
                    continue;
                }
                levels.pop();
                at += 1;
            }
            Some(b'[') => {
                levels.push(false, at)?;
                at = space(bytes, at + 1);
                if bytes.get(at) != Some(&b']') {
                    continue;
                }
                levels.pop();
                at += 1;
            }
            Some(b'-' | b'0'..=b'9') => {
                at = number::end(bytes, at)
                    .map_err(|(kind, offset)| SyntaxError { kind, offset })?;
            }
            Some(b't') => at = word_end(bytes, at, b"true")?,
            Some(b'f') => at = word_end(bytes, at, b"false")?,
            Some(b'n') => at = word_end(bytes, at, b"null")?,
            _ => return Err(unexpected(bytes, at)),
        }
        // A value is complete: leave the containers that end here, or go on to the next value.
        loop {
            let Some(object) = levels.top() else { return Ok(at) };
            at = space(bytes, at);
            match bytes.get(at) {
                Some(b',') => {
                    at = space(bytes, at + 1);
                    if object {
                        at = key_end(bytes, at)?;
                    }
                    break;
                }
                Some(b'}') if object => at += 1,
                Some(b']') if !object => at += 1,
                _ => return Err(unexpected(bytes, at)),
            }
            levels.pop();
        }
    }
}

fn unexpected(bytes: &[u8], offset: usize) -> SyntaxError {
    let kind = if offset < bytes.len() { SyntaxKind::Unexpected } else { SyntaxKind::End };
    SyntaxError { kind, offset }
}

fn word_end(bytes: &[u8], at: usize, word: &[u8]) -> Result<usize, SyntaxError> {
    if bytes.get(at..).is_some_and(|rest| rest.starts_with(word)) {
        Ok(at + word.len())
    } else {
        Err(unexpected(bytes, at))
    }
}

/// The start of the value after the member name at `at`.
#[inline]
fn key_end(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    let at = space(bytes, string_end(bytes, at)?.0);
    if bytes.get(at) == Some(&b':') { Ok(space(bytes, at + 1)) } else { Err(unexpected(bytes, at)) }
}

/// The position after the string literal at `at`, and whether it holds escapes.
#[inline]
fn string_end(bytes: &[u8], at: usize) -> Result<(usize, bool), SyntaxError> {
    if bytes.get(at) != Some(&b'"') {
        return Err(unexpected(bytes, at));
    }
    let end = string::literal_end(bytes, at + 1);
    // Nearly all literals have no escapes; what is left of the others need not be fast to call.
    if bytes.get(end) == Some(&b'"') { Ok((end + 1, false)) } else { escaped_end(bytes, end) }
}

/// The same from the first place in the literal that is no plain text.
#[inline(never)]
fn escaped_end(bytes: &[u8], mut at: usize) -> Result<(usize, bool), SyntaxError> {
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok((at + 1, true)),
            Some(b'\\') => {
                let step = match bytes.get(at + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                    Some(b'u') if bytes.get(at + 2..).and_then(string::hex4).is_some() => 6,
                    _ => return Err(SyntaxError { kind: SyntaxKind::String, offset: at }),
                };
                at = string::literal_end(bytes, at + step);
            }
            None => return Err(SyntaxError { kind: SyntaxKind::End, offset: at }),
            Some(_) => return Err(SyntaxError { kind: SyntaxKind::String, offset: at }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Option<SyntaxKind> {
        Scanner::check(text).err().map(|error| error.kind)
    }

    #[test]
    fn values_are_told_from_other_text() {
        for good in [
            "0",
            "-0",
            "1.5e-7",
            "true",
            "null",
            "\"\"",
            "[]",
            "{}",
            " [ 1 , {\"a\" : [ ] , \"b\":{}} ] ",
            r#""\ud800""#,
            "[[],[[]],{}]",
        ] {
            assert_eq!(check(good), None, "{good}");
        }
        for bad in [
            "",
            " ",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "--1",
            "tru",
            "nul",
            "[1,]",
            "[,1]",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\"}",
            "{\"a\":}",
            "[1 2]",
            "]",
            "{]",
            "[}",
            "\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\n\"",
            "1 1",
            "NaN",
            "Infinity",
            "1e999",
            "-1e999",
            "\u{feff}1",
        ] {
            assert!(check(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn nesting_is_read_to_the_limit_and_no_further() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check(&nested(MAX_DEPTH)), None);
        assert_eq!(check(&nested(MAX_DEPTH + 1)), Some(SyntaxKind::Depth));
        assert_eq!(check(&"[".repeat(100_000)), Some(SyntaxKind::Depth));
        let objects = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        assert_eq!(check(&objects(MAX_DEPTH)), None);
        assert_eq!(check(&objects(MAX_DEPTH + 1)), Some(SyntaxKind::Depth));
    }

    #[test]
    fn integers_are_read_to_the_limit_of_digits_and_no_further() {
        assert_eq!(check(&"9".repeat(number::MAX_DIGITS)), None);
        assert_eq!(check(&"9".repeat(number::MAX_DIGITS + 1)), Some(SyntaxKind::Number));
    }
}
