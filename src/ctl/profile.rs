//! `velodrome ctl profile`: where a running server spends its time, from the samples that it keeps of itself.
//!
//! Owns its flags and the question. `profiled` writes the result.

use std::time::Duration;

use ::profile::{CountUnit, FoldedFile};
use clap::Args;

use super::way::Way;
use crate::Failure;
use crate::duration::duration;
use crate::profiled::{self, Outputs, Told};

/// Seconds of a profile for which no time was given.
const SECONDS: u64 = 10;

#[derive(Clone, Debug, Args)]
pub(super) struct Profile {
    /// The last part of what the server keeps with --profile-ring, such as 2m. Without this and --event: the last 10 s,
    /// or the next 10 s of a server that keeps nothing.
    #[arg(long, value_name = "TIME", value_parser = whole_seconds, conflicts_with = "event")]
    last: Option<u64>,
    /// The minute around an event, by its number in `velodrome ctl events`.
    #[arg(long, value_name = "NUMBER")]
    event: Option<u64>,
    #[command(flatten)]
    outputs: Outputs,
}

fn whole_seconds(text: &str) -> Result<u64, String> {
    let time = duration(text).map_err(|error| error.to_string())?;
    let range = Duration::from_secs(1)..=server::limits::PROFILE_RING_MAX;
    if range.contains(&time) { Ok(time.as_secs()) } else { Err("from 1s to 1h".to_owned()) }
}

pub(super) fn run(way: &Way, flags: &Profile) -> Result<(), Failure> {
    let query = match (flags.last, flags.event) {
        (Some(seconds), _) => format!("last={seconds}"),
        (None, Some(event)) => format!("event={event}"),
        (None, None) => format!("seconds={SECONDS}"),
    };
    let (told, hertz) = ask(way, &query)?;
    profiled::write(&told, &flags.outputs, hertz)
}

/// Asks for a profile. Returns it with its samples per second.
pub(crate) fn ask(way: &Way, query: &str) -> Result<(Told, u64), Failure> {
    let mut answer = String::new();
    way.follow(&format!("/profile?{query}"), super::way::PATIENCE, &mut |line| {
        answer.push_str(line);
        Ok::<(), Failure>(())
    })?;
    let live::Profile { title, hertz, remarks, folded } = super::read(super::parse(&answer)?)?;
    match FoldedFile::read(folded.as_bytes()) {
        Ok(FoldedFile::Profile(folded)) => {
            Ok((Told { remarks, ..Told::of(folded, CountUnit::Samples, title) }, hertz))
        }
        _ => Err(Failure::Failed("the server answered with no folded stacks".to_owned())),
    }
}
