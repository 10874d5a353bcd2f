//! `store export`: all records of a database as NDJSON.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use ::store::{Outcome, PageOf, Query, With};
use server::record_json::to_json;

use super::{failed, number_of, open};
use crate::Failure;

pub(super) fn run(directory: &Path, database: &str) -> Result<(), Failure> {
    let (store, databases) = open(directory, None)?;
    let database = number_of(database, &databases)?;
    // One snapshot for all pages: what is written meanwhile is not in it.
    let snapshot = store.snapshot().map_err(|failure| failed(directory, &failure))?;
    let mut out = BufWriter::new(io::stdout().lock());
    let told = |error: io::Error| Failure::Failed(format!("standard output: {error}"));
    let mut after = None;
    loop {
        let page = PageOf { after, keys: usize::MAX, with: With::Values, ..PageOf::default() };
        let outcome = snapshot.answer(database, &Query::Page(page), 0);
        let Outcome::Page(page) = outcome.map_err(|failure| failed(directory, &failure))? else {
            return Err(Failure::Failed("the store gave no page".to_owned()));
        };
        for (key, entry) in &page.keys {
            if let Some(entry) = entry {
                writeln!(out, "{}", to_json(key, entry)).map_err(told)?;
            }
        }
        after = page.next;
        if after.is_none() {
            return out.flush().map_err(told);
        }
    }
}
