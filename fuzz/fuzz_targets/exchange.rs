//! libFuzzer on whole exchanges of the client: see `checks::exchange`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::exchange::check(data));
