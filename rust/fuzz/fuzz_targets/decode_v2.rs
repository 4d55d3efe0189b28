//! Feeds the fuzzer's inputs to [`acp_fuzz::decode`] with the types of version 2.
#![no_main]

use acp_core::schema::generated::V2;

libfuzzer_sys::fuzz_target!(|data: &[u8]| acp_fuzz::decode(&V2, data));
