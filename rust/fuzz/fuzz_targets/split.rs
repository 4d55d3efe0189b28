//! Feeds the fuzzer's inputs to [`acp_fuzz::split`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| acp_fuzz::split(data));
