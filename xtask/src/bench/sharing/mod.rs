//! `cargo xtask bench sharing`: cache lines that one scheduler stores to and another touches.
//!
//! Method: `two_schedulers` under valgrind's lackey, which writes down every load and store of user space.
//! The two take turns on threads of their own, so their stacks are apart as in the server; between marks the
//! lines of each are collected and held against the other's. What the kernel does is not in the trace.
//! Fails when a line is found, and, before that, when a counter that is shared on purpose is not.

mod places;
mod trace;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::bench::{host, report};
use crate::failure::Failure;
use crate::process;
use crate::workspace;

use places::Places;
use trace::{SCHEDULERS, Shared, Touched};

/// Bytes of the trace read at once: it runs to gigabytes.
const TRACE_BUFFER_BYTES: usize = 1024 * 1024;

/// The argument with which the program shares a counter, and what it calls it.
const FAULT: (&str, &str) = ("shared-counter", "the counter that is shared on purpose");

/// What one run of the program showed.
struct Outcome {
    places: Places,
    touched: [Touched; SCHEDULERS],
    shared: Vec<Shared>,
    requests: u64,
}

/// Runs the verb.
pub(crate) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let place = arguments.take_value("--report")?.map(PathBuf::from);
    arguments.finish()?;
    if !process::is_installed("valgrind") {
        return Err(Failure::Work("valgrind is not installed (apt: valgrind)".to_owned()));
    }
    let name = "two_schedulers";
    workspace::build_release(&["--package", "velodrome-server", "--example", name])?;
    let program = workspace::target_folder()?.join("release/examples").join(name);
    let faulty = observe(&program, &[FAULT.0])?;
    let is_found = |outcome: &Outcome| {
        outcome.shared.iter().any(|shared| outcome.places.of_line(shared.line).contains(FAULT.1))
    };
    if !is_found(&faulty) {
        return Err(Failure::Work("a counter shared on purpose was not found".to_owned()));
    }
    let outcome = observe(&program, &[])?;
    let text = text(&outcome, faulty.shared.len());
    print!("{text}");
    report::write("sharing", place.as_deref(), &text, &to_json(&outcome))?;
    match outcome.shared.len() {
        0 => Ok(()),
        count => Err(Failure::Work(format!("{count} cache lines are shared"))),
    }
}

/// Runs the program once and reads its trace while it is written.
fn observe(program: &Path, words: &[&str]) -> Result<Outcome, Failure> {
    let mut child = Command::new("valgrind")
        // A loop that is not unrolled: the program counts on how valgrind counts blocks.
        .args([
            "--tool=lackey",
            "--trace-mem=yes",
            "--basic-counts=no",
            "--vex-iropt-unroll-thresh=0",
        ])
        .arg(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::Work(format!("valgrind: {error}")))?;
    let piped = "the pipe was asked for above";
    let trace = child.stderr.take().expect(piped);
    let mut said = BufReader::new(child.stdout.take().expect(piped)).lines();
    let mut answer = child.stdin.take().expect(piped);
    let marks = Arc::new(OnceLock::new());
    let known = Arc::clone(&marks);
    let reader = std::thread::spawn(move || {
        trace::read(BufReader::with_capacity(TRACE_BUFFER_BYTES, trace), &known)
    });
    let mut places = Places::default();
    for line in said.by_ref() {
        if !places.take(&line?) {
            break;
        }
    }
    if let Some(found) = places.marks() {
        marks.get_or_init(|| found);
    }
    // Only now does it go on. If it is gone, its status says so below.
    let _gone = answer.write_all(b"\n");
    let last = said.map_while(Result::ok).last().unwrap_or_default();
    let touched =
        reader.join().map_err(|_| Failure::Work("the trace's reader failed".to_owned()))??;
    let status = child.wait()?;
    let requests = last.strip_prefix("done ").and_then(|count| count.parse().ok());
    let Some(requests) = requests.filter(|_| status.success()) else {
        return Err(Failure::Work(format!("{} did not finish: {status}", program.display())));
    };
    if touched.iter().any(|one| one.stretches == 0) {
        return Err(Failure::Work(
            "the trace shows no mark: its form is not understood".to_owned(),
        ));
    }
    let shared = trace::shared(&touched);
    Ok(Outcome { places, touched, shared, requests })
}

fn text(outcome: &Outcome, found_on_purpose: usize) -> String {
    let mut text = format!(
        "cache lines shared by two schedulers: cargo xtask bench sharing; {}, commit {}\n\
         {} requests (route with JSON, fixed text, a path that is not there, 16 pipelined, a connection \
         each) with an access log,\non one scheduler, on the other, and on both in turn\n",
        host::compiler(),
        host::commit(),
        outcome.requests
    );
    for (number, touched) in outcome.touched.iter().enumerate() {
        text.push_str(&format!(
            "  scheduler {number}: {} lines loaded, {} stored to\n",
            touched.loaded.len(),
            touched.stored.len()
        ));
    }
    text.push_str(&format!(
        "  with a counter shared on purpose: {found_on_purpose} found, that one among them\n\
         \x20 stored to by one and touched by the other: {}\n",
        outcome.shared.len()
    ));
    for shared in &outcome.shared {
        text.push_str(&format!(
            "    {:#x}: {}\n      scheduler {} stores at {:#x}: {}\n      the other touches {:#x}: {}\n",
            shared.line * trace::LINE_BYTES,
            outcome.places.of_line(shared.line),
            shared.writer,
            shared.store.data,
            outcome.places.of_code(shared.store.code),
            shared.other.data,
            outcome.places.of_code(shared.other.code),
        ));
    }
    text
}

fn to_json(outcome: &Outcome) -> Value {
    let lines = outcome.shared.iter().map(|shared| {
        json!({
            "line": shared.line * trace::LINE_BYTES,
            "place": outcome.places.of_line(shared.line),
            "store": outcome.places.of_code(shared.store.code),
            "other": outcome.places.of_code(shared.other.code),
        })
    });
    json!({
        "compiler": host::compiler(),
        "commit": host::commit(),
        "requests": outcome.requests,
        "lines_stored": outcome.touched.iter().map(|one| one.stored.len()).collect::<Vec<_>>(),
        "lines_loaded": outcome.touched.iter().map(|one| one.loaded.len()).collect::<Vec<_>>(),
        "shared": lines.collect::<Vec<_>>(),
    })
}
