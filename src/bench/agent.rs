//! The verb `bench agent`: waits for coordinators, and makes its part of their measurements.
//!
//! Owns what a coordinator may have it do: requests, stores and channels, without files that the coordinator names.

use bench::agents::{Agent, AgentError, AgentSession, Task};
use bench::channel::Conductor;
use bench::plan::{LoadPlan, Ownership};
use bench::run::{Continuation, requests_from};
use clap::{Parser, Subcommand};

use super::agents::key;
use super::flags::{self, Bench, Http, Store, Verb};
use super::part::{share, share_requests, stay_here};
use crate::Failure;
use crate::output::{complain, print_line};

/// The command line of a coordinator: an agent makes measurements and nothing else.
#[derive(Debug, Parser)]
struct TaskLine {
    #[command(subcommand)]
    verb: TaskVerb,
}

#[derive(Debug, Subcommand)]
enum TaskVerb {
    Bench(Bench),
}

/// Runs the verb.
pub(crate) fn run(flags: &flags::Agent) -> Result<(), Failure> {
    let consent = if flags.i_own_this_host { Ownership::Declared } else { Ownership::Unsaid };
    let key = key(flags.key_file.as_deref())?;
    let agent = Agent::listen(&flags.listen, key, consent).map_err(|error| match error {
        AgentError::Listen(_) | AgentError::Address { .. } => {
            Failure::WrongUse(format!("--listen: {error}"))
        }
        error => Failure::Failed(format!("--listen {}: {error}", flags.listen)),
    })?;
    print_line(&format!(
        "waits for coordinators at {}",
        agent.address().map_err(Failure::failed)?
    ))?;
    loop {
        let (peer, session) = agent.accept().map_err(Failure::failed)?;
        let served = session.and_then(|mut session| serve(&mut session));
        match served {
            Ok(tasks) => print_line(&format!("{peer}: {tasks} runs"))?,
            Err(error) => complain(&format!("{peer}: {error}")),
        }
    }
}

/// Makes all runs of a coordinator.
fn serve(session: &mut AgentSession) -> Result<u32, AgentError> {
    let mut tasks = 0;
    while let Some(task) = session.task()? {
        // A measurement blocks the signals that end it in its own thread, and never in this one.
        let performed = std::thread::scope(|scope| {
            scope.spawn(|| perform(&task, session)).join().unwrap_or(Err(Failure::Told))
        });
        match performed {
            Ok(()) => tasks += 1,
            Err(Failure::Failed(why) | Failure::WrongUse(why)) => session.refuse(&why)?,
            Err(Failure::Told | Failure::Invalid | Failure::Worse | Failure::Met) => {
                session.refuse("the agent failed; see what it has printed")?;
            }
        }
    }
    Ok(tasks)
}

fn perform(task: &Task, session: &mut AgentSession) -> Result<(), Failure> {
    let line = TaskLine::try_parse_from(&task.words);
    let TaskLine { verb: TaskVerb::Bench(Bench { verb }) } = line.map_err(Failure::wrong_use)?;
    match verb {
        Verb::Http(mut flags) => {
            share_http(&mut flags, task)?;
            measure(&super::plan::http(&flags)?, task, session)
        }
        Verb::Store(mut flags) => {
            share_store(&mut flags, task)?;
            measure(&super::store::plan(&flags)?, task, session)
        }
        Verb::Channel(flags) => super::channel::measure_part(*flags, task, session),
        _ => Err(Failure::WrongUse("this verb has no --agents".to_owned())),
    }
}

/// Makes a run of requests.
fn measure(plan: &LoadPlan, task: &Task, session: &mut AgentSession) -> Result<(), Failure> {
    let pulse = session.pulse().map_err(Failure::failed)?;
    let begin = || session.start(0).map(|start| start.begin_ns);
    let report = requests_from(plan, task.words.clone(), begin, |_| {
        if pulse.is_lost() { Continuation::End } else { Continuation::GoOn }
    });
    let report = report.map_err(Failure::failed)?;
    session.finish(&report).map_err(Failure::failed)
}

fn share_http(flags: &mut Http, task: &Task) -> Result<(), Failure> {
    for (flag, file) in [
        ("--urls-file", &flags.urls_file),
        ("--body-file", &flags.load.asking.body_file),
        ("--expect-body-file", &flags.load.expecting.expect_body_file),
    ] {
        if file.is_some() {
            let text = "an agent reads no file that a coordinator names; give its content";
            return Err(Failure::WrongUse(format!("{flag}: {text}")));
        }
    }
    flags.load.connections = share(flags.load.connections, task)?;
    flags.rate = flags.rate.as_ref().map(|rate| rate.shared(task.generators));
    flags.requests = flags.requests.map(|requests| share_requests(requests, task)).transpose()?;
    flags.load.seed = flags.load.seed.wrapping_add(u64::from(task.generator));
    flags.load.runs = 1;
    stay_here(&mut flags.place);
    Ok(())
}

fn share_store(flags: &mut Store, task: &Task) -> Result<(), Failure> {
    flags.connections = share(flags.connections, task)?;
    flags.rate = flags.rate.as_ref().map(|rate| rate.shared(task.generators));
    flags.requests = flags.requests.map(|requests| share_requests(requests, task)).transpose()?;
    flags.seed = flags.seed.wrapping_add(u64::from(task.generator));
    flags.runs = 1;
    stay_here(&mut flags.place);
    Ok(())
}
