//! libFuzzer on request bodies: see `checks::chunked_body`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::chunked_body::check(data));
