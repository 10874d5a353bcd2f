//! libFuzzer on tokens of channels: see `checks::token`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::token::check(data));
