//! `cargo xtask bench parser`: our parsers against httparse, nanoseconds for a request head and for a response.
//!
//! Owns the tables. The timing is in `parse_heads.rs` and `read_responses.rs` of `crates/wire/examples`, whose
//! lines are read here.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::bench::{host, report};
use crate::failure::Failure;
use crate::workspace;

/// The programs that time, and what of.
const PROGRAMS: [(&str, &str); 2] =
    [("parse_heads", "a request head"), ("read_responses", "a response (httparse: its head)")];

/// What one parser took for one message: median, least and most nanoseconds of the rounds.
#[derive(Debug, Clone, PartialEq)]
struct Timing {
    message: String,
    bytes: u64,
    parser: String,
    nanoseconds: [f64; 3],
}

/// Runs the verb.
pub(crate) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let place = arguments.take_value("--report")?.map(PathBuf::from);
    arguments.finish()?;
    for (name, _) in PROGRAMS {
        workspace::build_release(&["--package", "velodrome-wire", "--example", name])?;
    }
    let cores = host::Cores::take()?;
    let facts = host::facts(&cores, host::raise_descriptor_limit());
    let mut text =
        format!("cargo xtask bench parser; on core {}\n{}\n", cores.load, host::text(&facts));
    let mut timings = Vec::new();
    for (name, subject) in PROGRAMS {
        let own = time(name)?;
        text.push_str(&format!("\nnanoseconds for {subject}\n{}", table(&own)));
        timings.extend(own);
    }
    print!("{text}");
    report::write(
        "parser",
        place.as_deref(),
        &text,
        &json!({
            "host": facts,
            "messages": timings.iter().map(to_json).collect::<Vec<_>>(),
        }),
    )
}

fn time(name: &str) -> Result<Vec<Timing>, Failure> {
    let program = workspace::target_folder()?.join("release/examples").join(name);
    let output = Command::new(program).output()?;
    let timings = read(&String::from_utf8_lossy(&output.stdout));
    let timings = timings.filter(|timings| output.status.success() && !timings.is_empty());
    timings.ok_or_else(|| {
        let complaint = String::from_utf8_lossy(&output.stderr);
        Failure::Work(format!("{name} failed: {complaint}"))
    })
}

fn read(text: &str) -> Option<Vec<Timing>> {
    let timing = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [message, bytes, parser, median, least, most] = words[..] else { return None };
        let number = |word: &str| word.parse::<f64>().ok();
        Some(Timing {
            message: message.to_owned(),
            bytes: bytes.parse().ok()?,
            parser: parser.to_owned(),
            nanoseconds: [number(median)?, number(least)?, number(most)?],
        })
    };
    text.lines().map(timing).collect()
}

fn table(timings: &[Timing]) -> String {
    let heading = ["message", "bytes", "parser", "median", "min-max", "ours/httparse"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for timing in timings {
        let [median, least, most] = timing.nanoseconds;
        let rival = timings
            .iter()
            .find(|other| other.message == timing.message && other.parser == "httparse")
            .filter(|other| other.parser != timing.parser);
        rows.push(vec![
            timing.message.clone(),
            timing.bytes.to_string(),
            timing.parser.clone(),
            format!("{median:.1}"),
            format!("{least:.1}-{most:.1}"),
            rival.map_or(String::new(), |rival| format!("{:.2}", median / rival.nanoseconds[0])),
        ]);
    }
    report::aligned(&rows)
}

fn to_json(timing: &Timing) -> Value {
    let [median, least, most] = timing.nanoseconds;
    json!({
        "message": timing.message, "bytes": timing.bytes, "parser": timing.parser,
        "median_ns": median, "min_ns": least, "max_ns": most,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_compared() {
        let text = "wrk 44 ours 24.0 23.0 30.0\nwrk 44 httparse 30.0 29.0 31.5\n";
        let timings = read(text).expect("two lines");
        assert_eq!((timings.len(), timings[1].nanoseconds), (2, [30.0, 29.0, 31.5]));
        let table = table(&timings);
        let row: Vec<&str> = table.lines().nth(1).expect("a row").split_whitespace().collect();
        assert_eq!(row, ["wrk", "44", "ours", "24.0", "23.0-30.0", "0.80"]);
        assert!(read("panicked at").is_none());
    }
}
