//! `tune ladder`: steps of the host and of a server's command line, measured one by one.
//!
//! Owns its flags, and its progress output. The crate `tune` owns the order of steps; `bench`
//! measures.

use std::path::PathBuf;
use std::time::Duration;

use ::bench::plan::LoadPlan;
use ::bench::report::{Ended, Report, to_pretty_json};
use ::bench::run::{Interrupts, RunError, requests};
use ::tune::ladder::{
    ClimbError, CommandLineError, HostState, LadderReport, LadderServer, Rung, RungChange,
    ServerError, StateOutcome, Title, climb, command_line, write_html, write_text,
};
use ::tune::limits::LADDER_ROUNDS;
use clap::Args;

use super::changing::{Wanted, planned};
use super::place::{STATE, journal};
use crate::Failure;
use crate::bench::flags::{Load, Surroundings};
use crate::bench::page;
use crate::bench::screen::Screen;
use crate::bench::timing::RateFlag;
use crate::output::{FormFlag, complain, print_report};

const EXAMPLES: &str = "Examples:
  velodrome tune ladder http://127.0.0.1:8080/ --server 'velodrome serve site --schedulers=1' \\
      --step 'two schedulers: --schedulers=2' --step 'not pinned: --no-pin' --html ladder.html
  velodrome tune ladder 127.0.0.1:80 --server \"nginx -g 'daemon off;'\" --only stack.netfilter
  velodrome tune ladder 127.0.0.1:8080 --server './server' --step 'pinned: taskset -c 0 {}' --no-host

A step NAME: FLAGS changes the server's command line: `--name=value` replaces the same flag, \
other words are appended; {} stands for the command so far. Steps of the command come first, then \
those of the host in the order of `tune plan`. A step without a gain is reverted before the next \
one. At the end the host is restored, unless --keep. After `kill -9`: velodrome tune revert all.
Exit status: 0 done, 1 failed, 2 wrong usage, 3 no run of the baseline is valid, or stopped.";

/// The default duration of a run.
const DURATION: Duration = Duration::from_secs(2);

/// Most reasons that are printed for an invalid baseline: most differ only in their numbers.
const REASONS: usize = 5;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Ladder {
    /// The URL to request.
    url: String,
    /// The server's command line, quoted as for a shell. It is started for each run and must stay in the foreground.
    #[arg(long, value_name = "COMMAND")]
    server: String,
    /// A change of the server's command line, as a step. May be repeated.
    #[arg(long = "step", value_name = "NAME: FLAGS")]
    steps: Vec<String>,
    /// Of the steps of the host, only this one. May be repeated.
    #[arg(long, value_name = "CHECK", conflicts_with = "no_host")]
    only: Vec<String>,
    /// Try no steps of the host.
    #[arg(long)]
    no_host: bool,
    /// Also try steps of the host that may interrupt traffic (3) or weaken security (4). Name each level; separate both
    /// with a comma.
    #[arg(long, value_name = "RISK", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..=4))]
    allow: Vec<u8>,
    /// Runs per side of each comparison.
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: u32,
    /// Leave kept steps in place; `velodrome tune revert all` reverts them.
    #[arg(long)]
    keep: bool,
    /// The directory of the journal.
    #[arg(long, value_name = "DIR", default_value = STATE)]
    state: PathBuf,
    /// Requests per second, as in `bench http` [default: as fast as answers arrive].
    #[arg(long, value_name = "R[:B][@TIME,...]", help_heading = "Load")]
    rate: Option<RateFlag>,
    #[command(flatten)]
    load: Load,
    #[command(flatten)]
    place: Surroundings,
    #[command(flatten, next_help_heading = "Output")]
    output: FormFlag,
    /// Write an HTML page with the staircase.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
}

pub(super) fn run(asked: &Ladder) -> Result<(), Failure> {
    if asked.load.runs != 1 {
        return Err(wrong("--runs: on a ladder a round is a run; say --rounds"));
    }
    if asked.place.server_pid.is_some() {
        return Err(wrong("--server-pid: the ladder starts the server itself, for each run anew"));
    }
    if !(1..=LADDER_ROUNDS).contains(&asked.rounds) {
        let text = format!("--rounds {}: choose from 1 to {LADDER_ROUNDS}", asked.rounds);
        return Err(wrong(&text));
    }
    asked.html.as_deref().map_or(Ok(()), |file| page::check("--html", file))?;
    let place = &asked.place;
    let rate = asked.rate.as_ref();
    let load = crate::bench::plan::ladder(&asked.url, rate, &asked.load, place, DURATION)?;
    if !load.peers.iter().all(|peer| peer.address.is_local()) {
        return Err(wrong("the ladder starts the server itself: its address is on this host"));
    }
    command_line(&asked.server, []).map_err(|error| wrong(&format!("--server: {error}")))?;
    let rungs = rungs(asked)?;
    let is_of_host = |rung: &Rung| matches!(rung.what, RungChange::Host(_));
    let journal = match rungs.iter().any(is_of_host) {
        true => Some(journal("/".as_ref(), &asked.state)?),
        false => None,
    };
    let mut climber = Climber {
        asked,
        load,
        // Before the host is changed, so that an interrupted ladder is reverted.
        interrupts: Interrupts::block(),
        host: HostState::new("/".as_ref(), journal),
        rungs: &rungs,
    };
    let title = Title { command: std::env::args().collect(), server: asked.server.clone() };
    let climbed = climb(&rungs, asked.rounds, title, |state, label| climber.once(state, label));
    let report = climbed.map_err(failure)?;
    if asked.keep && report.ended == Ended::Complete {
        climber.keep(&report)?;
    } else {
        drop(climber);
    }
    deliver(&report, asked)
}

