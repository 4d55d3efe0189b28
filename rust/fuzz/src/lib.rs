//! What has to hold for every input.
//!
//! Owns the invariants, the time that an input may take among them. A function here panics when one is broken; how inputs are found is the fuzzer's business. The
//! first bytes of an input, its [`Header`], choose settings, so that a search covers them too.

mod connection;
mod decode;
mod split;

use std::time::{Duration, Instant};

pub use connection::connection;
pub use decode::{decode, type_index};
pub use split::split;

/// Longest input that the limits below hold for.
pub const MAX_INPUT: usize = 1 << 20;
/// Longest time that one input may take.
pub const MAX_TIME: Duration = Duration::from_millis(100);

/// Does what the core would do with an input, and panics when it takes too long. A machine that is busy with other work makes a single measurement
/// worthless, so only what is slow each time is slow.
///
/// # Panics
/// When the fastest of several runs took longer than [`MAX_TIME`].
pub(crate) fn timed(work: impl Fn()) {
    let fastest = || {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    let first = fastest();
    if first > MAX_TIME {
        let again = (0..4).map(|_| fastest()).min().unwrap_or(first);
        assert!(again <= MAX_TIME, "one input took {again:?}");
    }
}

/// The bytes before the payload of an input.
pub type Header = [u8; 4];

/// An input's header and payload; a short input is all header.
pub(crate) fn parts(data: &[u8]) -> (Header, &[u8]) {
    match data.split_first_chunk() {
        Some((header, payload)) => (*header, payload),
        None => (Header::default(), data),
    }
}
