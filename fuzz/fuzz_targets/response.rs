//! libFuzzer on responses as a client reads them: see `checks::response`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::response::check(data));
