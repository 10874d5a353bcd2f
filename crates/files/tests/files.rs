//! Static files from the disk to the answer, and the cache between.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test is to be seen")]

#[path = "files/answer.rs"]
mod answer;
#[path = "files/cache.rs"]
mod cache;
#[path = "files/cache_model.rs"]
mod cache_model;
#[path = "files/changes.rs"]
mod changes;
#[path = "files/codings.rs"]
mod codings;
#[path = "files/disk.rs"]
mod disk;
#[path = "files/large.rs"]
mod large;
#[path = "files/listing.rs"]
mod listing;
#[path = "files/site.rs"]
mod site;
