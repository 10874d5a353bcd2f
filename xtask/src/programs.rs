//! The test programs of the workspace: built once, with all lints, and run side by side.
//!
//! Owns the build and the lanes. The results of each program are counted in `tally`.

use std::io::{BufRead, BufReader};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use serde_json::Value;

use crate::compiler;
use crate::failure::Failure;
use crate::fuzz;
use crate::process;
use crate::tally::{self, Tally};
use crate::workspace;

/// Tests at once in a program that starts servers and waits for them, for each processor: most of them sleep.
const WAITING_PER_PROCESSOR: usize = 3;

/// A built test program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// The package and the target.
    pub(crate) name: String,
    path: PathBuf,
    folder: PathBuf,
    bytes: u64,
    kind: Kind,
}

/// The way in which a program spends its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It tests the built product, and waits for it.
    Waiting,
    Computing,
    /// It measures the host, and runs when nothing else does.
    Alone,
}

/// The programs that need the host for themselves.
const ALONE: [&str; 1] = ["planted"];

/// The products of a build.
#[derive(Debug, Clone, Default)]
pub(crate) struct Built {
    /// The test programs, the largest first: it is likely to take longest.
    pub(crate) tests: Vec<Program>,
    /// The stable fuzz driver.
    pub(crate) fuzz_driver: Option<PathBuf>,
}

/// Builds everything that tests need.
pub(crate) fn build(tally: &mut Tally) -> Result<Built, Failure> {
    let mut command = compiler::linting_cargo()?;
    command.args(["test", "--workspace", "--no-run"]);
    command.arg("--message-format=json-render-diagnostics").stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let output = child.stdout.take().expect("the pipe was asked for above");
    let mut built = Built::default();
    for line in BufReader::new(output).lines() {
        let message = serde_json::from_str(&line?).unwrap_or(Value::Null);
        built.tests.extend(program_of(&message, &workspace::root()));
        let target = &message["target"];
        if target["name"] == fuzz::DRIVER && target["kind"][0] == "bin" {
            built.fuzz_driver = message["executable"].as_str().map(PathBuf::from);
        }
    }
    let (status, processor) = process::wait_and_measure(child)?;
    tally.note_processor(processor);
    if !status.success() {
        return Err(Failure::Work(format!("the build failed ({status})")));
    }
    built.tests.sort_by_key(|program| std::cmp::Reverse(program.bytes));
    Ok(built)
}

/// The test program that a message of cargo tells of.
fn program_of(message: &Value, root: &Path) -> Option<Program> {
    let path = PathBuf::from(message["executable"].as_str()?);
    if message["profile"]["test"] != true {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    let is_outside = folder == root && message["target"]["kind"][0] == "test";
    let package = folder.file_name()?.to_string_lossy().into_owned();
    Some(Program {
        name: format!("{package}/{}", message["target"]["name"].as_str()?),
        bytes: path.metadata().map_or(0, |about| about.len()),
        kind: match message["target"]["name"].as_str() {
            Some(name) if is_outside && ALONE.contains(&name) => Kind::Alone,
            _ if is_outside => Kind::Waiting,
            _ => Kind::Computing,
        },
        path,
        folder,
    })
}

/// A program that has ended.
struct Ended {
    name: String,
    seconds: f64,
    output: String,
    tally: Tally,
    outcome: Result<(), Failure>,
}

/// Programs that are run in their order, by one lane or several.
struct Queue<'p> {
    programs: Vec<&'p Program>,
    taken: AtomicUsize,
}

impl<'p> Queue<'p> {
    fn of(kind: Kind, programs: &'p [Program]) -> Self {
        let programs = programs.iter().filter(|program| program.kind == kind).collect();
        Self { programs, taken: AtomicUsize::new(0) }
    }

    fn next(&self) -> Option<&'p Program> {
        self.programs.get(self.taken.fetch_add(1, Ordering::Relaxed)).copied()
    }
}

