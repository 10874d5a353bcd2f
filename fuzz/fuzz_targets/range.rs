//! libFuzzer on `Range` fields: see `checks::range`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::range::check(data));
