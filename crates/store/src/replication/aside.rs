//! Records that a store has and the history of its leader has not, in a file of their own.
//!
//! Owns the name and the form of the file: each record behind its length, as in the files of the last records. Nothing
//! reads it by itself: a person decides what becomes of the changes.

use std::path::{Path, PathBuf};

use super::history::History;
use crate::failure::StoreFailure;
use crate::limits::ASIDE_PIECE;

/// Writes the records after this number to a file. Returns it with the numbers of the first and the last record in it;
/// `None` if the store has none of them any more.
pub(crate) fn set_aside(
    history: &History,
    directory: &Path,
    shared: u64,
) -> Result<Option<(PathBuf, u64, u64)>, StoreFailure> {
    let Some(place) = history.place() else { return Ok(None) };
    let last = place.position.number;
    let first = (shared + 1).max(history.kept().first().unwrap_or(u64::MAX));
    if first > last {
        return Ok(None);
    }
    let term = place.position.term.number;
    let path = directory.join(format!("aside-term{term}-{first}-{last}.records"));
    let part = path.with_extension("part");
    let mut out = Vec::new();
    let mut number = first - 1;
    let mut file = crate::file::open(&part)?;
    file.set_len(0)?;
    while number < last {
        let records = history.kept().after(number, ASIDE_PIECE)?.unwrap_or_default();
        if records.is_empty() {
            break;
        }
        number += records.len() as u64;
        for record in records {
            let length = u32::try_from(record.len()).unwrap_or(u32::MAX);
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(&record);
        }
        std::io::Write::write_all(&mut file, &out)?;
        out.clear();
    }
    file.sync_all()?;
    std::fs::rename(part, &path)?;
    Ok(Some((path, first, last)))
}
