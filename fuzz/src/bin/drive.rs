//! The stable driver: mutated inputs for every check, for a time, without libFuzzer.
//!
//! Prints its seed first. A failing input is shrunk, saved in `artifacts` and printed with the command that
//! repeats it. Inputs in `regressions` failed once and are run before all others.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printed lines are what this tool is for"
)]

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use checks::{TARGETS, Target, mutation};
use sys::accounting::thread_cpu_ns;

/// Runs between two readings of the clock.
const RUNS_PER_LOOK: u64 = 64;

/// Milliseconds of CPU time that a single run may take; a slower one is a failure as well.
const RUN_LIMIT_MS: u64 = 1_000;

/// How much longer a target runs whose code has changed.
const CHANGED_SHARE: u32 = 5;

struct Order {
    targets: Vec<Target>,
    seconds: u64,
    /// Files that have changed, if only these matter.
    changed: Vec<String>,
    seed: u64,
    replay: Option<PathBuf>,
    write_seeds: Option<PathBuf>,
}

fn main() -> ExitCode {
    let outcome = read_order().and_then(|order| run(&order));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("drive: {message}");
            ExitCode::FAILURE
        }
    }
}

fn read_order() -> Result<Order, String> {
    let mut order = Order {
        targets: Vec::new(),
        seconds: 60,
        changed: Vec::new(),
        seed: fresh_seed(),
        replay: None,
        write_seeds: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
        match word.as_str() {
            "--seconds" => order.seconds = number(value()?)?,
            "--changed" => order.changed = value()?.split(',').map(str::to_owned).collect(),
            "--seed" => order.seed = number(value()?)?,
            "--replay" => order.replay = Some(value()?.into()),
            "--write-seeds" => order.write_seeds = Some(value()?.into()),
            name => match TARGETS.iter().find(|target| target.name == name) {
                Some(target) => order.targets.push(*target),
                None => return Err(format!("there is no target `{name}`")),
            },
        }
    }
    if order.targets.is_empty() {
        order.targets = TARGETS.to_vec();
    }
    Ok(order)
}

fn run(order: &Order) -> Result<(), String> {
    if let Some(folder) = &order.write_seeds {
        return write_seeds(&order.targets, folder);
    }
    if let Some(path) = &order.replay {
        let data = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        // The panic is not caught: it is what this command is for.
        order.targets.iter().for_each(|target| (target.check)(&data));
        return Ok(());
    }
    println!("seed {}", order.seed);
    let share =
        Duration::from_secs(order.seconds) / u32::try_from(order.targets.len()).unwrap_or(1);
    let share_of = |target: &Target| {
        let is_changed = |path: &str| order.changed.iter().any(|file| file.starts_with(path));
        let factor =
            if target.covers.iter().any(|path| is_changed(path)) { CHANGED_SHARE } else { 1 };
        share * factor
    };
    // Each thread takes the next target; after a failure none is begun.
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(target) = order.targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(failure) = drive(target, order.seed, share_of(target)) {
                next.store(order.targets.len(), Ordering::Relaxed);
                return Err(failure);
            }
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| {
            worker.join().unwrap_or_else(|_| Err("a thread of the driver panicked".to_owned()))
        });
        ended.fold(Ok(()), Result::and)
    })
}

fn drive(target: &Target, seed: u64, share: Duration) -> Result<(), String> {
    for path in regressions(target) {
        let data = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        if fails(target, &data) {
            let path = path.display();
            return Err(format!("{}: the regression {path} is back", target.name));
        }
    }
    let start = now();
    let mut run = 0;
    while start.elapsed() < share {
        for _ in 0..RUNS_PER_LOOK {
            let data = mutation::input(target, seed, run);
            let run_start_ns = thread_cpu_ns();
            if fails(target, &data) {
                return Err(report(target, seed, run, &data));
            }
            let took_ms = (thread_cpu_ns() - run_start_ns) / 1_000_000;
            if took_ms > RUN_LIMIT_MS {
                let path = keep(target, seed, run, &data);
                return Err(format!(
                    "{}: run {run} of seed {seed} took {took_ms} ms; {path}",
                    target.name
                ));
            }
            run += 1;
        }
    }
    println!("{:>14}: {run} runs in {:.1} s", target.name, start.elapsed().as_secs_f64());
    Ok(())
}

fn fails(target: &Target, data: &[u8]) -> bool {
    std::panic::catch_unwind(|| (target.check)(data)).is_err()
}

/// Shrinks a failing input, saves it, and returns how to repeat it.
fn report(target: &Target, seed: u64, run: u64, data: &[u8]) -> String {
    // Shrinking fails on purpose, thousands of times; the first message is enough.
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let short = mutation::shrink(data, |data| fails(target, data));
    std::panic::set_hook(loud);
    let place = keep(target, seed, run, &short);
    format!(
        "{}: run {run} of seed {seed} fails on {} bytes: b\"{}\"\n  {place}\n  repeat: cargo xtask fuzz {} \
         --replay FILE",
        target.name,
        short.len(),
        short.escape_ascii(),
        target.name,
    )
}

fn keep(target: &Target, seed: u64, run: u64, data: &[u8]) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts").join(target.name);
    let path = folder.join(format!("{seed}-{run}"));
    match std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, data)) {
        Ok(()) => format!("kept in {}", path.display()),
        Err(error) => format!("not kept: {error}"),
    }
}

fn regressions(target: &Target) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(target.name);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort();
    paths
}

/// Writes the seeds as files, from which libFuzzer starts.
fn write_seeds(targets: &[Target], folder: &Path) -> Result<(), String> {
    for target in targets {
        let folder = folder.join(target.name);
        let written = std::fs::create_dir_all(&folder).and_then(|()| {
            let mut seeds = target.seeds.iter().enumerate();
            seeds.try_for_each(|(index, seed)| {
                std::fs::write(folder.join(format!("seed-{index}")), seed)
            })
        });
        written.map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a driver measures wall time; it has no turns")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "a seed nobody chose; it is printed")]
fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(since.subsec_nanos()) ^ (since.as_secs() << 20)
}
