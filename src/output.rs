//! Prints the output of a verb, in the form that is asked for.
//!
//! Owns that a reader that closes early (`| head`) is not an error.

use std::fmt;
use std::fs::{OpenOptions, remove_file};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use clap::Args;

use crate::Failure;

/// The form in which a verb prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputForm {
    Text,
    Json,
}

/// The flag of verbs that print in both forms.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct FormFlag {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl FormFlag {
    pub(crate) fn form(self) -> OutputForm {
        if self.json { OutputForm::Json } else { OutputForm::Text }
    }
}

/// Why printing ended early.
pub(crate) enum Stop {
    /// The reader has closed its end.
    ReaderClosed,
    /// Something failed.
    Failed(Failure),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::ReaderClosed,
            _ => Self::Failed(Failure::Failed(format!("cannot print: {error}"))),
        }
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Prints what a function writes, through a buffer.
pub(crate) fn print_with(
    write: impl FnOnce(&mut dyn Write) -> Result<(), Stop>,
) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| Ok(out.flush()?)) {
        Ok(()) | Err(Stop::ReaderClosed) => Ok(()),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}

/// Prints a text.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_with(|out| Ok(out.write_all(text.as_bytes())?))
}

/// Prints a report: its JSON, or the text that `write` appends.
pub(crate) fn print_report(
    form: OutputForm,
    json: impl FnOnce() -> String,
    write: impl FnOnce(&mut String) -> fmt::Result,
) -> Result<(), Failure> {
    if form == OutputForm::Json {
        return print_line(&json());
    }
    let mut text = String::new();
    write(&mut text).expect("text can be appended to text");
    print_line(text.trim_end())
}

/// Writes a file. Nothing is left of one that does not fit on its disk.
pub(crate) fn write_file(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    write_as(&mut OpenOptions::new(), path, content)
}

/// The same for a file that is new for its owner alone.
pub(crate) fn write_private_file(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    write_as(OpenOptions::new().mode(0o600), path, content)
}

fn write_as(
    options: &mut OpenOptions,
    path: &Path,
    content: impl AsRef<[u8]>,
) -> Result<(), Failure> {
    let failed = |error| Failure::Failed(format!("{}: {error}", path.display()));
    let mut file = options.write(true).create(true).truncate(true).open(path).map_err(failed)?;
    file.write_all(content.as_ref()).map_err(|error| {
        if file.metadata().is_ok_and(|about| about.is_file()) {
            let _stays = remove_file(path);
        }
        failed(error)
    })
}

/// Prints a line on standard error; an error is ignored, because there is nowhere to report it.
pub(crate) fn complain(line: &str) {
    let _nobody_reads = writeln!(io::stderr(), "velodrome: {line}");
}

/// Prints a line.
pub(crate) fn print_line(line: &str) -> Result<(), Failure> {
    print(&format!("{line}\n"))
}
