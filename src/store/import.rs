//! `store import`: the rows of a file.
//!
//! Owns how each format is read. All rows are one transaction: if it ends early for any
//! reason, the store does not change.

#![expect(clippy::disallowed_types, reason = "a command has files of its own")]

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ::store::{DATA_FILE, LoadFailure, LoadedRow, Store as Opened, StoreOptions, Value, ValueKind};
use clap::Args;
use server::record_json::{RecordFields, of_json};
use wire::json;

use super::commands::Commands;
use super::progress::Progress;
use super::quotes::Quotes;
use super::separated::{self, Columns, Rows};
use super::{Form, failed, number_of, open};
use crate::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct Import {
    /// The file; `-` for standard input.
    file: PathBuf,
    /// The directory of the store; created if missing.
    directory: PathBuf,
    /// The database to import into.
    #[arg(long, default_value = "0")]
    database: String,
    /// The format of the file [default: by its name].
    #[arg(long)]
    form: Option<Form>,
    /// The column of the key [default: the first in CSV and TSV, `key` in JSON].
    #[arg(long, value_name = "COLUMN")]
    key: Option<String>,
    /// The column of the value [default: the other one of two, else all others as a JSON object].
    #[arg(long, value_name = "COLUMN")]
    value: Option<String>,
}

pub(super) fn run(import: &Import) -> Result<(), Failure> {
    let form = form_of(import)?;
    let told = |error: io::Error| Failure::Failed(format!("{}: {error}", import.file.display()));
    let file = opened(&import.file).map_err(told)?;
    if !import.directory.join(DATA_FILE).exists() {
        let settings = StoreOptions {
            databases: vec![import.database.clone()],
            ..StoreOptions::new(&import.directory)
        };
        Opened::open(&settings).map_err(|failure| failed(&import.directory, &failure))?;
    }
    let (store, databases) = open(&import.directory, Some(&import.database))?;
    let database = number_of(&import.database, &databases)?;
    let (source, size) = complete(file, &import.directory).map_err(told)?;
    let mut progress = Progress::new(size);
    let read = Counted { source, bytes: progress.bytes() };
    let rows = match form {
        Form::Csv => separated::rows(Quotes::new(read), separated::CSV, import.columns())?,
        Form::Tsv => separated::rows(read, separated::TSV, import.columns())?,
        Form::Ndjson => lines(read, import.key.clone().unwrap_or_else(|| "key".to_owned())),
        Form::Resp => Box::new(Commands::of(read)),
    };
    let loaded = store.writer().load(database, rows.inspect(|_| progress.note()));
    progress.end();
    let count = loaded.map_err(|failure| match failure {
        LoadFailure::Store(failure) => failed(&import.directory, &failure),
        LoadFailure::Row(number, misuse) => Failure::Failed(format!(
            "{}: row {number}: {misuse}; nothing was imported",
            import.file.display()
        )),
        LoadFailure::Source(text) => {
            Failure::Failed(format!("{}: {text}; nothing was imported", import.file.display()))
        }
    })?;
    let (database, directory) = (&import.database, import.directory.display());
    output::print_line(&format!("{count} rows are in database {database} of {directory}"))
}

impl Import {
    fn columns(&self) -> Columns<'_> {
        Columns { file: &self.file, key: self.key.as_deref(), value: self.value.as_deref() }
    }
}

fn opened(path: &Path) -> io::Result<File> {
    if path == Path::new("-") {
        return Ok(io::stdin().as_fd().try_clone_to_owned()?.into());
    }
    File::open(path)
}

/// Opens the input; returns its size as well. Input from a pipe is copied to a temporary file first: no other program
/// can write to the store while rows are loaded, and the sender may be slow.
fn complete(mut file: File, directory: &Path) -> io::Result<(File, u64)> {
    let about = file.metadata()?;
    if about.is_file() {
        return Ok((file, about.len()));
    }
    let mut copy = tempfile::tempfile_in(directory)?;
    let size = io::copy(&mut file, &mut copy)?;
    copy.rewind()?;
    Ok((copy, size))
}

fn form_of(import: &Import) -> Result<Form, Failure> {
    let by_name = || match import.file.extension()?.to_str()? {
        "csv" => Some(Form::Csv),
        "tsv" => Some(Form::Tsv),
        "ndjson" | "jsonl" => Some(Form::Ndjson),
        "resp" => Some(Form::Resp),
        _ => None,
    };
    let form = import.form.or_else(by_name);
    form.ok_or_else(|| {
        let name = import.file.display();
        Failure::WrongUse(format!(
            "the form of {name} is not known by its name; say --form csv, tsv, ndjson or resp"
        ))
    })
}

/// The rows of a file with one JSON object per line: a line of `export`, or any object, which becomes the value, with
/// the key in one of its fields.
fn lines(source: Counted, key: String) -> Rows {
    let lines = BufReader::new(source).lines().zip(1_u64..);
    let rows = lines.filter(|(line, _)| !line.as_ref().is_ok_and(|line| line.trim().is_empty()));
    Box::new(rows.map(move |(line, number)| {
        let row = line.map_err(|error| error.to_string()).and_then(|line| row_of(&line, &key));
        row.map_err(|problem| format!("line {number}: {problem}"))
    }))
}

/// The row of a line that is a JSON object.
fn row_of(line: &str, key: &str) -> Result<LoadedRow, String> {
    let told = |problem: json::JsonProblem| problem.to_string();
    let line = json::check_around(line.as_bytes(), 1).map_err(told)?;
    let object: RecordFields<'_> = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let is_exported = key == "key"
        && ["value", "value_base64", "json"].iter().any(|name| object.contains_key(*name));
    if is_exported {
        return of_json(&object);
    }
    // The whole line becomes the value.
    json::check(line.as_bytes()).map_err(told)?;
    let name = match object.get(key).map(|name| name.get()) {
        Some(text) if text.starts_with('"') => json::string(text),
        Some(number)
            if number.starts_with(|first: char| first == '-' || first.is_ascii_digit()) =>
        {
            number.to_owned()
        }
        Some(_) => return Err(format!("`{key}` is neither a text nor a number")),
        None => return Err(format!("there is no `{key}`")),
    };
    let value = Value { kind: ValueKind::Table, bytes: line.as_bytes().into() };
    Ok(LoadedRow { key: name.into_bytes().into(), value, expiry_ms: None })
}

/// A reader that counts its bytes.
struct Counted {
    source: File,
    bytes: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.bytes.set(self.bytes.get() + count as u64);
        Ok(count)
    }
}
