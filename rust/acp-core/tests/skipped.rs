//! What is left out of a value that is read all the same, and values that this release does not know.

use acp_core::schema::decode::{Decoder, Options};
use acp_core::schema::generated::{V1, V2};
use acp_core::schema::table::{Schema, Type};
use acp_core::schema::value::{Tree, Value, decode, encode};
use acp_core::schema::{Fault, Json, Skipped};

fn path(fault: &Fault) -> String {
    let mut steps: Vec<_> = fault.path.iter().rev().map(ToString::to_string).collect();
    steps.push(fault.kind.code().to_owned());
    steps.join(".")
}

/// A type of the schema. None of that name fails every test: no value here is null.
fn ty(schema: &Schema, name: &str) -> Type {
    schema.find(name).unwrap_or(Type::Null)
}

/// What is left out of a value; None when it does not fit.
fn skipped(schema: &Schema, name: &str, text: &str) -> Option<Skipped> {
    let input = Json::new(text);
    let root = input.root();
    let mut decoder = Decoder::new(input, Tree, Options::default());
    let fits = decoder.decode(&ty(schema, name), root).is_ok();
    fits.then(|| decoder.skipped())
}

/// How much is left out of a value that fits, and the places and rules of what is told of that.
fn told(schema: &Schema, name: &str, text: &str) -> (usize, Vec<String>) {
    let found = skipped(schema, name, text);
    assert!(found.is_some(), "{text}");
    let found = found.unwrap_or_default();
    (found.count, found.faults.iter().map(path).collect())
}

/// C36
#[test]
fn an_item_that_is_left_out_is_told_with_its_place_and_rule() {
    let text =
        r#"{"protocolVersion":1,"authMethods":[{"foo":1},{"id":"a","name":"A"},5,{"id":"b"}]}"#;
    let (count, places) = told(&V1, "InitializeResponse", text);
    assert_eq!(count, 3);
    assert_eq!(
        places,
        ["authMethods.0.id.missing", "authMethods.2.object_type", "authMethods.3.name.missing"]
    );
}

/// C36
#[test]
fn a_place_goes_through_unions_lists_and_records_whatever_the_order_of_members() {
    let text = r#"{"sessionId":"s","update":{"content":[{"type":"future"},
        {"type":"content","content":{"type":"text","text":"x","annotations":{"priority":"high"}}}],
        "status":"paused","toolCallId":"t","sessionUpdate":"tool_call_update"}}"#;
    let (count, places) = told(&V1, "SessionNotification", text);
    assert_eq!(count, 3);
    assert_eq!(
        places,
        [
            "update.content.0.unknown_variant",
            "update.content.1.content.annotations.priority.float_type",
            "update.status.unknown_value",
        ]
    );
}

/// C36
#[test]
fn nothing_is_told_of_what_fits_or_is_null() {
    for text in [
        r#"{"protocolVersion":1,"authMethods":[{"id":"a","name":"A"}]}"#,
        r#"{"protocolVersion":1,"authMethods":null,"agentInfo":null,"_meta":null}"#,
        r#"{"protocolVersion":1,"unknown":[5]}"#,
    ] {
        assert_eq!(told(&V1, "InitializeResponse", text), (0, Vec::new()), "{text}");
    }
    let text = r#"{"toolCallId":"t","title":"x","kind":null,"status":null,"content":[]}"#;
    assert_eq!(told(&V1, "ToolCall", text), (0, Vec::new()));
}

#[test]
fn a_way_of_reading_that_is_given_up_leaves_nothing_to_tell() {
    // Read as a terminal first, which the later discriminator takes back.
    let text = r#"{"type":"terminal","id":"a","name":"A","_meta":5,"type":"other"}"#;
    assert_eq!(told(&V1, "AuthMethod", text), (1, vec!["_meta.object_type".to_owned()]));
    // The whole item is left out, so that nothing of it is.
    let text = r#"{"protocolVersion":1,"authMethods":[{"id":"a","_meta":5}]}"#;
    let place = vec!["authMethods.0.name.missing".to_owned()];
    assert_eq!(told(&V1, "InitializeResponse", text), (1, place));
}

