//! The memory of waiting pages, without that of their connections.
//!
//! Method: a new server; this many connections, each with one page answered; then a page that waits on each of them.
//! The growth of the server's resident memory in between is the pages'. A page that does not wait is not counted.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};

use crate::bench::accounting;
use crate::bench::contender::Contender;
use crate::bench::pages::scenario::WaitsFor;
use crate::bench::pages::{Conditions, folder};
use crate::bench::report::Comparison;
use crate::bench::running::Running;
use crate::bench::sample::{Metric, Sample};
use crate::bench::workload::{Load, Workload};
use crate::bench::{MEMORY_ROUNDS, SPARE_DESCRIPTORS};
use crate::client::{self, Opening, RECEIVE_BYTES};
use crate::failure::Failure;
use crate::process;

/// The page that is answered first on each connection.
const FIRST: &str = "/hello";

/// Time between two readings of the server's CPU time.
const LOOK: Duration = Duration::from_millis(300);

/// A server that uses less CPU between two readings (5 % of the time) is idle.
const REST_NANOSECONDS: u64 = 15_000_000;

/// Connections to the silent server that the kernel completes.
const BACKLOG: i32 = 4096;

/// It must be idle before the pages go on by themselves.
const REST_LIMIT: Duration = Duration::from_secs(10);

/// Measures each server, newly started, in turn.
pub(crate) fn compare(
    workload: &'static Workload,
    waits_for: WaitsFor,
    conditions: &Conditions,
) -> Comparison {
    let mut outcome = Comparison::new(workload);
    let Load::Idle { connections } = workload.load else {
        unreachable!("pages wait on connections that are held")
    };
    let count = connections.min(conditions.run.descriptors.saturating_sub(SPARE_DESCRIPTORS));
    if count < connections {
        println!("only {count} pages: the descriptor limit is {}", conditions.run.descriptors);
    }
    outcome.note_load(&format!("{count} connections of our own, held"));
    let mut left: Vec<&Contender> = workload.contenders.iter().collect();
    for _ in 0..conditions.run.rounds.min(MEMORY_ROUNDS) {
        left.retain(|contender| {
            let measured = measure_one(contender, workload, waits_for, count, conditions);
            match measured {
                Ok((command, sample)) => {
                    outcome.note_command(contender.name, &command);
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

/// Measures a new server; returns its command and the memory of its pages.
fn measure_one(
    contender: &Contender,
    workload: &Workload,
    waits_for: WaitsFor,
    count: u64,
    conditions: &Conditions,
) -> Result<(String, Sample), Failure> {
    // Open while the server runs.
    let silent = SilentServer::open()?;
    if waits_for == WaitsFor::SilentServer {
        folder::write_fetching(conditions.site, silent.port)?;
    }
    let server = conditions.start(contender, FIRST)?;
    let sample = measure(contender, &server, workload.path, count)?;
    Ok((server.command.clone(), sample))
}

fn measure(
    contender: &Contender,
    server: &Running,
    path: &str,
    count: u64,
) -> Result<Sample, Failure> {
    let family = server.family();
    let opening = Opening::http1(server.address, &folder::path_at(contender.start, FIRST));
    let held = client::hold(server.address, &opening, count)?;
    let request = client::request(server.address, &folder::path_at(contender.start, path));
    // Memory that the first page of its kind allocates (such as for its compilation) does not count for the others.
    let first = client::connect(server.address).map_err(std::io::Error::from)?;
    client::send(&first, request.as_bytes())?;
    rest(&family)?;
    held.iter().for_each(drain);
    let before = accounting::memory(&family).resident;
    for socket in &held {
        client::send(socket, request.as_bytes())?;
    }
    rest(&family)?;
    let after = accounting::memory(&family).resident;
    let answered = client::closed_count(&held);
    Ok(Sample::from([
        (Metric::WaitingBytes, (after as f64 - before as f64) / count.max(1) as f64),
        // A page that has answered, or whose connection is closed, does not wait.
        (Metric::Errors, answered as f64),
    ]))
}

/// A listener that never answers: the kernel completes connections, and nothing accepts them.
struct SilentServer {
    port: u16,
    _listener: OwnedFd,
}

impl SilentServer {
    fn open() -> std::io::Result<SilentServer> {
        let flags = SocketFlags::CLOEXEC;
        let listener =
            rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        rustix::net::bind(&listener, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        rustix::net::listen(&listener, BACKLOG)?;
        let address = SocketAddr::try_from(rustix::net::getsockname(&listener)?)?;
        Ok(SilentServer { port: address.port(), _listener: listener })
    }
}

/// Waits until a server is idle.
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

/// Reads the rest of an answer without a length.
fn drain(socket: &OwnedFd) {
    let mut buffer = [0; RECEIVE_BYTES];
    while let Ok((_, 1..)) = rustix::net::recv(socket, &mut buffer[..], RecvFlags::DONTWAIT) {}
}
