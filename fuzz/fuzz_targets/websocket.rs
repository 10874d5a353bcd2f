//! libFuzzer on WebSocket frames: see `checks::websocket`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::websocket::check(data));
