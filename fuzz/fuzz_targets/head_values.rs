//! libFuzzer on heads as values: see `checks::head_values`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::head_values::check(data));
