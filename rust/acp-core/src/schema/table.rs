//! The form of the generated tables.
//!
//! Owns the types that describe wire shapes. Every value of them is generated from `schema/` into
//! `schema::generated`; nothing here knows JSON, Python or a method name.

use core::fmt;

/// What a value on the wire has to be.
#[derive(Clone, Copy)]
pub enum Type {
    /// Any JSON value, kept as it is.
    Any,
    /// `null` only; occurs as a member of a [`Shape`].
    Null,
    /// An object whose members are kept as they are.
    Object,
    /// `true` or `false`.
    Bool,
    /// A string.
    Str,
    /// A string with between `min` and `max` characters.
    Text {
        /// Least number of characters.
        min: usize,
        /// Greatest number of characters.
        max: usize,
    },
    /// An integer within a range.
    Int(Int),
    /// A number, read as a double.
    Float,
    /// An array of one type.
    List(&'static Type),
    /// An object whose values are of one type.
    Map(&'static Type),
    /// One of a set of strings.
    Enum(&'static Enum),
    /// An object with known members.
    Record(&'static Record),
    /// An object told apart by a discriminator.
    Union(&'static Union),
    /// The first of several types that fits.
    Shape(&'static Shape),
}

/// The ranges of integers that occur.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Int {
    /// 0 to 65,535.
    U16,
    /// 0 to 2³² − 1.
    U32,
    /// 0 to 2⁶⁴ − 1.
    U64,
    /// −2³¹ to 2³¹ − 1.
    I32,
    /// −2⁶³ to 2⁶³ − 1.
    I64,
    /// 1 to 65,535.
    NonZeroU16,
    /// 1 to 2³² − 1.
    NonZeroU32,
}

/// A set of strings.
pub struct Enum {
    /// Name in the schema.
    pub name: &'static str,
    /// The known values.
    pub values: &'static [&'static str],
    /// What becomes of any other string.
    pub unknown: Unknown,
}

/// What becomes of a string that is no known value of an [`Enum`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unknown {
    /// It is an error.
    Reject,
    /// It is kept.
    Keep,
    /// It is read as another value.
    Become(&'static str),
}

/// An object with known members: one class.
pub struct Record {
    /// Name of the class.
    pub name: &'static str,
    /// Place in the version's list of records.
    pub index: usize,
    /// Members in order, those of the parent first. A catch-all's discriminator is a field of its own.
    pub fields: &'static [Field],
    /// The discriminator that a union writes before the members.
    pub tag: Option<&'static Tag>,
    /// What becomes of members that are no field.
    pub extra: Extra,
    /// A `null` in place of the object reads as `{}`.
    pub null_is_empty: bool,
    /// Groups of fields of which one is present.
    pub scope: Option<&'static Scope>,
    /// Fields that are read only when another field has one value.
    pub only: &'static [Only],
}

/// The constant discriminator of a union's variant.
pub struct Tag {
    /// The union that it selects in.
    pub union: &'static str,
    /// Member name on the wire.
    pub wire: &'static str,
    /// Attribute name.
    pub name: &'static str,
    /// The value.
    pub value: &'static str,
}

/// What becomes of the members of an object that are no field of its record.
#[derive(Clone, Copy)]
pub enum Extra {
    /// Dropped when a value is read for its meaning, kept by relays.
    Drop,
    /// Part of the value.
    Keep,
    /// Part of the value when the field at `field` holds a string other than `known`.
    KeepUnless {
        /// Index of the deciding field.
        field: usize,
        /// Values for which the members are dropped.
        known: &'static [&'static str],
    },
}

/// Groups of fields, one of which is present; the first field of a group is its key.
pub struct Scope {
    /// Field indices.
    pub groups: &'static [&'static [usize]],
    /// How the group is chosen.
    pub rule: ScopeRule,
}

/// How one of several scopes is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScopeRule {
    /// The first that fits (version 1); members of the others are dropped.
    First,
    /// Exactly one key may be present (version 2).
    ExactlyOne,
    /// The first whose key is present; the first of all when none is.
    FirstPresent,
}

/// A field that is read for one value of another field only.
pub struct Only {
    /// Index of the field.
    pub field: usize,
    /// Index of the deciding field.
    pub decider: usize,
    /// The value that it must have.
    pub value: &'static str,
}

/// One member of a record.
pub struct Field {
    /// Member name on the wire.
    pub wire: &'static str,
    /// A second wire name that is read, never written.
    pub alias: Option<&'static str>,
    /// Attribute name.
    pub name: &'static str,
    /// What the value has to be.
    pub ty: Type,
    /// How absence, null and faults are read, and when the member is written.
    pub flags: Flags,
    /// The value of the attribute when the member is absent.
    pub default: Default,
}

/// The value of an attribute whose member is absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Default {
    /// None, or UNSET for a three-state field of version 2.
    Absent,
    /// `true` or `false`.
    Bool(bool),
    /// What an empty object decodes to.
    EmptyRecord,
    /// `[]`.
    EmptyList,
    /// `{}`.
    EmptyMap,
    /// A string.
    Text(&'static str),
    /// None as an attribute; the peer reads an absent member as this string.
    Implied(&'static str),
    /// None as an attribute; the peer reads an absent member as `[]`.
    ImpliedList,
    /// None as an attribute; the peer reads an absent member as `{}`.
    ImpliedMap,
}

/// Facts about a field, one bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    /// The member has to be present.
    pub const REQUIRED: Self = Self(1);
    /// `null` reads as absent.
    pub const NULLABLE: Self = Self(1 << 1);
    /// Absent, `null` and a value are three things.
    pub const THREE_STATE: Self = Self(1 << 2);
    /// A value that does not fit reads as absent.
    pub const LENIENT: Self = Self(1 << 3);
    /// Items that do not fit are dropped.
    pub const SKIP_ITEMS: Self = Self(1 << 4);
    /// `null` reads as the empty list or map.
    pub const NULL_IS_EMPTY: Self = Self(1 << 5);
    /// Written also when it was not set.
    pub const ALWAYS: Self = Self(1 << 6);
    /// Key of one of several scopes.
    pub const SCOPE_KEY: Self = Self(1 << 7);
    /// At least one item.
    pub const NON_EMPTY: Self = Self(1 << 8);
    /// Part of the unstable schema.
    pub const UNSTABLE: Self = Self(1 << 9);
    /// Read as UNSET when a required member is absent, and refused by the encoder in that state.
    pub const TOLERATED: Self = Self(1 << 10);
    /// A value that does not fit reads as absent where reading is lax.
    pub const LENIENT_WHEN_LAX: Self = Self(1 << 11);

    /// Whether any bit of `other` is set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets of bits.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// An object told apart by the string under one key.
pub struct Union {
    /// Name in the schema.
    pub name: &'static str,
    /// The discriminator's member name.
    pub tag: &'static str,
    /// Known discriminators.
    pub variants: &'static [Variant],
    /// The catch-all for unknown discriminators.
    pub other: Option<&'static Record>,
    /// The variant without a discriminator.
    pub untagged: Option<&'static Record>,
    /// Discriminators that never reach the untagged variant.
    pub guard: &'static [&'static str],
    /// The untagged variant is for a missing discriminator only.
    pub untagged_when_absent: bool,
    /// How a variant with several scopes is chosen.
    pub scope: ScopeRule,
}

/// One known discriminator of a union.
pub struct Variant {
    /// The discriminator.
    pub value: &'static str,
    /// What it selects.
    pub target: Target,
}

/// What a discriminator selects.
#[derive(Clone, Copy)]
pub enum Target {
    /// A record.
    Record(&'static Record),
    /// Another union over the same object.
    Union(&'static Union),
    /// One of several records, by the key that is present.
    Scoped(&'static [(&'static str, &'static Record)]),
}

/// Types of which the first that fits is taken.
pub struct Shape {
    /// Name in the schema.
    pub name: &'static str,
    /// The types in order.
    pub members: &'static [Type],
}

/// Who handles a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The agent.
    Agent,
    /// The client.
    Client,
    /// A proxy.
    Proxy,
    /// Every endpoint.
    Protocol,
}

/// One method of the protocol.
pub struct Method {
    /// Who handles it.
    pub side: Side,
    /// A request, else a notification.
    pub request: bool,
    /// Name on the wire.
    pub name: &'static str,
    /// What `params` has to be.
    pub params: Type,
    /// What `result` has to be; `Any` for a notification.
    pub result: Type,
    /// Part of the stable schema.
    pub stable: bool,
}

/// Everything one protocol version knows.
pub struct Schema {
    /// Protocol version.
    pub version: u16,
    /// Records, each at its own index.
    pub records: &'static [&'static Record],
    /// Index of the first record that only former releases have; no method has any of these.
    pub former: usize,
    /// Types by schema name, sorted.
    pub types: &'static [(&'static str, Type)],
    /// Methods.
    pub methods: &'static [Method],
}

impl Schema {
    /// The type of a schema name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Type> {
        self.types.binary_search_by(|(known, _)| (*known).cmp(name)).ok().map(|at| self.types[at].1)
    }

    /// The method of a name, as `side` handles it.
    #[must_use]
    pub fn method(&self, side: Side, request: bool, name: &str) -> Option<&'static Method> {
        self.methods.iter().find(|m| m.name == name && m.request == request && m.side == side)
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
