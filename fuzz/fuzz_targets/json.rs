//! libFuzzer on JSON: see `checks::json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::json::check(data));
