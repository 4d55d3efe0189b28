//! Faults: where a value does not fit its type, and which rule it breaks.
//!
//! Owns the closed list of rules with their names and sentences. A fault never holds the value, nor a name that the
//! peer chose: keys of maps show as `*`.

use core::fmt;

use crate::json::Writer;

/// One place at which a value does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The way to the place, innermost step first.
    pub path: Vec<Loc>,
    /// The broken rule.
    pub kind: FaultKind,
}

/// One step on the way to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loc {
    /// A member of a known object.
    Member(&'static str),
    /// An item of an array.
    Index(usize),
    /// A value of a map.
    Key,
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(name) => f.write_str(name),
            Self::Index(index) => index.fmt(f),
            Self::Key => f.write_str("*"),
        }
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident $code:literal $message:literal,)*) => {
        /// The rules that a value can break.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum FaultKind {
            $($(#[$doc])* $name,)*
        }

        impl FaultKind {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The rule's name, for programs.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// The rule in words.
            #[must_use]
            pub fn message(self) -> &'static str {
                match self { $(Self::$name => $message,)* }
            }
        }
    };
}

kinds! {
    /// A required member is absent.
    Missing "missing" "a required member is missing",
    /// Not a boolean.
    Bool "bool_type" "must be true or false",
    /// Not a string.
    Str "string_type" "must be a string",
    /// Not an integer.
    Int "int_type" "must be an integer",
    /// An integer out of range.
    IntRange "int_range" "is an integer out of range",
    /// Not a number.
    Float "float_type" "must be a number",
    /// Not an array.
    List "list_type" "must be an array",
    /// Not an object.
    Object "object_type" "must be an object",
    /// A string that is no value of a closed set.
    UnknownValue "unknown_value" "is not one of the known values",
    /// A discriminator that no variant has.
    UnknownVariant "unknown_variant" "has an unknown discriminator",
    /// A discriminator of a known variant in the catch-all.
    KnownVariant "known_variant" "has a discriminator that another type is for",
    /// A discriminator that is absent or no string.
    TagMissing "tag_missing" "must have a discriminator that is a string",
    /// A string that is too short or too long.
    TextLength "text_length" "is a string of a length that is not allowed",
    /// An empty list where one item is needed.
    TooFew "too_few_items" "must have at least one item",
    /// Not exactly one of several members that exclude each other.
    Scope "scope" "must have exactly one of the members that exclude each other",
    /// No member of a shape fits.
    NoFit "no_fit" "fits none of the allowed types",
    /// A value that JSON cannot express.
    Unwritable "unwritable" "cannot be written as JSON",
    /// Deeper than the limit on nesting.
    Depth "depth" "is nested too deeply",
    /// Text that is no JSON.
    Syntax "json_invalid" "is not valid JSON",
}

/// Faults as the data of an error: an array of objects with `loc`, `type` and `message`, outermost step first.
#[must_use]
pub fn as_json(faults: &[Fault]) -> String {
    let mut out = Vec::new();
    let mut separator = b'[';
    for fault in faults {
        out.push(separator);
        separator = b',';
        let mut writer = Writer::new(&mut out);
        writer.raw("{\"loc\":[");
        for (at, step) in fault.path.iter().rev().enumerate() {
            if at > 0 {
                writer.byte(b',');
            }
            match step {
                Loc::Member(name) => writer.string(name),
                Loc::Index(index) => writer.raw(&index.to_string()),
                Loc::Key => writer.string("*"),
            }
        }
        writer.raw("],\"type\":");
        writer.string(fault.kind.code());
        writer.raw(",\"message\":");
        writer.string(fault.kind.message());
        writer.byte(b'}');
    }
    if faults.is_empty() {
        out.push(separator);
    }
    out.push(b']');
    String::from_utf8(out).unwrap_or_default()
}
