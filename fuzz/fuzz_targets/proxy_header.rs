//! libFuzzer on PROXY protocol headers: see `checks::proxy_header`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::proxy_header::check(data));
