//! The decoder and the encoder.

use acp_core::schema::decode::Options;
use acp_core::schema::table::Schema;
use acp_core::schema::value;

use crate::{Header, parts};

/// The header that chooses a type of the schema by name.
#[must_use]
pub fn type_index(schema: &Schema, name: &str) -> Option<Header> {
    let at = schema.types.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
    let [low, high] = u16::try_from(at).ok()?.to_le_bytes();
    Some([low, high, 0, 0])
}

/// What is read can be written, and reads again as the same value and the same text; text that cannot be read is refused
/// with at least one fault.
///
/// # Panics
/// When that does not hold.
pub fn decode(schema: &Schema, data: &[u8]) {
    let ([low, high, flags, _], text) = parts(data);
    let Ok(text) = core::str::from_utf8(text) else { return };
    let at = usize::from(u16::from_le_bytes([low, high])) % schema.types.len();
    let Some((name, ty)) = schema.types.get(at) else { return };
    let options = Options { lax: flags & 1 != 0, keep_unknown: flags & 2 != 0 };
    let value = match value::decode(ty, text, options) {
        Ok(value) => value,
        Err(faults) => {
            assert!(!faults.is_empty(), "{name} was refused without a fault");
            return;
        }
    };
    for keep_defaults in [true, false] {
        let Ok(written) = value::encode(ty, &value, keep_defaults) else {
            unreachable!("{name} was read and cannot be written");
        };
        let Ok(written_text) = core::str::from_utf8(&written) else {
            unreachable!("{name} was written as bytes that are no text");
        };
        let Ok(again) = value::decode(ty, written_text, options) else {
            unreachable!("{name} was written as text that cannot be read");
        };
        if keep_defaults {
            assert_eq!(again, value, "{name} reads otherwise after it was written");
        }
        let rewritten = value::encode(ty, &again, keep_defaults).unwrap_or_default();
        assert_eq!(rewritten, written, "{name} is written otherwise the second time");
    }
}
