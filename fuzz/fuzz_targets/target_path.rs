//! libFuzzer on request targets: see `checks::target_path`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::target_path::check(data));
