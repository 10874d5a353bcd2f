//! Goal: `velodrome tune audit` names the cause why a real server on this host is slow first or second, and nothing
//! false where nothing is planted. Method: a server in C that does one thing wrong (`server.c`), or settings of a
//! network namespace and of control groups of its own, under load from the generator; the audit looks from outside.
//!
//! Alone on the host: other tests would be neighbours of each server. What other programs of the host do is no planted
//! cause, and is left out of the ranks.
//!
//! `PLANTED_LOSS=1 cargo test --test planted -- --nocapture` asserts nothing: it measures the requests per second of
//! each case without its cause and with it, for the table in `docs/tune.md`. `PLANTED_BUSY=1` also runs the cases while
//! other programs use the host.
#![expect(clippy::print_stdout, reason = "what is skipped has to be seen")]
#![expect(clippy::disallowed_types, reason = "a test has files and a lock of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod cases;
#[path = "../server/directory.rs"]
#[allow(dead_code, reason = "each program uses a part of it")]
mod directory;
#[path = "../server/patience.rs"]
#[allow(dead_code, reason = "each program uses a part of it")]
mod patience;

use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use cases::{Case, OF_CPUS, OF_PROGRAMS, OF_THE_NETWORK};
use directory::Directory;
use patience::pace;
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_velodrome");

/// Findings about other programs of the host, and about settings of the whole host: they are true, and not planted.
const OF_THE_HOST: [&str; 4] = ["env.neighbours", "env.steal", "env.disk", "cpu.mitigations"];

/// The server, built once.
fn server() -> Option<&'static Directory> {
    static BUILT: OnceLock<Option<Directory>> = OnceLock::new();
    let build = || {
        let place = Directory::new();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/planted/server.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-g", "-fno-omit-frame-pointer", "-pthread", "-o"]);
        let built = compiler.arg(place.join("server")).arg(source).status();
        built.is_ok_and(|status| status.success()).then_some(place)
    };
    BUILT.get_or_init(build).as_ref()
}

/// The reason why a case cannot be run here.
fn hindrance(case: &Case) -> Option<String> {
    let works = |words: &[&str]| {
        let output = Command::new(words[0]).args(&words[1..]).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !works(&["unshare", "--net", "--mount", "true"]) {
        return Some("no network namespace can be made here".to_owned());
    }
    if !works(&["taskset", "-c", "1", "true"]) {
        return Some("it needs a second CPU".to_owned());
    }
    if !std::path::Path::new(case.place).exists() {
        return Some(format!("{} is not there", case.place));
    }
    let is_missing =
        |name: &&&str| !works(&["sh", "-c", &format!("PATH=$PATH:/usr/sbin command -v {name}")]);
    case.needs.iter().find(is_missing).map(|name| format!("{name} is not installed"))
}

/// Runs the script of a case, with these variables.
fn script(case: &Case, place: &Directory, server: &Directory, set: &[(&str, &str)]) -> Output {
    let script = format!("{}\n{}\n", include_str!("prelude.sh"), case.script);
    let home = format!("/proc/{}/ns/net", std::process::id());
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "sh", "-c", &script]).current_dir(place.path());
    command.envs(set.iter().copied()).env("PROGRAM", PROGRAM).env("SERVER", server.join("server"));
    command.env("HOME_NETWORK", home).env("LOAD", case.load);
    command.env("PATH", format!("{path}:/usr/sbin:/sbin")).output().unwrap()
}

/// Ticks of all CPUs, and those in which one was idle.
fn ticks() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let line = text.lines().next().unwrap();
    let numbers: Vec<u64> =
        line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    (numbers.iter().take(8).sum(), numbers[3] + numbers[4])
}

/// How long the host is looked at, to see whether it is quiet.
const LOOK: Duration = Duration::from_millis(100);

/// Share of the CPUs that other programs may use.
const QUIET: f64 = 0.2;

/// Whether nobody else uses the host: a planted cause is one of several otherwise.
fn is_quiet() -> bool {
    if std::env::var_os("PLANTED_BUSY").is_some() {
        return true;
    }
    let before = ticks();
    // Not a wait for a condition: the share of this time is what is asked for.
    pace(LOOK);
    let now = ticks();
    let (all, idle) = (now.0 - before.0, now.1 - before.1);
    (all - idle) as f64 <= QUIET * all as f64
}

