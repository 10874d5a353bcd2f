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
    /// The instructions that each function executed itself; inlined ones count for the function they went into.
    pub(crate) of_functions: BTreeMap<String, u64>,
    /// How often instructions of each line of code (64 bytes, as caches hold them) were executed.
    pub(crate) of_lines: BTreeMap<u64, u64>,
}

/// Bytes of a line of code, as a power of two.
const LINE_BITS: u32 = 6;

/// Counts the instructions of a program with these words.
pub(crate) fn count(program: &Path, words: &[String], folder: &Path) -> Result<Counts, Failure> {
    let place = folder.join("callgrind.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--dump-instr=yes"])
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
    let mut address = 0;
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
        } else if line.starts_with(|first: char| "0123456789+-*".contains(first)) {
            let mut words = line.split_whitespace();
            address = position(words.next()?, address)?;
            if std::mem::take(&mut is_of_a_call) {
                continue;
            }
            let cost: u64 = words.nth(1)?.parse().ok()?;
            *counts.of_lines.entry(address >> LINE_BITS).or_default() += cost;
            *counts.of_functions.entry(function.to_owned()).or_default() += cost;
            sum += cost;
        }
    }
    (counts.total > 0 && sum == counts.total).then_some(counts)
}

/// The address of an instruction: itself, the same as the last one, or so much away from that.
fn position(text: &str, last: u64) -> Option<u64> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    match text.split_at_checked(1)? {
        ("*", "") => Some(last),
        ("+", more) => last.checked_add(number(more)?),
        ("-", less) => last.checked_sub(number(less)?),
        _ => number(text),
    }
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
    /// The instructions that this run executed more than a shorter one, for each of so many requests.
    pub(crate) fn per_request(&self, shorter: &Counts, requests: u64) -> Shares {
        let share = |more: u64, less: u64| (more as f64 - less as f64) / requests as f64;
        let less = |name: &str| shorter.of_functions.get(name).copied().unwrap_or(0);
        let of_functions = self
            .of_functions
            .iter()
            .map(|(name, count)| (name.clone(), share(*count, less(name))))
            .collect();
        // A line that each request comes to is executed by each further one. What the start-up does may differ between
        // two runs, either way.
        let less = |line: &u64| shorter.of_lines.get(line).copied().unwrap_or(0);
        let is_of_each =
            |(line, count): &(&u64, &u64)| count.saturating_sub(less(line)) >= requests;
        let lines = self.of_lines.iter().filter(is_of_each).count();
        Shares { total: share(self.total, shorter.total), lines: lines as f64, of_functions }
    }
}

/// Instructions of one request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Shares {
    pub(crate) total: f64,
    /// Lines of code that every request executes something of.
    pub(crate) lines: f64,
    pub(crate) of_functions: BTreeMap<String, f64>,
}

/// The instructions that a function executes itself for a request, with our service and with one that does nothing.
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
    const PROFILE: &str = "version: 1\npositions: instr line\nevents: Ir\nsummary: 30\n\n\
        fl=(1) main.rs\nfn=(1) main\n0x100 16 4\ncfn=(2) work\ncalls=2 0x200 50\n+4 16 20\n+4 +1 6\n\n\
        fn=(2)\n0x200 51 8\n* * 2\nfi=(2) inlined.rs\n+64 -9 5\nfe=(1)\n-68 52 5\n\ntotals: 30\n";

    #[test]
    fn self_instructions_are_counted_once() {
        let counts = read(PROFILE).expect("a profile");
        assert_eq!(counts.total, 30);
        assert_eq!(counts.of_functions["main"], 10);
        assert_eq!(counts.of_functions["work"], 20);
        let lines = [(0x100 >> 6, 10), ((0x200 >> 6) - 1, 5), (0x200 >> 6, 10), (0x240 >> 6, 5)];
        assert_eq!(counts.of_lines, lines.into());
    }

    #[test]
    fn a_profile_whose_parts_are_not_its_sum_is_refused() {
        assert_eq!(read(&PROFILE.replace("+1 6\n", "+1 7\n")), None);
        assert_eq!(read("no profile"), None);
    }

    #[test]
    fn a_request_is_the_difference_of_two_runs() {
        let run = |main: u64, work: u64| Counts {
            total: main + work,
            of_functions: [("main".to_owned(), main), ("work".to_owned(), work)].into(),
            of_lines: [(1, main), (2, work)].into(),
        };
        let shares = run(100, 460).per_request(&run(100, 260), 20);
        assert_eq!(shares.total, 10.0);
        assert_eq!(shares.lines, 1.0, "the other line is of the start-up");
        let work = Function { name: "work", ours: 10.0, twin: 0.0 };
        assert_eq!(greatest(&shares, &Shares::default(), 1), [work]);
        // A function that the twin executes as well comes last.
        assert_eq!(greatest(&shares, &shares, 5)[1], Function { twin: 10.0, ..work });
    }
}
