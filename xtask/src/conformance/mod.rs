//! `cargo xtask conformance`: the HTTP/1.1 and HTTP/2 requirements on our server and on other installed ones.
//!
//! Owns the order: start a server, run `velodrome bench conformance` on it, end it, next one. A server that is not
//! installed is reported as skipped. The suite judges.

mod configuration;
mod servers;
mod site;
mod table;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::workspace;

use servers::{OTHERS, OURS, OVER_FRAMES, Ours, Protocol, Running, Server};
use site::Site;
use table::{Case, Column, Verdict};

/// The document with the tables.
const DOCUMENT: &str = "docs/conformance.md";

/// The deadline at which a server must have given up on a slow client; all are configured for one second.
const SLOW_DEADLINE: &str = "--slow-deadline=2500ms";

/// How often the suite is run on each server.
fn rounds(protocol: Protocol) -> usize {
    match protocol {
        Protocol::One => 5,
        // Its cases wait for an event each, and hardly depend on a race.
        Protocol::Two => 2,
    }
}

/// Runs the verb.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new(words);
    let only = arguments.take_list("--only")?;
    let newer = arguments.take_switch("--h2");
    let purpose = match arguments.take_switch("--write") {
        true => Purpose::Written,
        false => Purpose::Shown,
    };
    arguments.finish()?;
    if purpose == Purpose::Written && !only.is_empty() {
        return Err(Failure::Usage("--write is for the tables of all, without --only".to_owned()));
    }
    check_names(&only)?;
    let words = ["--package", "velodrome", "--bin", "velodrome", "--example", "reflect"];
    workspace::build_release(&words)?;
    let programs = workspace::target_folder()?.join("release");
    let site = Site::prepare()?;
    let ours = Ours::start(&site, &programs)?;
    let mut run = Run { site: &site, ours: &ours, programs: &programs, only: &only };
    if !newer {
        let columns = run.first_columns()?;
        put_tables(Protocol::One, &columns, OTHERS.len() + 1, purpose)?;
    }
    let columns = run.columns(&OVER_FRAMES, Protocol::Two)?;
    put_tables(Protocol::Two, &columns, OVER_FRAMES.len(), purpose)
}

/// The use of the tables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Printed only.
    Shown,
    /// Put into the document too.
    Written,
}

/// Prints the tables of these columns, and puts them into the document if it is to be written.
fn put_tables(
    protocol: Protocol,
    columns: &[Column],
    all: usize,
    purpose: Purpose,
) -> Result<(), Failure> {
    let tables = table::markdown(columns, &today()?);
    print!("{tables}");
    if purpose == Purpose::Shown {
        return Ok(());
    }
    if columns.len() < all {
        let text = format!("{DOCUMENT} stays as it is: a server of its table is not installed");
        return Err(Failure::Work(text));
    }
    let path = workspace::root().join(DOCUMENT);
    let document = std::fs::read_to_string(&path)?;
    std::fs::write(&path, table::put(&document, protocol, &tables)?)?;
    Ok(())
}

/// One run of the verb.
struct Run<'r> {
    site: &'r Site,
    ours: &'r Ours,
    programs: &'r Path,
    only: &'r [String],
}

impl Run<'_> {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|other| other == name)
    }

    /// The columns of HTTP/1.1.
    fn first_columns(&mut self) -> Result<Vec<Column>, Failure> {
        let mut columns = Vec::new();
        if self.wants(OURS) {
            eprintln!("{OURS} {}", self.ours.version);
            columns.push(own_column(self.ours, self.programs)?);
        }
        columns.extend(self.columns(&OTHERS, Protocol::One)?);
        Ok(columns)
    }

    fn columns(&mut self, servers: &[Server], protocol: Protocol) -> Result<Vec<Column>, Failure> {
        let mut columns = Vec::new();
        for server in servers.iter().filter(|server| self.wants(server.name)) {
            let Some((program, version)) = self.program(server) else {
                eprintln!("SKIPPED {}: it is not installed", server.name);
                continue;
            };
            eprintln!("{} {version}", server.name);
            let running = server.start(&program, self.site, self.ours, protocol)?;
            columns.push(Column {
                name: server.name.to_owned(),
                version,
                note: server.note.to_owned(),
                cases: play(server.name, &running, self.programs, protocol)?,
            });
        }
        Ok(columns)
    }

    /// The program and its version; ours is the one that was built just now.
    fn program(&self, server: &Server) -> Option<(PathBuf, String)> {
        if server.name == OURS {
            return Some((self.programs.join(OURS), self.ours.version.clone()));
        }
        server.installed()
    }
}

fn check_names(only: &[String]) -> Result<(), Failure> {
    let names = OTHERS.iter().chain(&OVER_FRAMES).map(|server| server.name);
    let known: BTreeSet<_> = std::iter::once(OURS).chain(names).collect();
    if let Some(stranger) = only.iter().find(|name| !known.contains(name.as_str())) {
        let known = known.into_iter().collect::<Vec<_>>().join(", ");
        return Err(Failure::Usage(format!("there is no server `{stranger}`; one of: {known}")));
    }
    Ok(())
}

/// A file server accepts no bodies, so the requirements about bodies are tested with a service that does.
fn own_column(ours: &Ours, programs: &Path) -> Result<Column, Failure> {
    let mut cases = play(OURS, &ours.files, programs, Protocol::One)?;
    let others = play("reflect", &ours.echo, programs, Protocol::One)?;
    for (case, other) in cases.iter_mut().zip(others) {
        if case.outcome == Verdict::NotApplicable && case.id == other.id {
            *case = other;
        }
    }
    let note = "`velodrome serve`, and for cases about bodies `examples/reflect.rs`, a service of the \
                library";
    Ok(Column {
        name: OURS.to_owned(),
        version: ours.version.clone(),
        note: note.to_owned(),
        cases,
    })
}

/// Runs the suite several times: failures that depend on a race are told apart from those that always
/// occur.
fn play(
    name: &str,
    server: &Running,
    programs: &Path,
    protocol: Protocol,
) -> Result<Vec<Case>, Failure> {
    let mut cases = play_once(name, server, programs, protocol)?;
    for _ in 1..rounds(protocol) {
        let again = play_once(name, server, programs, protocol)?;
        for (case, other) in cases.iter_mut().zip(&again) {
            case.join(other);
        }
    }
    Ok(cases)
}

fn play_once(
    name: &str,
    server: &Running,
    programs: &Path,
    protocol: Protocol,
) -> Result<Vec<Case>, Failure> {
    let mut command = Command::new(programs.join("velodrome"));
    command.args(["bench", "conformance", &server.address.to_string(), "--json"]);
    let file = match protocol {
        Protocol::One => {
            command.arg(SLOW_DEADLINE);
            format!("{name}.json")
        }
        Protocol::Two => {
            command.arg("--h2");
            format!("{name}-h2.json")
        }
    };
    let output = command.args(&server.offers).output()?;
    // The data that was sent and received, for the analysis of failures.
    let folder = workspace::target_folder()?.join("conformance");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(file), &output.stdout)?;
    // Status 1 means that a requirement is not met, which is a valid result here.
    table::read_cases(&output.stdout).ok_or_else(|| {
        let complaint = String::from_utf8_lossy(&output.stderr);
        Failure::Work(format!("{name}: no report: {}", complaint.trim()))
    })
}

fn today() -> Result<String, Failure> {
    let output = Command::new("date").args(["-u", "+%Y-%m-%d"]).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
