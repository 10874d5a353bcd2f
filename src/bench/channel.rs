//! The verb `bench channel`: subscribers, a publisher, and the report of their deliveries.

use std::io::{IsTerminal, Write};

use bench::channel::{ChannelMoment, ChannelPace, ChannelPlan};
use bench::limits::{CHANNEL_MESSAGE_MAXIMUM, CHANNEL_MESSAGE_MINIMUM};

use super::flags::Channel;
use crate::Failure;
use crate::output::print_line;

/// Runs the verb.
pub(crate) fn run(flags: &Channel) -> Result<(), Failure> {
    let plan = plan(flags)?;
    let is_terminal = std::io::stderr().is_terminal();
    let result = bench::channel::run(&plan, |moment| {
        if is_terminal {
            show(moment);
        }
    });
    if is_terminal {
        // A progress line that cannot be cleared is not an error.
        let _wiped = write!(std::io::stderr(), "\r\u{1b}[K");
    }
    let report = result.map_err(|error| Failure::Failed(error.to_string()))?;
    if flags.form.json {
        print_line(&report.to_json())?;
    } else {
        let mut text = String::new();
        report.write_text(&mut text).expect("text can be appended to text");
        print_line(text.trim_end())?;
    }
    if report.valid { Ok(()) } else { Err(Failure::Invalid) }
}

fn plan(flags: &Channel) -> Result<ChannelPlan, Failure> {
    let range = CHANNEL_MESSAGE_MINIMUM..=CHANNEL_MESSAGE_MAXIMUM;
    if !range.contains(&flags.size) {
        let (least, most) = (range.start(), range.end());
        let text = format!("--size {}: choose from {least} to {most}", flags.size);
        return Err(Failure::WrongUse(text));
    }
    let pace = match flags.rate {
        Some(rate) if rate > 0.0 && rate.is_finite() => ChannelPace::Rate(rate),
        Some(rate) => {
            return Err(Failure::WrongUse(format!("--rate {rate}: choose more than 0")));
        }
        None => ChannelPace::AtOnce(flags.at_once.get()),
    };
    let messages = flags.messages.map_or(u64::MAX, std::num::NonZeroU64::get);
    Ok(ChannelPlan { plan: super::plan::channel(flags)?, pace, size: flags.size, messages })
}

fn show(moment: &ChannelMoment) {
    let ChannelMoment { open, wanted, published, received } = moment;
    let line =
        format!("{open} of {wanted} subscribers, {published} published, {received} received");
    // A progress line that cannot be drawn is not an error.
    let _shown = write!(std::io::stderr(), "\r{line}\u{1b}[K");
}