#[test]
fn a_list_of_bad_items_is_told_up_to_a_bound_and_counted() {
    let text = format!(r#"{{"protocolVersion":1,"authMethods":[{}5]}}"#, "5,".repeat(9_999));
    let (count, places) = told(&V1, "InitializeResponse", &text);
    assert_eq!((count, places.len()), (10_000, 64));
    assert_eq!(places[63], "authMethods.63.object_type");
}

#[test]
fn what_does_not_fit_as_a_whole_leaves_nothing_out() {
    assert!(skipped(&V1, "InitializeResponse", r#"{"authMethods":[{"foo":1}]}"#).is_none());
}

// Values that this release does not know.

const KEEP: Options = Options { lax: false, keep_unknown: true };

/// What a value is written as after it was read with `keep_unknown`; its faults when it does not fit.
fn kept(schema: &Schema, name: &str, text: &str) -> Result<String, Vec<String>> {
    let ty = ty(schema, name);
    let read = decode(&ty, text, KEEP);
    let value = read.map_err(|faults| faults.iter().map(path).collect::<Vec<_>>())?;
    let written = encode(&ty, &value, true).map_err(|fault| vec![path(&fault)])?;
    Ok(String::from_utf8_lossy(&written).into_owned())
}

/// C10
#[test]
fn a_string_that_no_enum_knows_is_kept() {
    for (name, text) in [
        ("PermissionOption", r#"{"optionId":"d","name":"D","kind":"deny"}"#),
        ("PromptResponse", r#"{"stopReason":"budget_exceeded"}"#),
        ("PromptResponse", r#"{"stopReason":""}"#),
        ("ToolCall", r#"{"toolCallId":"t","title":"x","kind":"dream"}"#),
        ("PlanEntry", r#"{"content":"c","priority":"urgent","status":"stalled"}"#),
    ] {
        assert_eq!(kept(&V1, name, text), Ok(text.to_owned()));
    }
}

/// C10
#[test]
fn an_object_of_a_variant_that_no_union_knows_is_kept_as_it_is() {
    for (name, text) in [
        ("SessionUpdate", r#"{"sessionUpdate":"_acme_widget","x":1}"#),
        ("SessionUpdate", r#"{"x":[1,{"y":null}],"sessionUpdate":"future_thing","_meta":7}"#),
        ("ContentBlock", r#"{"type":"video","uri":"u"}"#),
        ("ToolCallContent", r#"{"type":"hologram"}"#),
        ("RequestPermissionOutcome", r#"{"outcome":"deferred"}"#),
        ("CursorAnchor", r#"{"type":"galaxy","x":1}"#),
    ] {
        let value = decode(&ty(&V1, name), text, KEEP);
        // Where there is a class for unknown variants, it is that.
        let of_a_class = matches!(value, Ok(Value::Object(_)));
        assert_eq!(of_a_class, name == "CursorAnchor", "{name}");
        assert_eq!(kept(&V1, name, text), Ok(text.to_owned()));
    }
}

/// C10
#[test]
fn a_known_variant_that_is_malformed_does_not_fit_all_the_same() {
    for (name, text, place) in [
        ("ContentBlock", r#"{"type":"text"}"#, "text.missing"),
        ("ContentBlock", r#"{"type":"text","text":5}"#, "text.string_type"),
        ("ContentBlock", r#"{"text":"x"}"#, "tag_missing"),
        ("ContentBlock", r#"{"type":5,"text":"x"}"#, "tag_missing"),
        ("SessionUpdate", r#"{"sessionUpdate":"agent_message_chunk"}"#, "content.missing"),
        ("RequestPermissionOutcome", r#"{"outcome":"selected"}"#, "optionId.missing"),
        ("PromptResponse", r#"{"stopReason":5}"#, "stopReason.string_type"),
        ("McpServer", r#"{"type":"pigeon","name":"n"}"#, "command.missing"),
    ] {
        let faults = kept(&V1, name, text).err().unwrap_or_default();
        assert!(faults.iter().any(|fault| fault == place), "{name}: {faults:?}");
    }
}

#[test]
fn without_being_asked_for_nothing_unknown_is_kept_in_version_1_and_all_in_version_2() {
    for (name, text) in [
        ("PermissionOption", r#"{"optionId":"d","name":"D","kind":"deny"}"#),
        ("ContentBlock", r#"{"type":"video","uri":"u"}"#),
    ] {
        for (schema, fits) in [(&V1, false), (&V2, true)] {
            let ty = ty(schema, name);
            assert_eq!(decode(&ty, text, Options::default()).is_ok(), fits, "{name}");
        }
    }
}
