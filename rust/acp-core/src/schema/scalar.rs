//! Decoding of scalars.
//!
//! Owns ranges, closed and open sets of strings, and the looser forms of the compatibility profile.

use super::decode::{Decoded, Decoder};
use super::fault::FaultKind;
use super::input::{Build, Input, Integer, Kind};
use super::table::{Enum, Int, Unknown};

/// Told when a date stands where a protocol version has to be.
const DATED: &str = "protocolVersion is a date instead of an integer; it is read as 1";

impl<I: Input, B: Build<I>> Decoder<I, B> {
    pub(super) fn boolean(&mut self, value: I::Value) -> Decoded<I, B> {
        if self.input.kind(value) == Kind::Bool {
            let value = self.input.boolean(value);
            return Ok(self.build.boolean(value));
        }
        match self.options.lax.then(|| self.input.loose_boolean(value)).flatten() {
            Some(value) => Ok(self.build.boolean(value)),
            None => Err(self.fault(FaultKind::Bool)),
        }
    }

    pub(super) fn float(&mut self, value: I::Value) -> Decoded<I, B> {
        let number = match self.input.kind(value) {
            Kind::Number => self.input.float(value),
            _ if self.options.lax => self.input.loose_float(value),
            _ => None,
        };
        match number {
            Some(number) => Ok(self.build.float(number)?),
            None => Err(self.fault(FaultKind::Float)),
        }
    }

    pub(super) fn text(&mut self, min: usize, max: usize, value: I::Value) -> Decoded<I, B> {
        self.expect(value, Kind::Str, FaultKind::Str)?;
        let length = self.input.text(value).chars().count();
        if (min..=max).contains(&length) {
            Ok(self.build.string(&mut self.input, value)?)
        } else {
            Err(self.fault(FaultKind::TextLength))
        }
    }

    pub(super) fn enumeration(&mut self, known: &'static Enum, value: I::Value) -> Decoded<I, B> {
        self.expect(value, Kind::Str, FaultKind::Str)?;
        let text = self.input.text(value);
        if let Some(found) = known.values.iter().find(|known| **known == text) {
            return Ok(self.build.known(found)?);
        }
        match known.unknown {
            Unknown::Become(other) if !self.options.keep_unknown => Ok(self.build.known(other)?),
            Unknown::Reject if !self.options.keep_unknown => {
                Err(self.fault(FaultKind::UnknownValue))
            }
            _ => Ok(self.build.string(&mut self.input, value)?),
        }
    }

    pub(super) fn integer(&mut self, range: Int, value: I::Value) -> Decoded<I, B> {
        let (min, max): (i64, u64) = match range {
            Int::U16 => (0, u16::MAX.into()),
            Int::U32 => (0, u32::MAX.into()),
            Int::U64 => (0, u64::MAX),
            Int::I32 => (i32::MIN.into(), i32::MAX.unsigned_abs().into()),
            Int::I64 => (i64::MIN, i64::MAX.unsigned_abs()),
            Int::NonZeroU16 => (1, u16::MAX.into()),
            Int::NonZeroU32 => (1, u32::MAX.into()),
        };
        match self.input.integer(value, self.options.lax) {
            Integer::Signed(number)
                if number >= min && u64::try_from(number).is_ok_and(|number| number > max) =>
            {
                Err(self.fault(FaultKind::IntRange))
            }
            Integer::Signed(number) if number >= min => Ok(self.build.signed(number)?),
            Integer::Unsigned(number) if number <= max => Ok(self.build.unsigned(number)?),
            Integer::Not if range == Int::U16 && self.is_dated(value) => {
                self.build.warn(DATED)?;
                Ok(self.build.signed(1)?)
            }
            Integer::Not => Err(self.fault(FaultKind::Int)),
            _ => Err(self.fault(FaultKind::IntRange)),
        }
    }

    /// Protocol versions were dates once. They are the only integers of 16 bits that the profile has a looser form for.
    fn is_dated(&mut self, value: I::Value) -> bool {
        self.options.lax && self.input.kind(value) == Kind::Str && is_date(&self.input.text(value))
    }
}

/// Whether `text` looks like `2024-11-05`.
fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}
