//! Requests that wait inside the server while it does nothing.

use crate::check::{Check, Gain, Risk};
use crate::cpu_wait::CpuWait;
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::tcp::{Side, TcpSocket};

pub(super) const CHECKS: &[Check] = &[Check {
    id: "app.waiting",
    title: "requests that wait inside the server",
    gain: Gain::of(20.0, 40.0, 5.0, 0.0),
    expected: "a part of the time for which they wait",
    risk: Risk::Process,
    lost: "nothing; it takes a change of the program",
    why: "The server has read a request and does not answer, although it hardly uses a CPU: it waits for a timer, \
              a lock of its language (Go, async Rust), a pool, or another program.",
    fix: "`velodrome profile --pid PID --off-cpu` shows for what its threads wait; for goroutines \
              `/debug/pprof/goroutine?debug=2`, for tasks of tokio its console.",
    source: "struct tcp_info, tcpi_last_data_sent and tcpi_last_data_recv",
    judge: unanswered,
}];

/// The share of the CPU time for which the server neither ran nor wanted to.
pub(super) fn idle_share(host: &HostReading) -> f64 {
    let (Ok(wait), Some(seconds)) = (CpuWait::of(host), host.seconds) else { return 1.0 };
    let wanted = wait.wanted() + wait.for_quota;
    1.0 - (wanted / seconds / wait.cpus.len().max(1) as f64).min(1.0)
}

/// Milliseconds for which a request waits: from which it counts, and beyond which it waits on purpose (long polling).
const WAITS_MS: (u64, u64) = (4, 5_000);

/// Share of the connections that have to wait, and share of the CPUs that has to be idle.
const MANY: f64 = 0.3;
const IDLE: f64 = 0.7;

/// The same where many times more connections wait than threads run, so that hardly one of them is worked on.
const PARTLY_IDLE: f64 = 0.4;
const MORE_THAN_RUN: f64 = 4.0;

/// Connections that say something at one look.
const CONNECTIONS: usize = 8;

/// Requests of a connection from which their number and that of answers say something.
const ENOUGH: u64 = 5;

/// Whether requests wait inside the server while it does nothing.
pub(super) fn waits_inside(host: &HostReading) -> bool {
    matches!(unanswered(host), Ok(Finding::Costs(..)))
}

/// The connections of clients that wait for an answer at one reading, and all of them.
fn unanswered_of(sockets: &[TcpSocket]) -> (usize, usize) {
    // The last that it received came after the last that it sent, and has been read. Within one tick of the kernel's
    // clock it is a request more than answers, where each request is a segment, and each answer as many as the others.
    let waits = |one: &&TcpSocket| {
        let (received, sent) = (one.number("last_received_ms"), one.number("last_sent_ms"));
        let (requests, answers) = (one.number("data_received"), one.number("data_sent"));
        let is_ahead = requests > ENOUGH && answers > 0 && answers.is_multiple_of(requests - 1);
        (received < sent || (received == sent && is_ahead))
            && (WAITS_MS.0..WAITS_MS.1).contains(&received)
            && one.number("received_queue") == 0
            && requests > 0
    };
    let open = sockets.iter().filter(|one| one.side == Side::Accepted && one.state == 1);
    (open.clone().filter(waits).count(), open.count())
}

/// The connections of clients that wait for an answer: the mean of both readings.
pub(super) fn waiting_clients(host: &HostReading) -> f64 {
    let count = |sockets: &Option<Vec<TcpSocket>>| {
        sockets.as_deref().map_or(0, |all| unanswered_of(all).0) as f64
    };
    f64::midpoint(count(&host.before.sockets), count(&host.now.sockets))
}

fn unanswered(host: &HostReading) -> Judged {
    let (Some(before), Some(now)) = (&host.before.sockets, &host.now.sockets) else {
        super::server(host)?;
        return Finding::unknown("needs two readings of its sockets");
    };
    let ((earlier, all_earlier), (later, all_later)) = (unanswered_of(before), unanswered_of(now));
    if all_earlier + all_later == 0 {
        return Finding::unknown("no connection was open at either reading");
    }
    let share = (earlier + later) as f64 / (all_earlier + all_later) as f64;
    let moved = |name: &str| {
        let sum = |all: &[TcpSocket]| -> u64 {
            all.iter().filter(|one| one.side == Side::Accepted).map(|one| one.number(name)).sum()
        };
        sum(now).saturating_sub(sum(before))
    };
    // Clients that only tell something wait for no answer.
    let answers = moved("data_sent") * 2 >= moved("data_received");
    let idle = idle_share(host);
    let text = format!(
        "{later} of {all_later} connections wait for an answer to what was read {} ms ago or more; its CPUs were \
         idle for {:.0} % of the time",
        WAITS_MS.0,
        idle * 100.0
    );
    // One look may be a coincidence, unless there are many connections.
    let is_seen = later > 0 && (earlier > 0 || (later >= CONNECTIONS && later * 2 >= all_later));
    let running = CpuWait::of(host).map_or(f64::MAX, |wait| wait.run / host.seconds.unwrap_or(1.0));
    let is_crowd = later as f64 >= MORE_THAN_RUN * running.max(1.0);
    let is_idle = idle >= if is_crowd { PARTLY_IDLE } else { IDLE };
    if !is_seen || share < MANY || !is_idle || !answers {
        return Finding::good(text);
    }
    Finding::scaled(text, Percent::between(share * 10.0, share * 60.0))
}
