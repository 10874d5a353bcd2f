//! The verb `bench channel`: subscribers, a publisher, and the report of their deliveries.

use std::io::{IsTerminal, Write};

use bench::agents::{AgentSession, Task};
use bench::channel::{
    Alone, ChannelMoment, ChannelOutcome, ChannelPace, ChannelPlan, ChannelReport, Conductor,
    ExpectedOrder, Part, Storm,
};
use bench::limits::{CHANNEL_ADDRESSES_MAXIMUM, CHANNEL_MESSAGE_MAXIMUM, CHANNEL_MESSAGE_MINIMUM};
use bench::run::Continuation;
use bench::tally::BlobError;

use super::agents;
use super::flags::{Channel, OrderFlag};
use super::part::{share, share_requests, stay_here};
use crate::Failure;
use crate::duration::duration;
use crate::output::print_report;

/// Runs the verb.
pub(crate) fn run(flags: &Channel) -> Result<(), Failure> {
    let report = if flags.agents.agents.is_empty() {
        let plan = plan(flags, Part::whole())?;
        let outcome = measure(&plan, &mut Alone)?;
        ChannelReport::of(&plan, vec![outcome], Vec::new())
    } else {
        coordinate(flags)?
    };
    deliver(report.map_err(Failure::failed)?, flags)
}

/// Has agents measure, each with its part of the subscribers.
fn coordinate(flags: &Channel) -> Result<Result<ChannelReport, BlobError>, Failure> {
    let mut team = agents::gather(&flags.agents)?;
    let generators = u32::try_from(team.size()).unwrap_or(u32::MAX);
    // This host opens no connection, so its limits need not allow all of them.
    let connections = flags.connections.div_ceil(generators.max(1));
    let part = Part { generators, ..Part::whole() };
    let plan = plan(&Channel { connections, ..flags.clone() }, part)?;
    team.prepare(&agents::words(), plan.part.run).map_err(Failure::failed)?;
    team.start();
    team.share_published(flags.duration);
    let mut outcomes = team.results::<ChannelOutcome>(flags.duration);
    for (outcome, offset_ns) in outcomes.iter_mut().zip(team.offsets_ns()) {
        if let Some(outcome) = outcome {
            outcome.shift(offset_ns);
        }
    }
    let done: Vec<u64> =
        outcomes.iter().map(|one| one.as_ref().map_or(0, ChannelOutcome::received)).collect();
    let agents = team.report(|at| (done.get(at).copied().unwrap_or(0), Vec::new()));
    Ok(ChannelReport::of(&plan, outcomes.into_iter().flatten().collect(), agents))
}

/// Measures the part of an agent.
pub(crate) fn measure_part(
    mut flags: Channel,
    task: &Task,
    session: &mut AgentSession,
) -> Result<(), Failure> {
    flags.connections = share(flags.connections, task)?;
    flags.rate = flags.rate.map(|rate| rate / f64::from(task.generators.max(1)));
    flags.churn = flags.churn.map(|rate| rate / f64::from(task.generators.max(1)));
    flags.messages = flags.messages.map(|count| share_requests(count, task)).transpose()?;
    stay_here(&mut flags.place);
    let Task { generator, generators, run, .. } = *task;
    let mut plan = plan(&flags, Part { generator, generators, run })?;
    plan.storm = plan.storm.map(|storm| storm.part(generator, generators));
    plan.plan.seed = plan.plan.seed.wrapping_add(u64::from(generator));
    let pulse = session.pulse().map_err(Failure::failed)?;
    let outcome = bench::channel::run(&plan, session, |_| {
        if pulse.is_lost() { Continuation::End } else { Continuation::GoOn }
    });
    let outcome = outcome.map_err(Failure::failed)?;
    session.finish(&outcome).map_err(Failure::failed)
}

fn measure(plan: &ChannelPlan, conductor: &mut dyn Conductor) -> Result<ChannelOutcome, Failure> {
    let is_terminal = std::io::stderr().is_terminal();
    let result = bench::channel::run(plan, conductor, |moment| {
        if is_terminal {
            show(moment);
        }
        Continuation::GoOn
    });
    if is_terminal {
        // A progress line that cannot be cleared is not an error.
        let _wiped = write!(std::io::stderr(), "\r\u{1b}[K");
    }
    result.map_err(Failure::failed)
}

/// Prints a report.
fn deliver(report: ChannelReport, flags: &Channel) -> Result<(), Failure> {
    print_report(flags.form.form(), || report.to_json(), |text| report.write_text(text))?;
    if report.valid { Ok(()) } else { Err(Failure::Invalid) }
}

fn wrong(text: String) -> Failure {
    Failure::WrongUse(text)
}

fn plan(flags: &Channel, part: Part) -> Result<ChannelPlan, Failure> {
    let range = CHANNEL_MESSAGE_MINIMUM..=CHANNEL_MESSAGE_MAXIMUM;
    if !range.contains(&flags.size) {
        let (least, most) = (range.start(), range.end());
        return Err(wrong(format!("--size {}: choose from {least} to {most}", flags.size)));
    }
    let urls = flags.urls.len();
    if urls > CHANNEL_ADDRESSES_MAXIMUM {
        return Err(wrong(format!("{urls} URLs: choose {CHANNEL_ADDRESSES_MAXIMUM} at most")));
    }
    let publish_to = flags.publish_to.map(|number| number.get() - 1);
    if let Some(at) = publish_to.filter(|at| *at >= urls) {
        return Err(wrong(format!("--publish-to {}: choose from 1 to {urls}", at + 1)));
    }
    let messages = flags.messages.map_or(u64::MAX, std::num::NonZeroU64::get);
    let storm = flags.storm.as_deref().map(|text| Storm::read(text, |time| duration(time).ok()));
    let storm = storm.transpose().map_err(|error| wrong(format!("--storm: {error}")))?;
    if storm.is_some_and(|storm| storm.after >= flags.duration) {
        let text =
            "--storm: it is due when publishing is over; choose an earlier time, or a longer -d";
        return Err(wrong(text.to_owned()));
    }
    let expected = match flags.order {
        _ if flags.unchecked => ExpectedOrder::Unchecked,
        OrderFlag::All => ExpectedOrder::All,
        OrderFlag::Publisher => ExpectedOrder::Publisher,
    };
    let pace = match flags.rate {
        Some(rate) => ChannelPace::Rate(positive("--rate", rate)?),
        None => ChannelPace::AtOnce(flags.at_once.get()),
    };
    let churn_per_s = flags.churn.map(|rate| positive("--churn", rate)).transpose()?;
    let plan = super::plan::channel(flags)?;
    if plan.peers.len() < urls {
        let text = "two URLs are the same server; name each once";
        return Err(wrong(text.to_owned()));
    }
    Ok(ChannelPlan {
        plan,
        pace,
        size: flags.size,
        messages,
        publish_to,
        expected,
        storm,
        churn_per_s,
        part,
    })
}

fn positive(flag: &str, rate: f64) -> Result<f64, Failure> {
    if rate > 0.0 && rate.is_finite() {
        Ok(rate)
    } else {
        Err(wrong(format!("{flag} {rate}: choose more than 0")))
    }
}

fn show(moment: &ChannelMoment) {
    let ChannelMoment { open, wanted, published, received } = moment;
    let line =
        format!("{open} of {wanted} subscribers, {published} published, {received} received");
    // A progress line that cannot be drawn is not an error.
    let _shown = write!(std::io::stderr(), "\r{line}\u{1b}[K");
}
