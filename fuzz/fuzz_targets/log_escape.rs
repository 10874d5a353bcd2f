//! libFuzzer on text for logs, JSON and HTML: see `checks::log_escape`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::log_escape::check(data));
