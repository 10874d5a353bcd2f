//! Bounds that the server sets itself: how many connections it serves, and how fast it answers.

use std::collections::BTreeMap;

use crate::check::{Check, Gain, Risk};
use crate::cpu_wait::CpuWait;
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::lines::named;
use crate::socket_looks::place;
use crate::tcp::Side;

use super::asleep::{NOTICED, is_stuck, most};
use super::buffers::busy_sending;
use super::peers::is_held;
use super::waiting::idle_share;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "app.limit",
        title: "the server's own limit of connections",
        gain: Gain::of(30.0, 50.0, 60.0, 0.0),
        expected: "the connections that wait, or are refused, as far as the server has time for them",
        risk: Risk::Process,
        lost: "memory and descriptors for more connections",
        why: "A server that serves as many connections as it may leaves others in the accept queue, however idle its \
              CPUs are, or closes them with their request unread (nginx).",
        fix: "Raise the limit: `worker_connections` of nginx, `maxconn` of HAProxy (global and of the frontend), \
              `MaxRequestWorkers` of Apache, the threads of a pool; or a shorter keep-alive timeout, if most \
              connections are idle. The server's log of errors often names it.",
        source: "struct tcp_info, tcpi_unacked of a listener; TCPAbortOnClose of /proc/net/netstat",
        judge: connections,
    },
    Check {
        id: "app.pacing",
        title: "answers that are sent bit by bit",
        gain: Gain::of(10.0, 60.0, 5.0, 0.0),
        expected: "the time between the parts of an answer",
        risk: Risk::Process,
        lost: "what paces them: a fair share for each client, or a live stream",
        why: "A client gets more of its answer again and again without having asked anew, nothing waits in the \
              kernel, no buffer is full, and the server is idle meanwhile: the server itself waits before each part.",
        fix: "`limit_rate` of nginx, `bwlim` of HAProxy, `mod_ratelimit` of Apache, a sleep or a timer of the program \
              between writes, `SO_MAX_PACING_RATE` of its sockets. Events that are pushed (SSE, WebSocket) look \
              the same, and are no fault.",
        source: "struct tcp_info, tcpi_bytes_acked and tcpi_data_segs_in",
        judge: paced,
    },
];

/// The sums of the looks at the server's sockets.
fn sums(host: &HostReading) -> Result<BTreeMap<String, u64>, Finding> {
    let process = super::server(host)?;
    let sums = host.text(&place(process)).map(|text| named(&text));
    let is_seen = |sums: &BTreeMap<String, u64>| sums.get("looks").is_some_and(|looks| *looks > 0);
    Finding::known(sums.filter(is_seen), "needs two readings of its sockets")
}

/// Part of the looks at which connections have to wait, and share of the CPUs that has to be idle.
const MOSTLY: f64 = 0.8;
const IDLE: f64 = 0.4;

/// Share of a thread's time, in percent, in a stop, for a disk or in writing to a client from which that is what
/// holds it up.
const HELD_UP: f64 = 30.0;

/// Whether connections wait although the server has time for them.
pub(super) fn is_limited(host: &HostReading) -> bool {
    matches!(connections(host), Ok(Finding::Costs(..)))
}

fn connections(host: &HostReading) -> Judged {
    let sums = sums(host)?;
    let count = |name: &str| sums.get(name).copied().unwrap_or(0) as f64;
    let looks = count("looks");
    let (waiting, open) = (count("queue_waiting") / looks, count("open") / looks);
    if let Some((text, price)) = refused(host) {
        return Finding::scaled(format!("{text}; {open:.0} are open"), price);
    }
    let idle = idle_share(host);
    let text = format!(
        "{waiting:.1} connections on average wait to be accepted at port {}, at {} of {looks} looks; {:.1} others are \
         open, and its CPUs were idle for {:.0} % of the time",
        count("queue_port"),
        count("queue_looks"),
        (open - waiting).max(0.0),
        idle * 100.0
    );
    if open + waiting == 0.0 {
        return Finding::unknown("no connection of it was seen");
    }
    if count("queue_looks") < MOSTLY * looks || waiting < 1.0 || idle < IDLE {
        return Finding::good(text);
    }
    // What else holds its threads is the cause.
    let (held_up, _) = most(host, |one| one.stopped + one.disk + one.seen_in("write/socket"));
    if is_held(host) || is_stuck(host) || held_up >= HELD_UP {
        return Finding::good(format!("{text}: its threads are held by something else"));
    }
    let lost = 100.0 * idle.min(waiting / open.max(waiting));
    Finding::measured(text, Percent::between(lost * 0.5, lost))
}

