//! libFuzzer on WebSocket handshakes: see `checks::handshake`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::handshake::check(data));
