//! libFuzzer on the protocol of NATS: see `checks::nats`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::nats::check(data));
