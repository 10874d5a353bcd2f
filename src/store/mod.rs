//! The verb `store`: all operations on a store except serving it.
//!
//! Owns the flags and the output. Each verb except `compact` works while a server has the store
//! open: LMDB allows one write transaction at a time among all programs.

mod changes;
mod commands;
mod export;
mod import;
mod progress;
mod quotes;
mod sample;
mod separated;

use std::path::{Path, PathBuf};

use ::store::{Database, Query, StepOutcome, Store as Opened, StoreFailure, StoreOptions};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use crate::Failure;
use crate::ctl::way::{Way, WayFlags};
use crate::output::{self, FormFlag, OutputForm};

pub(crate) const EXAMPLES: &str = "Examples:
  velodrome store sample 1000000 > cards.csv         a million sample records
  velodrome store import cards.csv data --database cards
  velodrome store stat data                          databases, keys, size
  velodrome store export data --database cards > cards.ndjson
  velodrome store backup data /mnt/backup/monday     a snapshot of a live store
  velodrome store compact data                       return free space to the file system
  velodrome store check data                         check all records
  velodrome store changes data/aside-277-285-94f1f789c3db58fa.records
  velodrome store promote                            make the store of a running server the leader

Exit status: 0 done, 1 failed or damaged, 2 wrong usage.";

#[derive(Debug, Args)]
pub(crate) struct Store {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show databases with their number of keys, the size of the file, and the programs that read it.
    Stat {
        /// The directory of the store.
        directory: PathBuf,
        #[command(flatten)]
        output: FormFlag,
    },
    /// Import the rows of a file, all or none.
    Import(import::Import),
    /// Print a snapshot of a database, one JSON object per line.
    Export {
        /// The directory of the store.
        directory: PathBuf,
        /// The database.
        #[arg(long, default_value = "0")]
        database: String,
    },
    /// Print the changes in a file `aside-….records`, in which a fenced leader has set aside what only it had, one JSON
    /// object per line.
    Changes {
        /// The file.
        file: PathBuf,
    },
    /// Copy a snapshot of the store to another directory, without free space.
    Backup {
        /// The directory of the store.
        directory: PathBuf,
        /// The destination, without a store in it.
        to: PathBuf,
    },
    /// Remove the free space from the file. Not while a server has it open.
    Compact {
        /// The directory of the store.
        directory: PathBuf,
    },
    /// Read all records and check their consistency. Writes wait meanwhile.
    Check {
        /// The directory of the store.
        directory: PathBuf,
    },
    /// Make the store of a running server the leader of those that follow each other.
    Promote {
        #[command(flatten)]
        way: WayFlags,
    },
    /// Print generated records as CSV: a number, a name, a birthday, a city.
    Sample {
        /// Number of records.
        records: u64,
    },
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Fields separated by commas; the first row names them.
    Csv,
    /// Fields separated by tabs; the first row names them.
    Tsv,
    /// One JSON object per line.
    Ndjson,
    /// Redis commands that set strings, as for `redis-cli --pipe`.
    Resp,
}

pub(crate) fn run(store: &Store) -> Result<(), Failure> {
    match &store.verb {
        Verb::Stat { directory, output } => stat(directory, output.form()),
        Verb::Import(import) => import::run(import),
        Verb::Export { directory, database } => export::run(directory, database),
        Verb::Changes { file } => changes::run(file),
        Verb::Backup { directory, to } => backup(directory, to),
        Verb::Compact { directory } => compact(directory),
        Verb::Check { directory } => check(directory),
        Verb::Promote { way } => promote(way),
        Verb::Sample { records } => sample::run(*records),
    }
}

/// Asks a running server to lead.
fn promote(flags: &WayFlags) -> Result<(), Failure> {
    let answer = Way::of(flags)?.ask("POST", "/store/promote")?;
    output::print_line(answer.trim_end())
}

