//! libFuzzer on configuration files: see `checks::config_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::config_file::check(data));
