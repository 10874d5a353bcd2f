//! libFuzzer on streams of HTTP: see `checks::streams`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::streams::check(data));
