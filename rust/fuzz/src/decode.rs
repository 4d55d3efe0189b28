//! The decoder and the encoder.

use acp_core::schema::decode::Options;
use acp_core::schema::table::{Default, Field, Flags, Schema};
use acp_core::schema::value::{self, Object, Value};

use crate::{Header, parts, timed};

/// The header that chooses a type of the schema by name.
#[must_use]
pub fn type_index(schema: &Schema, name: &str) -> Option<Header> {
    let at = schema.types.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
    let [low, high] = u16::try_from(at).ok()?.to_le_bytes();
    Some([low, high, 0, 0])
}

/// Whether a value holds an object without a member that is tolerated on reading and refused on writing.
fn is_read_only(value: &Value) -> bool {
    match value {
        Value::List(items) => items.iter().any(is_read_only),
        Value::Map(members) => members.iter().any(|(_, value)| is_read_only(value)),
        Value::Object(object) => fields(object).any(|(field, value)| match value {
            None => field.flags.has(Flags::TOLERATED),
            Some(value) => is_read_only(value),
        }),
        _ => false,
    }
}

fn fields(object: &Object) -> impl Iterator<Item = (&'static Field, &Option<Value>)> {
    object.record.fields.iter().zip(&object.fields)
}

/// Whether a value is what an absent member means.
fn is_default(default: Default, value: &Value) -> bool {
    match (default, value) {
        (Default::Bool(default), Value::Bool(value)) => default == *value,
        (Default::EmptyList | Default::ImpliedList, Value::List(items)) => items.is_empty(),
        (Default::EmptyMap | Default::ImpliedMap, Value::Map(members)) => members.is_empty(),
        (Default::Text(text) | Default::Implied(text), Value::Str(value)) => {
            value.as_str() == Some(text)
        }
        (Default::EmptyRecord, Value::Object(object)) => fields(object).all(|(field, value)| {
            value.as_ref().is_none_or(|value| is_default(field.default, value))
        }),
        _ => false,
    }
}

/// Whether two values mean the same: equal, save for members that were absent and are written with their defaults.
fn mean_the_same(value: &Value, again: &Value) -> bool {
    match (value, again) {
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| mean_the_same(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            let same = |(a, b): (&(_, Value), &(_, Value))| a.0 == b.0 && mean_the_same(&a.1, &b.1);
            a.len() == b.len() && a.iter().zip(b).all(same)
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |((field, a), (_, b)): ((&Field, &Option<Value>), (_, &Option<Value>))| {
                match (a, b) {
                    (Some(a), Some(b)) => mean_the_same(a, b),
                    (None, Some(b)) => is_default(field.default, b),
                    (Some(_), None) => false,
                    (None, None) => true,
                }
            };
            core::ptr::eq(a.record, b.record) && fields(a).zip(fields(b)).all(same)
        }
        _ => value == again,
    }
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
    timed(|| {
        if let Ok(value) = value::decode(ty, text, options) {
            drop(value::encode(ty, &value, true));
        }
    });
    let value = match value::decode(ty, text, options) {
        Ok(value) => value,
        Err(faults) => return assert!(!faults.is_empty(), "{name} is refused without a fault"),
    };
    for keep_defaults in [true, false] {
        let written = match value::encode(ty, &value, keep_defaults) {
            Ok(written) => written,
            Err(fault) => {
                return assert!(is_read_only(&value), "{name} is read and not written: {fault:?}");
            }
        };
        let again = core::str::from_utf8(&written)
            .ok()
            .and_then(|text| value::decode(ty, text, options).ok());
        let Some(again) = again else { unreachable!("{name} is written as what cannot be read") };
        if keep_defaults {
            assert!(mean_the_same(&value, &again), "{name} reads otherwise after it was written");
        }
        let rewritten = value::encode(ty, &again, keep_defaults);
        assert_eq!(rewritten.as_ref(), Ok(&written), "{name} is written otherwise the second time");
    }
}
