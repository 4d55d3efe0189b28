//! Time from bytes to events, and from answers to bytes. `cargo bench -p acp-core --bench connection`, with
//! `-- updates` and the like for one part.
//!
//! Each figure is the fastest of several rounds: what the machine does besides can only make a round slower.
#![expect(clippy::print_stdout, reason = "printing is all that this program does")]

use std::convert::Infallible;
use std::hint::black_box;
use std::time::{Duration, Instant};

use acp_core::connection::Connection;
use acp_core::event::Event;
use acp_core::frame::{Frame, Splitter};
use acp_core::options::{Options, Role};

const ROUNDS: usize = 25;

fn update(text: &str) -> String {
    format!(
        concat!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"sess_0123456789abcdef","#,
            r#""update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{}"}}}}}}}}"#
        ),
        text
    )
}

fn fastest(mut round: impl FnMut() -> Duration) -> Duration {
    (0..ROUNDS).map(|_| round()).min().unwrap_or_default()
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn each(name: &str, count: u32, total: Duration) {
    println!("{name:<58}{:>10.1} ns", total.as_secs_f64() * 1e9 / f64::from(count));
}

fn updates() {
    let frame = update("text that an agent streams to a UI.");
    let count = 20_000;
    let stream = format!("{frame}\n").repeat(count as usize);
    for chunk in [65_536, 4096] {
        let total = fastest(|| {
            let mut connection = Connection::new(Options::new(Role::Client));
            let mut seen = 0;
            let total = timed(|| {
                for part in stream.as_bytes().chunks(chunk) {
                    connection.receive(part, &mut |event| {
                        black_box(&event);
                        seen += 1;
                    });
                }
            });
            assert_eq!(seen, count);
            total
        });
        each(&format!("session/update of {} bytes, chunks of {chunk}", frame.len()), count, total);
    }
    let total = fastest(|| {
        let mut splitter = Splitter::new(64 << 20);
        let mut seen = 0;
        let total = timed(|| {
            for part in stream.as_bytes().chunks(65_536) {
                splitter.push(part, &mut |frame| {
                    if let Frame::Whole(frame) = frame {
                        black_box(frame);
                        seen += 1;
                    }
                });
            }
        });
        assert_eq!(seen, count);
        total
    });
    each("  splitting alone", count, total);
    let total = fastest(|| {
        timed(|| {
            for line in stream.as_bytes().split(|byte| *byte == b'\n') {
                assert!(black_box(std::str::from_utf8(black_box(line))).is_ok());
            }
        })
    });
    each("  splitting by byte and the check of UTF-8", count, total);
}

fn round_trips() {
    let count = 20_000;
    let mut out = Vec::new();
    let total = fastest(|| {
        let mut client = Connection::new(Options::new(Role::Client));
        let mut agent = Connection::new(Options::new(Role::Agent));
        timed(|| {
            for _ in 0..count {
                let asked = client.request("session/set_mode", |out| {
                    out.extend_from_slice(br#"{"sessionId":"s1","modeId":"ask"}"#);
                    Ok::<_, Infallible>(true)
                });
                assert!(asked.is_ok());
                let mut token = None;
                agent.receive(client.output(), &mut |event| {
                    if let Event::Request { token: of, .. } = event {
                        token = Some(of);
                    }
                });
                client.clear_output();
                if let Some(token) = token {
                    let Ok(_) = agent.respond(token, |out| {
                        out.extend_from_slice(b"{}");
                        Ok::<_, Infallible>(())
                    });
                }
                out.clear();
                out.extend_from_slice(agent.output());
                agent.clear_output();
                client.receive(&out, &mut |event| {
                    black_box(&event);
                });
            }
        })
    });
    each("request and answer, both sides", count, total);
}

fn relay() {
    let frame = update("text that an agent streams to a UI.") + "\n";
    let count = 20_000;
    let stream = frame.repeat(count as usize);
    let total = fastest(|| {
        let mut from = Connection::new(Options::new(Role::Client));
        let mut to = Connection::new(Options::new(Role::Agent));
        timed(|| {
            for part in stream.as_bytes().chunks(65_536) {
                from.receive(part, &mut |event| {
                    if let Event::Notification { method, params, .. } = event {
                        let told = to.notify(method.raw, |out| {
                            out.extend_from_slice(params.unwrap_or_default().as_bytes());
                            Ok::<_, Infallible>(params.is_some())
                        });
                        assert!(told.is_ok());
                    }
                });
                black_box(to.output());
                to.clear_output();
            }
        })
    });
    each("relay of a frame nobody reads", count, total);
}

fn long_frames() {
    println!("one frame in chunks of 4096 bytes, time per byte has to stay the same");
    for megabytes in [1_u32, 2, 4, 8, 16, 32, 60] {
        let frame = update(&"x".repeat((megabytes << 20) as usize)) + "\n";
        for (limit, name) in [(64 << 20, "read"), (1 << 16, "skipped")] {
            let total = (0..3)
                .map(|_| {
                    let options =
                        Options { max_message_bytes: limit, ..Options::new(Role::Client) };
                    let mut connection = Connection::new(options);
                    timed(|| {
                        for part in frame.as_bytes().chunks(4096) {
                            connection.receive(part, &mut |event| {
                                black_box(&event);
                            });
                        }
                    })
                })
                .min()
                .unwrap_or_default();
            let per_byte = total.as_secs_f64() * 1e9 / f64::from(megabytes << 20);
            println!(
                "  {megabytes:>3} MiB {name:<8}{:>8.1} ms{per_byte:>8.3} ns/byte",
                total.as_secs_f64() * 1e3
            );
        }
    }
}

fn main() {
    let wanted: Vec<_> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let all: [(&str, fn()); 4] = [
        ("updates", updates),
        ("round_trips", round_trips),
        ("relay", relay),
        ("long_frames", long_frames),
    ];
    for (name, run) in all {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            run();
        }
    }
}