/// Programs at once that compute. Some of their tests are one long thread, or wait after all: beside them another has a
/// processor.
const COMPUTING_AT_ONCE: usize = 2;

/// Runs the programs that share the host: those that wait one after the other, and beside them some of those that
/// compute.
pub(crate) fn run(programs: &[Program], tally: &mut Tally) -> Result<(), Failure> {
    let (waiting, computing) =
        (Queue::of(Kind::Waiting, programs), Queue::of(Kind::Computing, programs));
    let lanes: Vec<&Queue<'_>> =
        iter::once(&waiting).chain(iter::repeat_n(&computing, COMPUTING_AT_ONCE)).collect();
    run_lanes(&lanes, tally)
}

/// Runs the programs that need the host for themselves, one after the other.
pub(crate) fn run_alone(programs: &[Program], tally: &mut Tally) -> Result<(), Failure> {
    run_lanes(&[&Queue::of(Kind::Alone, programs)], tally)
}

fn run_lanes(lanes: &[&Queue<'_>], tally: &mut Tally) -> Result<(), Failure> {
    let (sender, ended) = mpsc::channel();
    thread::scope(|scope| {
        for lane in lanes {
            let sender = sender.clone();
            scope.spawn(move || {
                while let Some(program) = lane.next() {
                    // The receiver takes everything until all lanes have ended.
                    let _ = sender.send(program.run());
                }
            });
        }
        drop(sender);
        let mut failed = Vec::new();
        for Ended { name, seconds, output, tally: own, outcome } in ended {
            let processor = own.processor().as_secs_f64();
            println!("-- {name}: {seconds:.1} s, {processor:.1} s of processor time");
            print!("{output}");
            tally.add(own);
            if let Err(failure) = outcome {
                println!("-- {name}: {failure}");
                failed.push(name);
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        Err(Failure::Work(format!("tests failed in {}", failed.join(", "))))
    })
}

impl Program {
    fn run(&self) -> Ended {
        let start = Instant::now();
        let mut tally = Tally::default();
        let mut output = String::new();
        let mut command = Command::new(&self.path);
        // As `cargo test` runs it.
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        if self.kind == Kind::Waiting {
            let processors = thread::available_parallelism().map_or(1, usize::from);
            command.arg(format!("--test-threads={}", processors * WAITING_PER_PROCESSOR));
        }
        let mut show = |line: &str| {
            output.push_str(line);
            output.push('\n');
        };
        let outcome = tally::run_tests(&mut command, &mut tally, &mut show);
        let seconds = start.elapsed().as_secs_f64();
        Ended { name: self.name.clone(), seconds, output, tally, outcome }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn programs_are_told_from_other_artifacts() {
        let message = |kind: &str, manifest: &str, test: bool| {
            json!({
                "executable": "/t/a", "profile": {"test": test}, "manifest_path": manifest,
                "target": {"kind": [kind], "name": "a"},
            })
        };
        let of = |message: &Value| program_of(message, Path::new("/p"));
        let alone = json!({
            "executable": "/t/b", "profile": {"test": true}, "manifest_path": "/p/Cargo.toml",
            "target": {"kind": ["test"], "name": "planted"},
        });
        assert_eq!(of(&alone).expect("a program").kind, Kind::Alone);
        let outside = of(&message("test", "/p/Cargo.toml", true)).expect("a program");
        assert_eq!((outside.kind, &*outside.name), (Kind::Waiting, "p/a"));
        let inside = of(&message("lib", "/p/crates/wire/Cargo.toml", true)).expect("a program");
        assert_eq!((inside.kind, &*inside.name), (Kind::Computing, "wire/a"));
        assert_eq!(inside.folder, Path::new("/p/crates/wire"));
        assert_eq!(of(&message("bin", "/p/Cargo.toml", false)), None);
        assert_eq!(of(&json!({"reason": "build-finished"})), None);
    }
}