/// How many seconds an audit takes: half of one is enough for nearly all, unless other programs use the host.
const SHORT: &str = "0.5";

/// How many it takes when that did not name the cause.
const LONG: &str = "1";

/// Whether an audit of so many seconds names the cause first or second; what it says instead otherwise.
fn names(case: &Case, server: &Directory, length: &str) -> Result<(), String> {
    let place = Directory::new();
    let output = script(case, &place, server, &[("SECONDS_LONG", length)]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let report = serde_json::from_str::<Value>(&text)
        .map_err(|_| format!("{}: {text}{}", case.name, String::from_utf8_lossy(&output.stderr)))?;
    let costs = costs(&report, case);
    let rank = costs.iter().position(|(id, _)| case.named.contains(&&**id));
    let line = format!("planted {:28} {rank:?} in {length} s {}", case.name, told(&costs));
    println!("{line}");
    if matches!(rank, Some(0 | 1)) { Ok(()) } else { Err(line) }
}

/// Runs the cases; panics with those that were not named.
fn run(test: &str, cases: &[Case]) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(server) = server() else {
        println!("SKIPPED {test}: there is no C compiler");
        return;
    };
    let mut missed = Vec::new();
    for case in cases {
        let busy = || (!is_quiet()).then(|| "other programs use the host".to_owned());
        if let Some(why) = hindrance(case).or_else(busy) {
            println!("SKIPPED {test}, {}: {why}", case.name);
            continue;
        }
        if std::env::var_os("PLANTED_LOSS").is_some() {
            println!("{}", losses(case, server));
            continue;
        }
        let named = names(case, server, SHORT).or_else(|_| names(case, server, LONG));
        match named {
            Ok(()) => {}
            Err(_) if !is_quiet() => {
                println!(
                    "SKIPPED {test}, {}: other programs have begun to use the host",
                    case.name
                );
            }
            Err(line) => missed.push(line),
        }
    }
    assert!(missed.is_empty(), "not named first or second:\n{}", missed.join("\n"));
}

/// For how long requests are counted, and how often, in turn. The best of each counts: what else runs only slows them.
const MEASURED: &str = "2s";
const TURNS: usize = 3;

/// The requests per second of a case without its cause and with it, in a line.
fn losses(case: &Case, server: &Directory) -> String {
    let rate = |set: &[(&str, &str)]| {
        let place = Directory::new();
        let output = script(case, &place, server, set);
        String::from_utf8_lossy(&output.stdout).trim().parse::<f64>().unwrap_or(0.0)
    };
    let (mut without, mut with) = (0.0, 0.0);
    for _ in 0..TURNS {
        without = rate(&[("MEASURE", MEASURED), ("CLEAN", "1")]).max(without);
        with = rate(&[("MEASURE", MEASURED)]).max(with);
    }
    let lost = 100.0 * (1.0 - with / without);
    format!("loss {:32} {without:>8.0} -> {with:>8.0} {lost:>6.0} %", case.name)
}

/// The checks that cost, in their order, each with what was found; without what other programs of the host do.
fn costs(report: &Value, case: &Case) -> Vec<(String, String)> {
    let checks = report["checks"].as_array().unwrap().iter();
    let costly = checks.filter(|check| check["state"] == "seen" || check["state"] == "set");
    let text = |check: &Value| {
        let id = check["id"].as_str().unwrap().to_owned();
        let (price, found) = (&check["worth_range"], &check["found"]);
        (id, format!("{price} {}: {found}", check["price"]))
    };
    let is_meant =
        |(id, _): &(String, String)| !OF_THE_HOST.contains(&&**id) || case.named.contains(&&**id);
    costly.map(text).filter(is_meant).collect()
}

fn told(costs: &[(String, String)]) -> String {
    costs.iter().take(4).map(|(id, found)| format!("\n    {id} {found}")).collect()
}

#[test]
fn causes_in_the_network_are_named() {
    run("causes_in_the_network_are_named", OF_THE_NETWORK);
}

#[test]
fn causes_at_the_cpus_are_named() {
    run("causes_at_the_cpus_are_named", OF_CPUS);
}

#[test]
fn causes_in_programs_are_named() {
    run("causes_in_programs_are_named", OF_PROGRAMS);
}
