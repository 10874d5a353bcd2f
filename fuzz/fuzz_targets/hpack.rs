//! libFuzzer on HPACK: see `checks::hpack`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::hpack::check(data));
