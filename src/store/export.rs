//! `store export`: all records of a database as NDJSON.

use std::path::Path;

use ::store::{PageOf, Query, StepOutcome, With};
use server::record_json::to_json;

use super::{failed, number_of, open};
use crate::Failure;
use crate::output::print_with;

pub(super) fn run(directory: &Path, database: &str) -> Result<(), Failure> {
    let (store, databases) = open(directory, None)?;
    let database = number_of(database, &databases)?;
    // One snapshot for all pages, so later changes are not included.
    let snapshot = store.snapshot().map_err(|failure| failed(directory, &failure))?;
    print_with(|out| {
        let mut after = None;
        loop {
            let page = PageOf { after, keys: usize::MAX, with: With::Values, ..PageOf::default() };
            let outcome = snapshot.answer(database, &Query::Page(page), 0);
            let StepOutcome::Page(page) = outcome.map_err(|failure| failed(directory, &failure))?
            else {
                return Err(Failure::Failed("the store gave no page".to_owned()).into());
            };
            for (key, entry) in &page.keys {
                if let Some(entry) = entry {
                    writeln!(out, "{}", to_json(key, &entry.as_record()))?;
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    })
}