fn wrong(text: &str) -> Failure {
    Failure::WrongUse(text.to_owned())
}

/// The steps in order: those of the command, then those of the host.
fn rungs(asked: &Ladder) -> Result<Vec<Rung>, Failure> {
    let of_words = |text: &String| {
        Rung::of_words(text).map_err(|error| wrong(&format!("--step {text}: {error}")))
    };
    let mut rungs = asked.steps.iter().map(of_words).collect::<Result<Vec<_>, _>>()?;
    if !asked.no_host {
        let plan = planned(&Wanted::of_host(&asked.allow))?;
        for name in &asked.only {
            if !plan.steps.iter().any(|step| step.check.id == name) {
                let text = format!("--only {name}: it is no step of velodrome tune plan here");
                return Err(wrong(&text));
            }
        }
        let is_meant = |id: &str| asked.only.is_empty() || asked.only.iter().any(|one| one == id);
        let steps = plan.steps.into_iter().filter(|step| is_meant(step.check.id));
        rungs.extend(steps.map(Rung::of_host));
    }
    for (place, rung) in rungs.iter().enumerate() {
        if rungs[..place].iter().any(|other| other.name == rung.name) {
            return Err(wrong(&format!("two steps are called `{}`", rung.name)));
        }
    }
    match rungs.is_empty() {
        true => Err(wrong("there is no step: say --step 'NAME: FLAGS'; the host has none either")),
        false => Ok(rungs),
    }
}

fn failure(error: ClimbError<Failure>) -> Failure {
    match error {
        ClimbError::Measure(failure) => failure,
        ClimbError::Baseline(why) => Failure::Failed(why),
        ClimbError::Invalid(reasons) => {
            complain("no run of the baseline is valid:");
            reasons.iter().take(REASONS).for_each(|reason| complain(&format!("  {reason}")));
            if let Some(more) = reasons.len().checked_sub(REASONS).filter(|more| *more > 0) {
                complain(&format!("  and {more} more of that kind"));
            }
            Failure::Invalid
        }
        ClimbError::Stopped => {
            complain("stopped before the baseline was known");
            Failure::Invalid
        }
    }
}

/// Sets up states and measures in them.
struct Climber<'a> {
    asked: &'a Ladder,
    load: LoadPlan,
    interrupts: Interrupts,
    host: HostState,
    rungs: &'a [Rung],
}

impl Climber<'_> {
    /// One run in the state with these steps.
    fn once(&mut self, state: &[usize], label: &str) -> Result<StateOutcome, Failure> {
        let rungs = || state.iter().map(|place| &self.rungs[*place]);
        let set = self.host.set(rungs());
        if let Err(why) = set.map_err(Failure::failed)? {
            return Ok(StateOutcome::Refused(why));
        }
        let command = command_line(&self.asked.server, rungs())
            .map_err(|error: CommandLineError| wrong(&error.to_string()))?;
        let address = &self.load.peers[0].address;
        let server = match LadderServer::start(&command, address, &self.interrupts) {
            Ok(server) => server,
            Err(ServerError::Stopped) => return Ok(StateOutcome::Stopped),
            Err(error @ ServerError::Taken(_)) => return Err(Failure::Failed(error.to_string())),
            Err(error) => return Ok(StateOutcome::Refused(error.to_string())),
        };
        let report = self.measure(label).map_err(Failure::failed);
        drop(server);
        report.map(|report| StateOutcome::Measured(Box::new(report)))
    }

    fn measure(&self, label: &str) -> Result<Report, RunError> {
        let mut screen = Screen::new(label);
        let words = std::env::args().collect();
        let report = requests(&self.load, words, |moment| screen.show(moment));
        screen.close();
        report
    }

    /// Applies the host's steps that were kept, and leaves them in force.
    fn keep(mut self, report: &LadderReport) -> Result<(), Failure> {
        let is_kept = |rung: &&Rung| {
            report.steps.iter().any(|step| {
                step.name == rung.name && step.conclusion == ::tune::ladder::Conclusion::Kept
            })
        };
        let set = self.host.set(self.rungs.iter().filter(is_kept));
        match set.map_err(Failure::failed)? {
            Ok(()) => self.host.keep(),
            Err(why) => return Err(Failure::Failed(why)),
        }
        Ok(())
    }
}

fn deliver(report: &LadderReport, asked: &Ladder) -> Result<(), Failure> {
    let written =
        asked.html.as_deref().map(|path| page::write("--html", path, &write_html(report)));
    let form = asked.output.form();
    print_report(form, || to_pretty_json(report), |text| write_text(report, text))?;
    written.unwrap_or(Ok(()))?;
    if report.ended == Ended::Complete { Ok(()) } else { Err(Failure::Invalid) }
}
