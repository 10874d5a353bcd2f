//! libFuzzer on forms with files: see `checks::multipart`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::multipart::check(data));
