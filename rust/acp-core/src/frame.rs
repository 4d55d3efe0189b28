//! Splitting of a byte stream into frames.
//!
//! Owns where frames begin and end. A frame is what stands between two newlines; blank ones are none. No byte is looked
//! at twice for that: a frame that lies within one chunk is borrowed from it, and of an unfinished one only the tail is
//! kept. A frame over the limit is not kept, save for its beginning where that is asked for, but
//! only searched for what identifies it ([`Salvage`]). Knows
//! nothing of what a frame means.

mod salvage;

pub use salvage::Salvaged;
pub(crate) use salvage::{Salvage, SalvagedId};

/// A tail that grew beyond this is given back once its frame is done.
const KEPT_CAPACITY: usize = 256 << 10;

/// A frame of the stream.
#[derive(Debug)]
pub enum Frame<'a> {
    /// The bytes of a frame, without its line ending.
    Whole(&'a [u8]),
    /// A frame over the limit, which was not kept.
    Oversize(Salvaged),
}

/// Splits a stream of chunks.
#[derive(Debug)]
pub struct Splitter {
    limit: usize,
    kept: usize,
    tail: Vec<u8>,
    skipped: Option<Salvage>,
}

impl Splitter {
    /// Splits into frames of at most `limit` bytes, line endings not counted.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, kept: 0, tail: Vec::new(), skipped: None }
    }

    /// The same, but of a frame over the limit the first `kept` bytes are kept.
    #[must_use]
    pub fn keeping(self, kept: usize) -> Self {
        Self { kept, ..self }
    }

    /// Takes a chunk and hands on each frame that ends in it.
    pub fn push(&mut self, chunk: &[u8], sink: &mut impl FnMut(Frame<'_>)) {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', chunk) {
            self.end_frame(chunk.get(start..end).unwrap_or_default(), sink);
            start = end + 1;
        }
        self.keep(chunk.get(start..).unwrap_or_default());
    }

    /// Takes one whole frame of a transport that keeps frames apart. Newlines in it are white space.
    pub fn push_frame(&mut self, frame: &[u8], sink: &mut impl FnMut(Frame<'_>)) {
        hand_on(self.limit, self.kept, frame, sink);
    }

    /// Ends the stream: what is left is a frame.
    pub fn finish(&mut self, sink: &mut impl FnMut(Frame<'_>)) {
        self.end_frame(&[], sink);
    }

    /// Bytes of the unfinished frame that are held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.tail.len()
    }

    fn end_frame(&mut self, part: &[u8], sink: &mut impl FnMut(Frame<'_>)) {
        if let Some(mut skipped) = self.skipped.take() {
            skipped.feed(part);
            report(skipped, sink);
        } else if self.tail.is_empty() {
            hand_on(self.limit, self.kept, part, sink);
        } else {
            self.tail.extend_from_slice(part);
            let mut frame = core::mem::take(&mut self.tail);
            hand_on(self.limit, self.kept, &frame, sink);
            if frame.capacity() <= KEPT_CAPACITY {
                frame.clear();
                self.tail = frame;
            }
        }
    }

    fn keep(&mut self, part: &[u8]) {
        if let Some(skipped) = &mut self.skipped {
            skipped.feed(part);
            return;
        }
        // One byte more than the limit may be a carriage return that belongs to the line ending.
        if self.tail.len() + part.len() <= self.limit.saturating_add(1) {
            self.tail.extend_from_slice(part);
            return;
        }
        let mut skipped = Salvage::keeping(self.kept);
        skipped.feed(&core::mem::take(&mut self.tail));
        skipped.feed(part);
        self.skipped = Some(skipped);
    }
}

#[inline]
fn hand_on(limit: usize, kept: usize, line: &[u8], sink: &mut impl FnMut(Frame<'_>)) {
    let frame = line.strip_suffix(b"\r").unwrap_or(line);
    if frame.len() > limit {
        let mut skipped = Salvage::keeping(kept);
        skipped.feed(line);
        report(skipped, sink);
    } else if frame.first() == Some(&b'{') || frame.iter().any(|byte| !is_space(*byte)) {
        sink(Frame::Whole(frame));
    }
}

fn report(skipped: Salvage, sink: &mut impl FnMut(Frame<'_>)) {
    if !skipped.is_blank() {
        sink(Frame::Oversize(skipped.finish()));
    }
}

/// Whether a byte is JSON white space.
#[inline]
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}
