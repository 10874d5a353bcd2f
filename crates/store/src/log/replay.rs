//! Replays the log in a store that has returned to its checkpoint.
//!
//! Owns which entries are valid: those after the checkpoint, each the successor of the one before. The
//! last one may be incomplete; its changes were not answered. All entries are replayed in one transaction, because
//! LMDB keeps the pages of the previous one, so a second power failure can return to the checkpoint
//! again.

use std::io::Read;
use std::path::Path;

use heed::RwTxn;

use super::FILES;
use super::entry::{Logged, ReadEntry};
use crate::facts::{Fact, Facts};
use crate::failure::StoreFailure;
use crate::ffi::{MapOptions, open};
use crate::file;
use crate::record::Record;
use crate::table::{Table, Whose};
use crate::versions::Versions;

/// The valid entries after a transaction.
pub(super) fn entries(logs: &[Vec<u8>], checkpoint: u64) -> Vec<ReadEntry<'_>> {
    let mut all = Vec::new();
    for log in logs {
        let mut rest = &log[..];
        while let Some((entry, behind)) = ReadEntry::first(rest) {
            all.push(entry);
            rest = behind;
        }
    }
    all.sort_unstable_by_key(|entry| entry.transaction);
    let mut last = None;
    let follows = |entry: &ReadEntry<'_>| {
        let is_next = match last {
            None => entry.previous <= checkpoint,
            Some(last) => entry.previous == last,
        };
        last = Some(entry.transaction);
        is_next
    };
    all.into_iter().filter(|entry| entry.transaction > checkpoint).take_while(follows).collect()
}

/// Replays the log of a store that is at this transaction, and waits for the disk. The store must not be open.
pub(crate) fn replay(directory: &Path, checkpoint: u64) -> Result<(), StoreFailure> {
    let mut logs = Vec::new();
    for path in FILES.map(|name| directory.join(name)) {
        if path.exists() {
            let mut log = Vec::new();
            file::open(&path)?.read_to_end(&mut log)?;
            logs.push(log);
        }
    }
    let entries = entries(&logs, checkpoint);
    let Some(last) = entries.last() else { return Ok(()) };
    let map = open(directory, &MapOptions::default())?;
    let mut tables = Vec::new();
    let mut place = None;
    for entry in &entries {
        for change in entry.changes() {
            let (name, change) = change?;
            if let Logged::Place(known) = change {
                place = Some(known);
            } else if tables.iter().all(|(known, _)| *known != name) {
                tables.push((name, Table::open(&map, name, Whose::Clients)?));
            }
        }
    }
    let facts = Facts::open(&map)?;
    let versions = Versions::of(&map)?.of_copy(last.transaction - checkpoint);
    versions.write(&map, |transaction| {
        for entry in &entries {
            for change in entry.changes() {
                let (name, change) = change?;
                if let Some((_, table)) = tables.iter().find(|(known, _)| *known == name) {
                    repeat(*table, transaction, change)?;
                }
            }
        }
        if let (Some(facts), Some(place)) = (facts, place) {
            facts.put(transaction, Fact::Place, place)?;
        }
        Ok(())
    })?;
    map.prepare_for_closing().wait();
    Ok(())
}

/// Makes a change again. It may be there already.
pub(crate) fn repeat(
    table: Table,
    transaction: &mut RwTxn<'_>,
    change: Logged<'_>,
) -> Result<(), StoreFailure> {
    match change {
        Logged::Put(key, stored) => {
            let before = table.find(transaction, key)?.and_then(|record| record.expiry_ms);
            let expiry = Record::decode(stored).and_then(|record| record.expiry_ms);
            table.put(transaction, key, stored, (before, expiry))
        }
        Logged::Delete(key) => {
            let before = table.find(transaction, key)?.and_then(|record| record.expiry_ms);
            table.delete(transaction, key, before)
        }
        Logged::Clear => table.clear(transaction),
        Logged::Place(_) => Ok(()),
    }
}
