//! Static files: a scheduler never waits for a disk.
//!
//! A request looks into its scheduler's [`PathCache`]. A cached result becomes an
//! [`answer`](answer::answer). Otherwise a [`Job`] goes to a helper thread, whose [`Disk`] looks it
//! up, and the request is parked until the [`LookupResult`] returns and is stored in the cache. Then the
//! request runs again as if it had just arrived. A file too large for the memory is opened by the
//! scheduler itself with [`Roots::open_large`], which does not wait either, after a helper has read
//! it into the page cache ([`Warm`]).
//!
//! Owns how a file becomes an answer. Never sends and never starts a thread: its caller does. Knows
//! no route and no connection.

pub mod absence;
mod accept;
pub mod answer;
pub mod cache;
mod compress;
pub mod disk;
pub mod entry;
pub mod error_page;
mod handles;
pub mod job;
pub mod limits;
pub mod listing;
mod load;
pub mod media_type;
mod natural;
pub mod pattern;
pub mod policy;
pub mod representation;
pub mod roots;
pub mod rules;
pub mod secret;

pub use accept::{ListingForm, form_of};
pub use answer::{AnswerFields, BodyPart, FileAnswer, FileRequest, Parts};
pub use cache::{PathCache, PathCacheStats, PathLookup};
pub use disk::Disk;
pub use entry::CachedEntry;
pub use error_page::ErrorPages;
pub use job::{EntryKey, Errand, Job, LookupResult, PathContent, Warm, Warmed};
pub use pattern::NamePattern;
pub use representation::{BodySource, Large, Representation};
pub use roots::{LargeOpen, OpenWait, Roots};
pub use rules::{FileRules, Root, RootIndex};
