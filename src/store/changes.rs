//! `store changes`: the changes in records that a store has set aside, as NDJSON.

use std::path::Path;

use ::store::{AsideRecords, RecordedChange};
use server::record_json::{put_bytes, to_json};

use super::failed;
use crate::Failure;
use crate::output::print_with;

pub(super) fn run(file: &Path) -> Result<(), Failure> {
    let records = AsideRecords::read(file).map_err(|failure| failed(file, &failure))?;
    print_with(|out| {
        for record in records.records() {
            let record = record.map_err(|failure| failed(file, &failure))?;
            for change in record.recorded() {
                let (database, change) = change.map_err(|failure| failed(file, &failure))?;
                let (number, time_ms) = (record.number, record.time_ms);
                let place = format!(
                    "{{\"record\":{number},\"time_ms\":{time_ms},\"database\":\"{database}\""
                );
                let rest = rest(&change);
                writeln!(out, "{place},{rest}")?;
            }
        }
        Ok(())
    })
}

/// The rest of the object of a change.
fn rest(change: &RecordedChange<'_>) -> String {
    match change {
        RecordedChange::Put(key, record) => to_json(key, record).split_off(1),
        RecordedChange::Delete(key) => {
            let mut text = String::new();
            put_bytes("key", key, &mut text);
            text + ",\"deleted\":true}"
        }
        RecordedChange::Clear => "\"cleared\":true}".to_owned(),
    }
}
