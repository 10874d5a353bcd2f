//! libFuzzer on the files of a cache: see `checks::stored_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::stored_file::check(data));
