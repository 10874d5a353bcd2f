//! libFuzzer on whole HTTP/1.1 connections: see `checks::connection`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::connection::check(data));
