//! However a stream is cut, the same comes out.

mod support;

use acp_core::connection::Connection;
use acp_core::event::Event;
use acp_core::frame::{Frame, Splitter};
use acp_core::options::{Options, Role};
use proptest::prelude::*;
use proptest::test_runner::Config;
use support::describe;

const LIMIT: usize = 160;

/// Events with their sizes, and the bytes to send, of a connection that was fed these chunks.
fn run<'a>(role: Role, chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, Vec<u8>) {
    let options = Options { kept_bytes: 20, max_depth: 8, ..Options::new(role) };
    let mut connection = Connection::new(Options { max_message_bytes: LIMIT, ..options });
    for method in ["a", "b", "c"] {
        let asked = connection.request(method, |_| Ok::<_, std::convert::Infallible>(false));
        assert!(asked.is_ok());
    }
    let mut events = Vec::new();
    let mut sink = |event: Event<'_>| {
        let (Event::Request { size, .. }
        | Event::Notification { size, .. }
        | Event::Response { size, .. }
        | Event::Rejected { size, .. }) = event
        else {
            return events.push(describe(&event));
        };
        let raw = if let Event::Rejected { raw, .. } = event { raw } else { b"" };
        events.push(format!("{} in {size} bytes {raw:?}", describe(&event)));
    };
    for chunk in chunks {
        connection.receive(chunk, &mut sink);
    }
    connection.end_of_input(&mut sink);
    (events, connection.take_output())
}

fn cuts(stream: &[u8], places: &[usize]) -> Vec<usize> {
    let mut cuts: Vec<_> = places.iter().map(|place| place % (stream.len() + 1)).collect();
    cuts.extend([0, stream.len()]);
    cuts.sort_unstable();
    cuts
}

fn frame() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        Just(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"sessionId":"s"}}"#),
        Just(
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"é\u00e9","x":[1]}}"#
        ),
        Just(r#"{"id":0,"result":{"sessionId":"s"}}"#),
        Just(r#"{"id":1,"error":{"code":1,"message":"m"}}"#),
        Just(r#"{"id":2,"result":NaN}"#),
        Just(r#"{"method":"$/cancel_request","params":{"requestId":1}}"#),
        Just(r#"[{"id":"x","method":"m"},7,{"method":"n"},{"id":0,"result":1}]"#),
        Just("[]"),
        Just("{oops"),
        Just("17"),
        Just("   "),
        Just(""),
        Just(r#"{"id":5,"method":"m","params":[[[[[[[[[[]]]]]]]]]]}"#),
    ];
    let long = (0..3 * LIMIT, 0..4_u8).prop_map(|(length, kind)| {
        let filler = "\\\"}{".repeat(length / 4) + &"é".repeat(length % 4);
        match kind {
            0 => format!(r#"{{"params":["{filler}"],"id":6,"method":"m"}}"#),
            1 => format!(r#"{{"result":"{filler}","id":1}}"#),
            2 => " ".repeat(length) + "\r",
            _ => format!(r#"{{"method":"{filler}"}}"#),
        }
    });
    prop_oneof![
        4 => text.prop_map(|text| text.as_bytes().to_vec()),
        2 => long.prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => Just(b"{\"id\":7,\"method\":\"\xff\"}".to_vec()),
    ]
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let ending = prop_oneof![3 => Just(&b"\n"[..]), 1 => Just(&b"\r\n"[..])];
    let lines = prop::collection::vec((frame(), ending), 0..12);
    (lines, any::<bool>()).prop_map(|(lines, ended)| {
        let mut stream: Vec<_> = lines
            .into_iter()
            .flat_map(|(frame, ending)| [frame, ending.to_vec()].concat())
            .collect();
        if !ended {
            stream.pop();
        }
        stream
    })
}

proptest! {
    #![proptest_config(Config { cases: 2000, failure_persistence: None, ..Config::default() })]

    /// C-001, C-002: whole, byte by byte, and cut at any places.
    #[test]
    fn any_cutting_of_a_stream_gives_the_same_events_and_replies(
        stream in stream(),
        places in prop::collection::vec(any::<usize>(), 0..10),
        client in any::<bool>(),
    ) {
        let role = if client { Role::Client } else { Role::Agent };
        let whole = run(role, [&*stream]);
        let cuts = cuts(&stream, &places);
        prop_assert_eq!(&run(role, cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]])), &whole);
        prop_assert_eq!(&run(role, stream.chunks(1)), &whole);
    }

    /// What the splitter hands on is what stands between the newlines.
    #[test]
    fn frames_are_what_stands_between_newlines(
        stream in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a'), Just(b' ')], 0..200),
        chunk in 1..20_usize,
        limit in 0..12_usize,
    ) {
        let mut splitter = Splitter::new(limit);
        let mut frames = Vec::new();
        let mut sink = |frame: Frame<'_>| match frame {
            Frame::Whole(bytes) => frames.push((bytes.len(), Some(bytes.to_vec()))),
            Frame::Oversize(salvaged) => frames.push((salvaged.size, None)),
        };
        for part in stream.chunks(chunk) {
            splitter.push(part, &mut sink);
            prop_assert!(splitter.held() <= limit + 1);
        }
        splitter.finish(&mut sink);
        let expected: Vec<_> = stream
            .split(|byte| *byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| line.contains(&b'a'))
            .map(|line| (line.len(), (line.len() <= limit).then(|| line.to_vec())))
            .collect();
        prop_assert_eq!(frames, expected);
    }
}

#[test]
fn every_single_cut_of_a_transcript_gives_the_same() {
    let stream = concat!(
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\r\n",
        "\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"é\"}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}\nnoise\n[1,{\"method\":\"n\"}]\n",
        "{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"m\"}"
    );
    let whole = run(Role::Agent, [stream.as_bytes()]);
    assert_eq!(whole.0.len(), 7);
    for at in 0..=stream.len() {
        let (head, tail) = stream.as_bytes().split_at(at);
        assert_eq!(run(Role::Agent, [head, tail]), whole, "cut at {at}");
    }
}

#[test]
fn a_long_frame_in_small_chunks_arrives_whole() {
    let text = "é".repeat(4 << 20);
    let frame = format!("{{\"method\":\"m\",\"params\":[\"{text}\"]}}\n");
    let mut connection = Connection::new(Options::new(Role::Client));
    let mut sizes = Vec::new();
    for part in frame.as_bytes().chunks(4096) {
        connection.receive(part, &mut |event| {
            if let Event::Notification { params, size, .. } = event {
                sizes.push((params.map(str::len), size));
            }
        });
    }
    assert_eq!(sizes, [(Some(text.len() + 4), frame.len() - 1)]);
    assert_eq!(connection.input_len(), 0);
}
