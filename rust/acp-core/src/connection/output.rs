//! The bytes that wait to be sent.
//!
//! Owns that they are whole frames, one a line, whatever a writer does: one that fails, or unwinds, leaves nothing, and
//! text that came over several lines leaves as one.

use core::convert::Infallible;

use crate::id::Id;
use crate::json::Writer;

const HEAD: &[u8] = br#"{"jsonrpc":"2.0","#;

/// Frames that were not taken yet.
#[derive(Debug, Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// Where the last whole frame ends.
    whole: usize,
}

impl Output {
    pub(super) fn len(&self) -> usize {
        self.whole
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.whole).unwrap_or_default()
    }

    pub(super) fn take(&mut self) -> Vec<u8> {
        self.bytes.truncate(self.whole);
        self.whole = 0;
        core::mem::take(&mut self.bytes)
    }

    pub(super) fn clear(&mut self, keep_capacity: usize) {
        self.whole = 0;
        self.bytes.clear();
        if self.bytes.capacity() > keep_capacity {
            self.bytes = Vec::new();
        }
    }

    /// Adds what `write` appends as a frame; nothing when it appends nothing or fails.
    pub(super) fn frame<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.bytes.truncate(self.whole);
        write(&mut self.bytes)?;
        let frame = self.bytes.get_mut(self.whole..).unwrap_or_default();
        if frame.is_empty() {
            return Ok(());
        }
        put_on_one_line(frame);
        self.bytes.push(b'\n');
        self.whole = self.bytes.len();
        Ok(())
    }

    /// The same for a writer that cannot fail.
    pub(super) fn sure_frame(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let Ok(()) = self.frame(|out| {
            write(out);
            Ok::<(), Infallible>(())
        });
    }
}

/// Text that a transport without lines received may hold newlines between its tokens. In JSON they stand nowhere else.
fn put_on_one_line(frame: &mut [u8]) {
    let mut rest = frame;
    while let Some(at) = memchr::memchr(b'\n', rest) {
        if let Some(byte) = rest.get_mut(at) {
            *byte = b' ';
        }
        rest = rest.get_mut(at + 1..).unwrap_or_default();
    }
}

/// Appends a request (with an id) or a notification. `params` tells whether it wrote any.
pub(super) fn write_call<E>(
    out: &mut Vec<u8>,
    id: Option<i64>,
    method: &str,
    params: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
) -> Result<(), E> {
    out.extend_from_slice(HEAD);
    let mut writer = Writer::new(out);
    if let Some(id) = id {
        writer.plain_key("id");
        writer.int(id);
        writer.byte(b',');
    }
    writer.plain_key("method");
    writer.string(method);
    let end = writer.len();
    writer.raw(",\"params\":");
    if !params(out)? {
        out.truncate(end);
    }
    out.push(b'}');
    Ok(())
}

/// Appends a response up to its result, which ends with a closing brace.
pub(super) fn write_result_head(out: &mut Vec<u8>, id: &Id) {
    out.extend_from_slice(HEAD);
    out.extend_from_slice(b"\"id\":");
    id.write(out);
    out.extend_from_slice(b",\"result\":");
}

/// Appends an error response. `data` is JSON text.
pub(super) fn write_error(
    out: &mut Vec<u8>,
    id: &Id,
    code: i32,
    message: &str,
    data: Option<&str>,
) {
    out.extend_from_slice(HEAD);
    out.extend_from_slice(b"\"id\":");
    id.write(out);
    let mut writer = Writer::new(out);
    writer.raw(",\"error\":{\"code\":");
    writer.int(i64::from(code));
    writer.raw(",\"message\":");
    writer.string(message);
    if let Some(data) = data {
        writer.raw(",\"data\":");
        writer.raw(data);
    }
    writer.raw("}}");
}
