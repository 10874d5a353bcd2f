//! `cargo xtask conformance`: the HTTP/1.1 requirements on our server and on other installed ones.
//!
//! Owns the order: start a server, run `velodrome bench conformance` on it, end it, next one. A server that is not
//! installed is reported as skipped. The suite judges.

mod configurations;
mod servers;
mod site;
mod table;

use std::path::Path;
use std::process::Command;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::workspace;

use servers::{OTHERS, OURS, Ours, Running, Server};
use site::Site;
use table::{Case, Column, Verdict};

/// The document with the tables.
const DOCUMENT: &str = "docs/conformance.md";

/// The deadline at which a server must have given up on a slow client; all are configured for one second.
const SLOW_DEADLINE: &str = "--slow-deadline=2500ms";

/// How often the suite is run on each server.
const ROUNDS: usize = 5;

/// Runs the verb.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new(words);
    let only = arguments.take_list("--only")?;
    let writes = arguments.take_switch("--write");
    arguments.finish()?;
    if writes && !only.is_empty() {
        return Err(Failure::Usage("--write is for the table of all, without --only".to_owned()));
    }
    let others = choose(&only)?;
    let words = ["--package", "velodrome", "--bin", "velodrome", "--example", "reflect"];
    workspace::build_release(&words)?;
    let programs = workspace::target_folder()?.join("release");
    let site = Site::prepare()?;
    let ours = Ours::start(&site, &programs)?;
    let mut columns = Vec::new();
    if only.is_empty() || only.iter().any(|name| name == OURS) {
        eprintln!("{OURS} {}", ours.version);
        columns.push(own_column(&ours, &programs)?);
    }
    for server in others {
        let Some((program, version)) = server.installed() else {
            eprintln!("SKIPPED {}: it is not installed", server.name);
            continue;
        };
        eprintln!("{} {version}", server.name);
        let running = server.start(&program, &site, &ours)?;
        columns.push(Column {
            name: server.name.to_owned(),
            version,
            note: server.note.to_owned(),
            cases: play(server.name, &running, &programs)?,
        });
    }
    let tables = table::markdown(&columns, &today()?);
    print!("{tables}");
    if writes {
        if columns.len() <= OTHERS.len() {
            let text = format!("{DOCUMENT} stays as it is: a server of its table is not installed");
            return Err(Failure::Work(text));
        }
        let path = workspace::root().join(DOCUMENT);
        std::fs::write(&path, table::put(&std::fs::read_to_string(&path)?, &tables)?)?;
    }
    Ok(())
}

fn choose(only: &[String]) -> Result<Vec<&'static Server>, Failure> {
    let names = OTHERS.iter().map(|server| server.name);
    let known: Vec<_> = std::iter::once(OURS).chain(names).collect();
    if let Some(stranger) = only.iter().find(|name| !known.contains(&name.as_str())) {
        let known = known.join(", ");
        return Err(Failure::Usage(format!("there is no server `{stranger}`; one of: {known}")));
    }
    let wanted = |server: &&Server| only.is_empty() || only.iter().any(|name| name == server.name);
    Ok(OTHERS.iter().filter(wanted).collect())
}

/// A file server accepts no bodies, so the requirements about bodies are tested with a service that does.
fn own_column(ours: &Ours, programs: &Path) -> Result<Column, Failure> {
    let mut cases = play(OURS, &ours.files, programs)?;
    let others = play("reflect", &ours.echo, programs)?;
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
fn play(name: &str, server: &Running, programs: &Path) -> Result<Vec<Case>, Failure> {
    let mut cases = play_once(name, server, programs)?;
    for _ in 1..ROUNDS {
        let again = play_once(name, server, programs)?;
        for (case, other) in cases.iter_mut().zip(&again) {
            case.join(other);
        }
    }
    Ok(cases)
}

fn play_once(name: &str, server: &Running, programs: &Path) -> Result<Vec<Case>, Failure> {
    let mut command = Command::new(programs.join("velodrome"));
    command.args(["bench", "conformance", &server.address.to_string(), "--json", SLOW_DEADLINE]);
    let output = command.args(&server.offers).output()?;
    // What was sent and received, for the analysis of failures.
    let folder = workspace::target_folder()?.join("conformance");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(format!("{name}.json")), &output.stdout)?;
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