/// Connections closed per second with a request unread, from which the server refuses them; their part of all new ones,
/// from which and up to which it does; and the CPU time in seconds that it takes at least for each, so that they are
/// not those of another program.
const REFUSED: f64 = 200.0;
const PART: f64 = 0.1;
const MORE: f64 = 1.5;
const OF_ONE: f64 = 10e-6;

/// Connections that were closed with a request unread, in words, and their price.
pub(super) fn refused(host: &HostReading) -> Option<(String, Percent)> {
    let (seconds, wait) = (host.seconds?, CpuWait::of(host).ok()?);
    let moved = |name: &str| host.moved(|counters| counters.network(name)).unwrap_or(0) as f64;
    let closed = moved("TcpExt.TCPAbortOnClose") + moved("TcpExt.TCPAbortOnData");
    let opened = moved("Tcp.PassiveOpens").max(1.0);
    // One that it has not accepted, such as a health check that it ends at once, is no client that it refuses.
    let is_many = closed >= REFUSED * seconds && (PART * opened..=opened * MORE).contains(&closed);
    let text = format!(
        "{:.0} connections a second were closed in its network namespace with a request that nobody had read \
         (TCPAbortOnClose, TCPAbortOnData), of {:.0} new ones",
        closed / seconds,
        opened / seconds
    );
    let price = Percent::between(100.0 * closed / opened, 95.0);
    (is_many && wait.run >= opened * OF_ONE).then_some((text, price))
}

/// Share of the connections whose answer has to be paced.
const MANY: f64 = 0.3;

/// Share of the time in which connections have something to send, from which their pace holds them up.
const BUSY: f64 = 0.2;

/// Connections whose pace the server has bounded (`SO_MAX_PACING_RATE`): the kernel has what they send, and waits.
fn paced_by_kernel(host: &HostReading) -> Option<Judged> {
    let accepted = host.now.sockets.iter().flatten().filter(|one| one.side == Side::Accepted);
    let paces: Vec<u64> = accepted.map(|one| one.number("pace")).collect();
    let bound: Vec<u64> = paces.iter().copied().filter(|pace| *pace > 0).collect();
    let (least, busy) = (bound.iter().min()?, busy_sending(host)?);
    let share = bound.len() as f64 / paces.len() as f64;
    let text = format!(
        "{} of {} connections may send {:.0} kB/s at most (SO_MAX_PACING_RATE), and had something to send {:.0} % of \
         the time",
        bound.len(),
        paces.len(),
        *least as f64 / 1e3,
        busy * 100.0
    );
    let lost = 100.0 * share * busy;
    (busy >= BUSY && share >= MANY)
        .then(|| Finding::measured(text, Percent::between(lost * 0.5, lost)))
}

fn paced(host: &HostReading) -> Judged {
    if let Some(found) = paced_by_kernel(host) {
        return found;
    }
    let sums = sums(host)?;
    let count = |name: &str| sums.get(name).copied().unwrap_or(0) as f64;
    let (paced, all) = (count("paced"), count("connections"));
    if all == 0.0 {
        return Finding::unknown("no connection of it was seen");
    }
    if paced == 0.0 {
        return Finding::good("no answer was seen that is sent bit by bit");
    }
    let (idle, busy) = (idle_share(host), count("paced_busy_percent").min(100.0));
    let text = format!(
        "{paced} of {all} connections got an answer in parts, {:.0} kB/s each, without asking for it anew; nothing \
         waited in the kernel, something was on its way {busy:.0} % of the time, and its CPUs were idle for {:.0} %",
        count("paced_rate") / 1e3,
        idle * 100.0
    );
    if count("fetched_bytes") * 2.0 >= count("paced_bytes") {
        return Finding::good(format!("{text}; other servers send as much: see app.upstream"));
    }
    let (of_disk, _) = most(host, |one| one.disk);
    if paced < MANY * all || idle < IDLE || of_disk >= NOTICED {
        return Finding::good(text);
    }
    let lost = paced / all * (100.0 - busy);
    Finding::measured(text, Percent::between(lost * 0.5, lost))
}
