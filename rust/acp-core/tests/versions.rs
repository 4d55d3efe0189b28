//! What is known about versions without a connection.

use acp_core::version::{Refusal, choose, initialize_params, requested};

#[test]
fn the_version_that_params_ask_for_is_an_integer_of_16_bits() {
    for (params, version) in [
        (r#"{"protocolVersion":2}"#, Some(2)),
        (r#"{"a":{"protocolVersion":7},"protocolVersion":0}"#, Some(0)),
        (r#"{"protocolVersion":1,"protocolVersion":65535}"#, Some(65535)),
        (r#"{"protocolVersi\u006fn":3}"#, Some(3)),
        (r#"{"protocolVersion":65536}"#, None),
        (r#"{"protocolVersion":-1}"#, None),
        (r#"{"protocolVersion":1.0}"#, None),
        (r#"{"protocolVersion":"1"}"#, None),
        (r#"{"protocolVersion":2,"protocolVersion":null}"#, None),
        ("{}", None),
        ("[2]", None),
        ("null", None),
    ] {
        assert_eq!(requested(params), version, "{params}");
    }
}

#[test]
fn the_highest_version_that_is_not_above_the_requested_one_is_chosen() {
    for (requested, configured, chosen) in [
        (1, &[1, 2][..], Some(1)),
        (2, &[2, 1], Some(2)),
        (9, &[1, 2], Some(2)),
        (0, &[1, 2], Some(1)),
        (0, &[1], Some(1)),
        (9, &[1], Some(1)),
        (2, &[2], Some(2)),
        (1, &[2], None),
        (0, &[2], None),
        (1, &[], None),
    ] {
        assert_eq!(choose(requested, configured), chosen, "{requested} of {configured:?}");
    }
}

/// C-175
#[test]
fn the_error_for_a_version_that_is_not_served_lists_those_that_are() {
    for (supported, data) in [
        (vec![2], r#"{"requested":1,"supported":[2]}"#),
        (vec![2, 3], r#"{"requested":1,"supported":[2,3]}"#),
        (vec![], r#"{"requested":1,"supported":[]}"#),
    ] {
        let refusal = Refusal::Unsupported { requested: 1, supported };
        assert_eq!((refusal.code(), &*refusal.message()), (-32022, "Unsupported protocol version"));
        assert_eq!(refusal.data().as_deref(), Some(data));
        assert_eq!(refusal.sentence(), None);
    }
}

/// C-153, C-159
#[test]
fn params_of_one_version_are_put_in_the_form_of_another() {
    let info = r#""info":{"name":"ed","version":"3"}"#;
    let params = format!(r#"{{"protocolVersion":2,{info},"x":1}}"#);
    assert_eq!(
        initialize_params(1, &params).unwrap(),
        concat!(
            r#"{"protocolVersion":1,"clientCapabilities":{"session":{"configOptions":{"boolean":{}}}},"#,
            r#""clientInfo":{"name":"ed","version":"3"}}"#
        )
    );
    assert_eq!(initialize_params(2, &params).unwrap(), params);
    let later = params.replace(":2,", ":3,");
    let canonical = format!(r#"{{"protocolVersion":2,{info},"capabilities":{{}}}}"#);
    assert_eq!(initialize_params(2, &later).unwrap(), canonical);
    assert_eq!(
        initialize_params(2, r#"{"protocolVersion":1}"#),
        Err(Refusal::Unsupported { requested: 1, supported: vec![2] })
    );
    assert!(matches!(initialize_params(2, r#"{"protocolVersion":2}"#), Err(Refusal::Unfit(_))));
    for version in [1, 2] {
        assert_eq!(initialize_params(version, "[]"), Err(Refusal::BadVersion));
    }
}
