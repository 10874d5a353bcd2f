//! What the verbs have in common: the flags of a comparison, the cores that it takes place on, and the report of it.
//!
//! Owns what all reports hold. Never measures.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::bench::host::{self, Cores};
use crate::bench::report::Comparison;
use crate::failure::Failure;
use crate::workspace;

/// The flags of a comparison.
pub(crate) struct Settings {
    pub(crate) rounds: u64,
    pub(crate) duration: Duration,
    /// The names after `--only`.
    pub(crate) only: Vec<String>,
}

impl Settings {
    /// Takes `--rounds`, `--seconds` and `--only`; without them so many rounds of so many seconds.
    pub(crate) fn take(
        arguments: &mut Arguments,
        rounds: u64,
        seconds: u64,
    ) -> Result<Settings, Failure> {
        let rounds = arguments.take_number("--rounds")?.unwrap_or(rounds).max(1);
        let seconds = arguments.take_number("--seconds")?.unwrap_or(seconds).max(1);
        let only = arguments.take_list("--only")?;
        Ok(Settings { rounds, duration: Duration::from_secs(seconds), only })
    }
}

/// Where and how often the contenders of all comparisons of a verb are measured.
pub(crate) struct Run {
    pub(crate) rounds: u64,
    pub(crate) duration: Duration,
    pub(crate) cores: Cores,
    pub(crate) descriptors: u64,
    facts: Value,
}

impl Run {
    /// Moves this process to the core of the load. Builds come before, because they may use every core.
    pub(crate) fn begin(settings: &Settings) -> Result<Run, Failure> {
        let cores = Cores::take()?;
        let descriptors = host::raise_descriptor_limit();
        // Read before the load, so that the load average shows what else ran.
        let facts = host::facts(&cores, descriptors);
        let Settings { rounds, duration, .. } = *settings;
        Ok(Run { rounds, duration, cores, descriptors, facts })
    }
}

/// What a verb prints, as it is written in the end.
pub(crate) struct Report {
    /// The name of the bench.
    bench: String,
    /// Where it is written besides the target folder.
    place: Option<PathBuf>,
    text: String,
    value: Value,
    /// The comparisons so far.
    outcomes: Vec<Value>,
}

impl Report {
    /// Takes `--report`.
    pub(crate) fn take(bench: &str, arguments: &mut Arguments) -> Result<Report, Failure> {
        let place = arguments.take_value("--report")?.map(PathBuf::from);
        let (bench, text) = (bench.to_owned(), String::new());
        Ok(Report { bench, place, text, value: json!({}), outcomes: Vec::new() })
    }

    /// Prints and keeps a text.
    pub(crate) fn say(&mut self, text: &str) {
        print!("{text}");
        self.text.push_str(text);
    }

    /// Keeps a fact for the report as JSON.
    pub(crate) fn note(&mut self, name: &str, value: impl Into<Value>) {
        self.value[name] = value.into();
    }

    /// Keeps the command of the verb and these words.
    pub(crate) fn note_command(&mut self, words: &[String]) -> String {
        let command = format!("cargo xtask bench {}", words.join(" "));
        self.note("command", command.as_str());
        command
    }

    /// The command, where what of it runs, the order of the contenders, and the host: without them a table means
    /// nothing.
    pub(crate) fn begin(
        &mut self,
        words: &[String],
        run: &Run,
        [server, load]: [&str; 2],
        order: &str,
    ) {
        let command = self.note_command(words);
        let (seconds, Cores { server: first, load: second }) = (run.duration.as_secs(), run.cores);
        self.say(&format!(
            "{command}\n{server} on core {first}, {load} on core {second}; {} rounds of {seconds} s{order}\n{}\n",
            run.rounds,
            host::text(&run.facts)
        ));
        self.note("host", run.facts.clone());
        self.note("rounds", run.rounds);
        self.note("seconds", seconds);
    }

    /// A comparison that is over.
    pub(crate) fn add(&mut self, outcome: &Comparison) {
        self.say(&(outcome.table() + "\n"));
        self.outcomes.push(outcome.to_json());
    }

    /// Writes it as JSON below the target folder, and to the requested file: as JSON if its name ends with `.json`,
    /// otherwise as text.
    pub(crate) fn write(mut self) -> Result<(), Failure> {
        if !self.outcomes.is_empty() {
            self.value["workloads"] = std::mem::take(&mut self.outcomes).into();
        }
        let folder = workspace::target_folder()?.join("bench");
        std::fs::create_dir_all(&folder)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let place = folder.join(format!("{}-{}.json", self.bench, since.as_secs()));
        let value = serde_json::to_string_pretty(&self.value)
            .map_err(|error| Failure::Work(format!("the report: {error}")))?;
        std::fs::write(&place, &value)?;
        println!("report: {}", place.strip_prefix(workspace::root()).unwrap_or(&place).display());
        if let Some(wanted) = self.place {
            let is_json = wanted.extension().is_some_and(|extension| extension == "json");
            std::fs::write(&wanted, if is_json { value } else { self.text })
                .map_err(|error| Failure::Work(format!("{}: {error}", wanted.display())))?;
            println!("report: {}", wanted.display());
        }
        Ok(())
    }
}
