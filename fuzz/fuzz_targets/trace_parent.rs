//! libFuzzer on `traceparent`: see `checks::trace_parent`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::trace_parent::check(data));
