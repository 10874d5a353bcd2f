//! libFuzzer on request heads: see `checks::request_head`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::request_head::check(data));