/// Opens an existing store, and creates this database if it is missing.
fn open(directory: &Path, database: Option<&str>) -> Result<(Opened, Vec<String>), Failure> {
    let failed = |failure| failed(directory, &failure);
    let mut databases = Opened::databases_in(directory).map_err(failed)?;
    if let Some(name) = database
        && !databases.iter().any(|known| known == name)
    {
        databases.push(name.to_owned());
    }
    let settings = StoreOptions { databases: databases.clone(), ..StoreOptions::new(directory) };
    let opened = Opened::open(&settings).map_err(failed)?;
    Ok((opened, databases))
}

/// The number of a database by its name.
fn number_of(database: &str, databases: &[String]) -> Result<Database, Failure> {
    let place = databases.iter().position(|known| known == database);
    let number = place.and_then(|place| u8::try_from(place).ok());
    number.map(Database).ok_or_else(|| {
        let known = databases.join(", ");
        Failure::WrongUse(format!("there is no database `{database}`; known are {known}"))
    })
}

fn failed(directory: &Path, failure: &StoreFailure) -> Failure {
    Failure::Failed(format!("{}: {failure}", directory.display()))
}

fn stat(directory: &Path, form: OutputForm) -> Result<(), Failure> {
    let (store, databases) = open(directory, None)?;
    let snapshot = store.snapshot().map_err(|failure| failed(directory, &failure))?;
    let mut counts = Vec::new();
    for (number, name) in databases.iter().enumerate() {
        let database = Database(u8::try_from(number).unwrap_or(u8::MAX));
        let counted = snapshot.answer(database, &Query::Count, 0);
        if let StepOutcome::Number(count) =
            counted.map_err(|failure| failed(directory, &failure))?
        {
            counts.push((name, count));
        }
    }
    let usage = store.usage();
    let own = std::process::id();
    let mut readers = store.readers().map_err(|failure| failed(directory, &failure))?;
    readers.retain(|reader| reader.process != own);
    if form == OutputForm::Json {
        let keys: serde_json::Map<_, _> =
            counts.into_iter().map(|(name, count)| (name.clone(), json!(count))).collect();
        let told = json!({
            "file_bytes": usage.file_bytes, "commit": usage.commit, "keys": keys,
            "readers": readers.iter().map(|reader| json!({
                "process": reader.process, "name": reader.name(), "commit": reader.commit,
            })).collect::<Vec<_>>(),
        });
        return output::print_line(&told.to_string());
    }
    let mut text = format!("file     {} bytes, {} commits\n", usage.file_bytes, usage.commit);
    for (name, count) in counts {
        text += &format!("{name:<8} {count} keys\n");
    }
    for reader in readers {
        let behind = usage.commit.saturating_sub(reader.commit);
        let (process, name) = (reader.process, reader.name());
        text += &format!("reader   process {process} ({name}), {behind} commits behind\n");
    }
    output::print(&text)
}

fn backup(directory: &Path, to: &Path) -> Result<(), Failure> {
    let (store, _) = open(directory, None)?;
    let bytes = store.copy_to(to).map_err(|failure| failed(to, &failure))?;
    output::print_line(&format!("{}: {bytes} bytes", to.display()))
}

fn compact(directory: &Path) -> Result<(), Failure> {
    let compacted = ::store::compact(directory).map_err(|failure| match failure {
        StoreFailure::InUse => Failure::Failed(format!(
            "{}: a server has the store open; stop it first, or make a copy without free room beside it: \
             velodrome store backup {0} TO",
            directory.display(),
        )),
        failure => failed(directory, &failure),
    });
    let (before, after) = compacted?;
    output::print_line(&format!("{}: {before} bytes before, {after} now", directory.display()))
}

fn check(directory: &Path) -> Result<(), Failure> {
    let (store, databases) = open(directory, None)?;
    let mut writer = store.writer();
    let mut damages = Vec::new();
    for name in &databases {
        let checked = writer.check(number_of(name, &databases)?);
        match checked.map_err(|failure| failed(directory, &failure))? {
            Ok(0) => {}
            Ok(count) => {
                output::print_line(&format!("{name:<8} {count} records are consistent"))?;
            }
            Err(damage) => damages.push(format!("database {name}: {damage}")),
        }
    }
    if damages.is_empty() { Ok(()) } else { Err(Failure::Failed(damages.join("\n"))) }
}
