//! Results of orders as bytes, from a leader to the replica that sent the orders.
//!
//! Owns the encoding. A failure of the leader's store is told in its own words.

use super::bytes::{ByteReader, Coded, Cut, coded, put_count};
use crate::failure::{Misuse, StoreFailure};
use crate::order::Executed;
use crate::outcome::{Remaining, StepOutcome};
use crate::page::ScanPage;
use crate::record::StoredEntry;

/// The result of an order.
type OrderResult = Result<Executed, StoreFailure>;

/// The bytes of results.
pub fn encode_results(results: &[OrderResult]) -> Vec<u8> {
    let mut out = Vec::new();
    put_count(&mut out, results.len());
    results.iter().for_each(|result| result.put(&mut out));
    out
}

/// The results that these bytes are.
///
/// # Errors
/// If they are damaged, or of a later version.
pub fn decode_results(bytes: &[u8]) -> Result<Vec<OrderResult>, Cut> {
    let mut bytes = ByteReader::new(bytes);
    let results = Coded::read(&mut bytes)?;
    if bytes.is_at_end() { Ok(results) } else { Err(Cut) }
}

coded!(OrderResult {
    0 => (Ok(Executed::Done(outcomes))) outcomes;
    1 => (Ok(Executed::Refused));
    16 => (Err(StoreFailure::Full));
    17 => (Err(StoreFailure::LargerThanStore));
    18 => (Err(StoreFailure::DiskFull));
    19 => (Err(StoreFailure::TooManyReaders));
    20 => (Err(StoreFailure::InUse));
    21 => (Err(StoreFailure::TooMuch));
    22 => (Err(StoreFailure::Replica));
    23 => (Err(StoreFailure::LeaderAway));
    24 => (Err(StoreFailure::LeaderSilent));
    25 => (Err(StoreFailure::Storage(text))) text;
});

coded!(StepOutcome {
    0 => (Self::Made(false));
    1 => (Self::Made(true));
    2 => (Self::Number(number)) number;
    3 => (Self::Value(entry)) entry;
    4 => (Self::Values(entries)) entries;
    5 => (Self::Put(false, entry)) entry;
    6 => (Self::Put(true, entry)) entry;
    7 => (Self::Remaining(Remaining::Missing));
    8 => (Self::Remaining(Remaining::Endless));
    9 => (Self::Remaining(Remaining::Until(time_ms))) time_ms;
    10 => (Self::Kind(kind)) kind;
    11 => (Self::Page(page)) page;
    32 => (Self::Misuse(Misuse::KeySize));
    33 => (Self::Misuse(Misuse::ValueSize));
    34 => (Self::Misuse(Misuse::NotANumber));
    35 => (Self::Misuse(Misuse::Overflow));
    36 => (Self::Misuse(Misuse::NotAFloat));
    37 => (Self::Misuse(Misuse::NotFinite));
    38 => (Self::Misuse(Misuse::NoSuchKey));
});

coded! {
    struct ScanPage { keys, next }
    struct StoredEntry { kind, version, expiry_ms, bytes }
}
