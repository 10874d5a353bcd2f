//! libFuzzer on the server's side of TLS: see `checks::tls_session`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::tls_session::check(data));
