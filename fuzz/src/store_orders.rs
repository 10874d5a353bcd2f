//! Orders, results and records that stores of several servers send each other: what is read is written as it was, and
//! nothing is allocated that is not there.

use store::{CommitRecord, decode_orders, decode_results, encode_orders, encode_results};

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/store/src/replication"];

/// An order that adds to a key, one with a condition, and results.
pub const SEEDS: &[&[u8]] = &[
    b"\x01\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\x000\x45\x01\0\0\0k\x07\0\0\0\0\0\0\0",
    b"\x01\0\0\0\x01\0\0\0\x05\0\0\0cards\x01\0\0\0k\x01\0\0\0\0\0\0\0\0\0\0\0",
    b"\x02\0\0\0\0\x02\0\0\0\x01\x03\x01\0\x09\0\0\0\0\0\0\0\0\x01\0\0\0v\x11",
];

/// Kinds, and lengths.
pub const WORDS: &[&[u8]] = &[
    b"\x01\0\0\x000",
    b"\x05\0\0\0cards",
    b"\0\0\0\0",
    b"\x01\0\0\0",
    b"\xff\xff\xff\xff",
    b"\x40",
    b"\x41",
    b"\x47",
    b"\x49",
    b"\x4a",
    b"\x07",
    b"\x0b",
    b"\x19",
];

/// Reads, writes and compares.
pub fn check(data: &[u8]) {
    let names = ["0", "cards"].map(str::to_owned);
    if let Ok(orders) = decode_orders(data, &names) {
        let written = encode_orders(&orders, &names);
        assert_eq!(written, data, "one form for each order");
    }
    if let Ok(results) = decode_results(data) {
        let written = encode_results(&results);
        assert_eq!(decode_results(&written).as_ref(), Ok(&results));
    }
    // Its hash covers every byte.
    assert!(CommitRecord::decode(data).is_err() || data.len() > 48);
}
