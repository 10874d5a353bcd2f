//! libFuzzer on orders and results of stores: see `checks::store_orders`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::store_orders::check(data));
