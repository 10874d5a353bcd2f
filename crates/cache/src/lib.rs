//! A shared HTTP cache (RFC 9111): which answers are stored, how long they are fresh, and which one answers a request.
//!
//! Owns the rules of the RFC, the stored answers and their memory, and which requests wait for the same fetch. Does no
//! I/O and reads no clock: time is an argument. Knows no connection and no configuration file.
//!
//! [`Cache::look`] finds an answer, [`judge`] says whether one is stored, [`Fetches`] has requests wait for each other.
//! [`DiskRecord`] is an answer as bytes, a [`StoredFile`] as a file, and a [`LabelLedger`] knows all that are kept
//! outside of memory.

mod answer_head;
mod body;
mod cache;
mod control;
mod decision;
mod fetches;
mod freshness;
mod key;
mod label;
mod ledger;
pub mod limits;
mod looked;
mod object;
mod passes;
mod pattern;
mod purges;
pub mod record;
mod report;
mod rules;
mod selection;
mod shelf;
mod stats;
mod stored_file;
mod storing;
mod time;
mod vary;

pub use answer_head::AnswerHead;
pub use body::{Elsewhere, Reservation, StoredBody};
pub use cache::Cache;
pub use control::{Control, Wishes};
pub use decision::{Credentials, may_answer};
pub use fetches::{FetchId, Fetched, Fetches, Join, Sharing, Worth};
pub use freshness::{Basis, Freshness};
pub use key::{AnswerKey, Uri};
pub use label::Label;
pub use ledger::{Compared, LabelLedger};
pub use looked::{CacheLookup, CacheQuery, OutsideOutcome};
pub use object::{Freshened, Mismatch, Object};
pub use pattern::{PatternError, PurgePattern};
pub use record::DiskRecord;
pub use report::{CacheOutcome, CacheStatus, ForwardReason};
pub use rules::{CacheRules, Guessing, KeyParts, RequestDirectives, SetCookie};
pub use selection::{Selection, select};
pub use shelf::{Shelf, ValuePlace};
pub use stats::CacheStats;
pub use stored_file::{Damaged, FileMatch, FileSum, StoredFile, file_head, place_of_body};
pub use storing::{NotStored, StorageTerms, judge};
pub use time::Time;
pub use vary::{Variant, Vary};
