//! libFuzzer on frames and heads of HTTP/2: see `checks::h2_frames`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::h2_frames::check(data));
