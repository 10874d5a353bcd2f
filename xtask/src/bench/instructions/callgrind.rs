//! Runs a program under callgrind and reads what each function executed itself.
//!
//! Owns the reading of callgrind's output format. Never divides by requests.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// Instructions of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) total: u64,
    /// What each function executed itself; what was inlined counts for the function it went into.
    pub(crate) of_functions: BTreeMap<String, u64>,
}

/// Counts the instructions of a program with these words.
pub(crate) fn count(program: &Path, words: &[String], folder: &Path) -> Result<Counts, Failure> {
    let place = folder.join("callgrind.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", place.display()))
        .arg(program)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::Work(format!("valgrind: {error}")))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let last = complaint.trim().lines().last().unwrap_or("it said nothing").to_owned();
        return Err(Failure::Work(last));
    }
    read(&std::fs::read_to_string(&place)?)
        .ok_or_else(|| Failure::Work(format!("{} is not understood", place.display())))
}

/// Reads a profile (callgrind's format specification, version 1).
fn read(text: &str) -> Option<Counts> {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut counts = Counts::default();
    let mut function = "";
    let mut sum = 0;
    let mut is_of_a_call = false;
    for line in text.lines() {
        if let Some(summary) = line.strip_prefix("summary:").or(line.strip_prefix("totals:")) {
            counts.total = summary.split_whitespace().next()?.parse().ok()?;
        } else if let Some(name) = line.strip_prefix("fn=") {
            function = resolve(name, &mut names)?;
        } else if let Some(name) = line.strip_prefix("cfn=") {
            resolve(name, &mut names)?;
        } else if line.starts_with("calls=") {
            // The line after it is what the callee cost, which the callee itself accounts for.
            is_of_a_call = true;
        } else if line.starts_with(|first: char| "0123456789+-*".contains(first))
            && !std::mem::take(&mut is_of_a_call)
        {
            let cost: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
            *counts.of_functions.entry(function.to_owned()).or_default() += cost;
            sum += cost;
        }
    }
    (counts.total > 0 && sum == counts.total).then_some(counts)
}

/// `(12) name` gives 12 its name, `(12)` alone means it, and a name without a number is itself.
fn resolve<'a>(text: &'a str, names: &mut BTreeMap<&'a str, &'a str>) -> Option<&'a str> {
    if !text.starts_with('(') {
        return Some(text);
    }
    let (number, name) = text.split_once(')')?;
    match name.trim_start() {
        "" => names.get(number).copied(),
        // Recursion levels and compiler suffixes are kept: they are other code.
        name => {
            names.insert(number, name);
            Some(name)
        }
    }
}

impl Counts {
    /// What this run executed more than a shorter one, for each of so many requests.
    pub(crate) fn per_request(&self, shorter: &Counts, requests: u64) -> Shares {
        let share = |more: u64, less: u64| (more as f64 - less as f64) / requests as f64;
        let less = |name: &str| shorter.of_functions.get(name).copied().unwrap_or(0);
        let of_functions = self
            .of_functions
            .iter()
            .map(|(name, count)| (name.clone(), share(*count, less(name))))
            .collect();
        Shares { total: share(self.total, shorter.total), of_functions }
    }
}

/// Instructions of one request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Shares {
    pub(crate) total: f64,
    pub(crate) of_functions: BTreeMap<String, f64>,
}

/// What a function executes itself for a request, with our service and with one that does nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) ours: f64,
    pub(crate) twin: f64,
}

/// The functions in which our service executes most beyond its twin, the greatest first.
pub(crate) fn greatest<'a>(ours: &'a Shares, twin: &Shares, count: usize) -> Vec<Function<'a>> {
    let of_twin = |name: &String| twin.of_functions.get(name).copied().unwrap_or(0.0);
    let all = ours.of_functions.iter();
    let mut all: Vec<Function<'_>> =
        all.map(|(name, ours)| Function { name, ours: *ours, twin: of_twin(name) }).collect();
    let beyond = |function: &Function<'_>| function.ours - function.twin;
    all.sort_by(|left, right| beyond(right).total_cmp(&beyond(left)));
    all.truncate(count);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two functions, `main` calling `work` twice; 30 instructions in all.
    const PROFILE: &str = "version: 1\npositions: line\nevents: Ir\nsummary: 30\n\n\
        fl=(1) main.rs\nfn=(1) main\n16 4\ncfn=(2) work\ncalls=2 50\n16 20\n+1 6\n\n\
        fn=(2)\n51 8\n* 2\nfi=(2) inlined.rs\n-9 5\nfe=(1)\n52 5\n\ntotals: 30\n";

    #[test]
    fn what_a_function_executes_itself_is_counted_once() {
        let counts = read(PROFILE).expect("a profile");
        assert_eq!(counts.total, 30);
        assert_eq!(counts.of_functions["main"], 10);
        assert_eq!(counts.of_functions["work"], 20);
    }

    #[test]
    fn a_profile_whose_parts_are_not_its_sum_is_refused() {
        assert_eq!(read(&PROFILE.replace("+1 6", "+1 7")), None);
        assert_eq!(read("no profile"), None);
    }

    #[test]
    fn a_request_is_the_difference_of_two_runs() {
        let run = |main: u64, work: u64| Counts {
            total: main + work,
            of_functions: [("main".to_owned(), main), ("work".to_owned(), work)].into(),
        };
        let shares = run(100, 460).per_request(&run(100, 260), 20);
        assert_eq!(shares.total, 10.0);
        let work = Function { name: "work", ours: 10.0, twin: 0.0 };
        assert_eq!(greatest(&shares, &Shares::default(), 1), [work]);
        // What the twin executes as well comes last.
        assert_eq!(greatest(&shares, &shares, 5)[1], Function { twin: 10.0, ..work });
    }
}
