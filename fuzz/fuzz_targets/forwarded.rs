//! libFuzzer on the fields of proxies: see `checks::forwarded`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::forwarded::check(data));
