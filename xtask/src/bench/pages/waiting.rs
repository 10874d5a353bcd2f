//! The memory of pages that wait, besides their connections.
//!
//! Method: a fresh server; so many connections, each with one page answered; then a page that sleeps on each of them. What
//! the server's resident memory grows by from one to the other is the pages'. Never counts a page that does not wait.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::RecvFlags;

use crate::bench::accounting;
use crate::bench::client::{self, RECEIVE_BYTES};
use crate::bench::contender::{Contender, Running};
use crate::bench::load;
use crate::bench::pages::scenario::WAITING_PAGES;
use crate::bench::pages::{Conditions, folder};
use crate::bench::report::Outcome;
use crate::bench::sample::{Metric, Sample};
use crate::bench::workload::Workload;
use crate::bench::{MEMORY_ROUNDS, SPARE_DESCRIPTORS};
use crate::failure::Failure;
use crate::process;

/// The page that is answered first, on each connection.
const FIRST: &str = "/hello";

/// Between two readings of what a server has spent.
const LOOK: Duration = Duration::from_millis(300);

/// A server that spends less between two readings (5 % of the time) has come to rest.
const REST_NANOSECONDS: u64 = 15_000_000;

/// It must be at rest before the pages go on by themselves.
const REST_LIMIT: Duration = Duration::from_secs(10);

/// Measures each server from a fresh start, in turn.
pub(crate) fn compare(workload: &'static Workload, conditions: &Conditions) -> Outcome {
    let mut outcome = Outcome::new(workload);
    outcome.note_load(&format!("{WAITING_PAGES} connections of our own, held"));
    let mut left: Vec<&Contender> = workload.contenders.iter().collect();
    for _ in 0..conditions.rounds.min(MEMORY_ROUNDS) {
        left.retain(|contender| {
            let measured = conditions.start(contender, FIRST).and_then(|server| {
                outcome.note_command(contender.name, &server.command);
                measure(contender, &server, workload.path, conditions.descriptors)
            });
            match measured {
                Ok(sample) => {
                    outcome.add(contender.name, sample);
                    true
                }
                Err(failure) => {
                    outcome.skip(contender.name, failure.to_string());
                    false
                }
            }
        });
    }
    outcome
}

fn measure(
    contender: &Contender,
    server: &Running,
    path: &str,
    descriptors: u64,
) -> Result<Sample, Failure> {
    let count = WAITING_PAGES.min(descriptors.saturating_sub(SPARE_DESCRIPTORS));
    if count < WAITING_PAGES {
        println!("only {count} pages: the descriptor limit is {descriptors}");
    }
    let family = server.family();
    let held = client::hold(server.address, &folder::path_at(contender.start, FIRST), count)?;
    rest(&family)?;
    held.iter().for_each(drain);
    let before = accounting::memory(&family).resident;
    let request = load::request(server.address, &folder::path_at(contender.start, path));
    for socket in &held {
        client::send(socket, request.as_bytes())?;
    }
    rest(&family)?;
    let after = accounting::memory(&family).resident;
    let answered = client::closed_count(&held);
    Ok(Sample::from([
        (Metric::WaitingBytes, (after as f64 - before as f64) / count.max(1) as f64),
        // Whoever has an answer, or is closed, does not wait.
        (Metric::Errors, answered as f64),
    ]))
}

/// Waits until a server has nothing to do.
fn rest(family: &[u32]) -> Result<(), Failure> {
    let mut before = accounting::spent(family).nanoseconds;
    let mut spent = 0;
    let is_at_rest = process::wait_until(REST_LIMIT, || {
        std::thread::sleep(LOOK);
        let now = accounting::spent(family).nanoseconds;
        spent = now - std::mem::replace(&mut before, now);
        spent < REST_NANOSECONDS
    });
    if is_at_rest {
        return Ok(());
    }
    let busy_ms = spent / 1_000_000;
    Err(Failure::Work(format!("does not come to rest: {busy_ms} ms in {} ms", LOOK.as_millis())))
}

/// Takes what is left of an answer that has no length.
fn drain(socket: &OwnedFd) {
    let mut buffer = [0; RECEIVE_BYTES];
    while let Ok((_, 1..)) = rustix::net::recv(socket, &mut buffer[..], RecvFlags::DONTWAIT) {}
}
