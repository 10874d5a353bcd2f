//! libFuzzer on certificates: see `checks::certificate`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::certificate::check(data));
