//! libFuzzer on precondition fields: see `checks::precondition`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::precondition::check(data));
