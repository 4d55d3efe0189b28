//! The stream splitter.

use acp_core::frame::{Frame, Splitter};

use crate::{parts, timed};

#[derive(Debug, PartialEq)]
enum Seen {
    Whole(Vec<u8>),
    Oversize(usize, String),
}

fn frames<'a>(limit: usize, chunks: impl Iterator<Item = &'a [u8]>) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut sink = |frame: Frame<'_>| {
        seen.push(match frame {
            Frame::Whole(bytes) => Seen::Whole(bytes.to_vec()),
            Frame::Oversize(salvaged) => Seen::Oversize(salvaged.size, format!("{salvaged:?}")),
        });
    };
    let mut splitter = Splitter::new(limit);
    for chunk in chunks {
        splitter.push(chunk, &mut sink);
        assert!(splitter.held() <= limit + 1, "more than a frame is held");
    }
    splitter.finish(&mut sink);
    assert_eq!(splitter.held(), 0);
    seen
}

/// A stream gives the same frames whole, byte by byte and in chunks, and they are what stands between its newlines.
///
/// # Panics
/// When that does not hold.
pub fn split(data: &[u8]) {
    let ([low, high, chunk, _], stream) = parts(data);
    let limit = usize::from(u16::from_le_bytes([low, high]));
    timed(|| drop(frames(limit, std::iter::once(stream))));
    let whole = frames(limit, std::iter::once(stream));
    assert_eq!(frames(limit, stream.chunks(1)), whole, "byte by byte");
    assert_eq!(frames(limit, stream.chunks(usize::from(chunk) + 2)), whole, "in chunks");
    let expected = stream
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| line.iter().any(|byte| !b" \t\r".contains(byte)));
    let mut seen = whole.iter();
    for line in expected {
        match seen.next() {
            Some(Seen::Whole(bytes)) => {
                assert!(line.len() <= limit);
                assert_eq!(bytes, line);
            }
            Some(Seen::Oversize(size, _)) => {
                assert!(line.len() > limit);
                assert_eq!(*size, line.len());
            }
            None => unreachable!("a frame is missing"),
        }
    }
    assert_eq!(seen.next(), None);
}
