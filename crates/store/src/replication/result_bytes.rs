//! Results of orders as bytes, from a leader to the replica that sent the orders.
//!
//! Owns the encoding. A failure of the leader's store is told in its own words.

use super::bytes::{ByteReader, Cut, put_count, put_option, put_text};
use super::order_bytes::{kind_byte, kind_of};
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
    for result in results {
        match result {
            Ok(Executed::Done(outcomes)) => {
                out.push(0);
                put_count(&mut out, outcomes.len());
                for outcome in outcomes {
                    put_outcome(&mut out, outcome);
                }
            }
            Ok(Executed::Refused) => out.push(1),
            Err(failure) => put_failure(&mut out, failure),
        }
    }
    out
}

/// The results that these bytes are.
///
/// # Errors
/// If they are damaged, or of a later version.
pub fn decode_results(bytes: &[u8]) -> Result<Vec<OrderResult>, Cut> {
    let mut bytes = ByteReader::new(bytes);
    let results = bytes.list(|bytes| {
        Ok(match bytes.u8()? {
            0 => Ok(Executed::Done(bytes.list(outcome)?)),
            1 => Ok(Executed::Refused),
            kind => Err(failure(kind, bytes)?),
        })
    })?;
    if bytes.is_at_end() { Ok(results) } else { Err(Cut) }
}

fn put_failure(out: &mut Vec<u8>, failure: &StoreFailure) {
    match failure {
        StoreFailure::Full => out.push(16),
        StoreFailure::LargerThanStore => out.push(17),
        StoreFailure::DiskFull => out.push(18),
        StoreFailure::TooManyReaders => out.push(19),
        StoreFailure::InUse => out.push(20),
        StoreFailure::TooMuch => out.push(21),
        StoreFailure::Replica => out.push(22),
        StoreFailure::LeaderAway => out.push(23),
        StoreFailure::LeaderSilent => out.push(24),
        StoreFailure::Storage(text) => {
            out.push(25);
            put_text(out, text.as_bytes());
        }
    }
}

fn failure(kind: u8, bytes: &mut ByteReader<'_>) -> Result<StoreFailure, Cut> {
    Ok(match kind {
        16 => StoreFailure::Full,
        17 => StoreFailure::LargerThanStore,
        18 => StoreFailure::DiskFull,
        19 => StoreFailure::TooManyReaders,
        20 => StoreFailure::InUse,
        21 => StoreFailure::TooMuch,
        22 => StoreFailure::Replica,
        23 => StoreFailure::LeaderAway,
        24 => StoreFailure::LeaderSilent,
        25 => StoreFailure::Storage(String::from_utf8_lossy(bytes.text()?).into_owned()),
        _ => return Err(Cut),
    })
}

fn put_outcome(out: &mut Vec<u8>, outcome: &StepOutcome) {
    match outcome {
        StepOutcome::Made(made) => out.push(u8::from(*made)),
        StepOutcome::Number(number) => {
            out.push(2);
            out.extend_from_slice(&number.to_le_bytes());
        }
        StepOutcome::Value(entry) => {
            out.push(3);
            put_entry(out, entry.as_ref());
        }
        StepOutcome::Values(entries) => {
            out.push(4);
            put_count(out, entries.len());
            for entry in entries {
                put_entry(out, entry.as_ref());
            }
        }
        StepOutcome::Put(written, entry) => {
            out.push(if *written { 6 } else { 5 });
            put_entry(out, entry.as_ref());
        }
        StepOutcome::Remaining(remaining) => match remaining {
            Remaining::Missing => out.push(7),
            Remaining::Endless => out.push(8),
            Remaining::Until(time_ms) => {
                out.push(9);
                out.extend_from_slice(&time_ms.to_le_bytes());
            }
        },
        StepOutcome::Kind(kind) => {
            out.push(10);
            put_option(out, *kind, |out, kind| out.push(kind_byte(kind)));
        }
        StepOutcome::Page(ScanPage { keys, next }) => {
            out.push(11);
            put_count(out, keys.len());
            for (key, entry) in keys {
                put_text(out, key);
                put_entry(out, entry.as_ref());
            }
            put_option(out, next.as_ref(), |out, key| put_text(out, key));
        }
        StepOutcome::Misuse(misuse) => out.push(match misuse {
            Misuse::KeySize => 32,
            Misuse::ValueSize => 33,
            Misuse::NotANumber => 34,
            Misuse::Overflow => 35,
            Misuse::NotAFloat => 36,
            Misuse::NotFinite => 37,
            Misuse::NoSuchKey => 38,
        }),
    }
}

fn outcome(bytes: &mut ByteReader<'_>) -> Result<StepOutcome, Cut> {
    Ok(match bytes.u8()? {
        made @ (0 | 1) => StepOutcome::Made(made == 1),
        2 => StepOutcome::Number(bytes.u64()?.cast_signed()),
        3 => StepOutcome::Value(entry(bytes)?),
        4 => StepOutcome::Values(bytes.list(entry)?),
        written @ (5 | 6) => StepOutcome::Put(written == 6, entry(bytes)?),
        7 => StepOutcome::Remaining(Remaining::Missing),
        8 => StepOutcome::Remaining(Remaining::Endless),
        9 => StepOutcome::Remaining(Remaining::Until(bytes.u64()?)),
        10 => StepOutcome::Kind(bytes.option(|bytes| kind_of(bytes.u8()?))?),
        11 => StepOutcome::Page(ScanPage {
            keys: bytes.list(|bytes| Ok((bytes.text()?.into(), entry(bytes)?)))?,
            next: bytes.option(|bytes| Ok(bytes.text()?.into()))?,
        }),
        misuse => StepOutcome::Misuse(match misuse {
            32 => Misuse::KeySize,
            33 => Misuse::ValueSize,
            34 => Misuse::NotANumber,
            35 => Misuse::Overflow,
            36 => Misuse::NotAFloat,
            37 => Misuse::NotFinite,
            38 => Misuse::NoSuchKey,
            _ => return Err(Cut),
        }),
    })
}

fn put_entry(out: &mut Vec<u8>, entry: Option<&StoredEntry>) {
    put_option(out, entry, |out, entry| {
        out.push(kind_byte(entry.kind));
        out.extend_from_slice(&entry.version.to_le_bytes());
        put_option(out, entry.expiry_ms, |out, time_ms| {
            out.extend_from_slice(&time_ms.to_le_bytes());
        });
        put_text(out, &entry.bytes);
    });
}

fn entry(bytes: &mut ByteReader<'_>) -> Result<Option<StoredEntry>, Cut> {
    bytes.option(|bytes| {
        Ok(StoredEntry {
            kind: kind_of(bytes.u8()?)?,
            version: bytes.u64()?,
            expiry_ms: bytes.option(ByteReader::u64)?,
            bytes: bytes.text()?.into(),
        })
    })
}
