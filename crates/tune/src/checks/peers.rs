//! The other ends of the server's connections: name servers, servers that refuse, clients that hold its threads, and
//! connections that it never closes.

use std::collections::BTreeMap;

use crate::check::{Check, Gain, Risk};
use crate::cpu_wait::CpuWait;
use crate::descriptors::OpenDescriptor;
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::name_queries::{self, NameQueries};
use crate::processes::Process;
use crate::tcp::{Side, TcpSocket};

use super::asleep::calls_are_seen;
use super::calls::of_server;
use super::process::nearly_all;
use super::serving::woken;
use super::waiting::idle_share;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "app.dns",
        title: "questions to name servers",
        gain: Gain::of(30.0, 60.0, 2.0, 0.0),
        expected: "the time for which they are open",
        risk: Risk::Process,
        lost: "nothing",
        why: "A name that is looked up for each request makes it wait for a name server; if the first one of \
              /etc/resolv.conf does not answer, for seconds.",
        fix: "Keep connections, or their addresses; a cache on the host (systemd-resolved, nscd, dnsmasq); a name \
              server that answers first in /etc/resolv.conf, `options timeout:1 attempts:1 rotate`, and names with \
              a dot at their end where `ndots` is large.",
        source: "resolv.conf(5)",
        judge: questions,
    },
    Check {
        id: "app.connect",
        title: "connections to other servers that fail",
        gain: Gain::of(10.0, 30.0, 2.0, 0.0),
        expected: "a round trip for each, or a timeout",
        risk: Risk::Process,
        lost: "nothing",
        why: "An address where nobody listens is often tried first: that of IPv6 before IPv4, or a server of an \
              upstream that is down.",
        fix: "Name the address that answers instead of `localhost`; let the proxy forget servers that are down \
              (`max_fails`, health checks).",
        source: "RFC 8305; Tcp.AttemptFails of /proc/net/snmp",
        judge: attempts,
    },
    Check {
        id: "app.pool",
        title: "clients that hold all threads",
        gain: Gain::of(50.0, 70.0, 60.0, 5.0),
        expected: "the requests that wait meanwhile",
        risk: Risk::Process,
        lost: "memory for more threads",
        why: "In a server with a process or a thread for each connection, clients that keep a connection open and \
              send nothing hold them; others wait in the accept queue.",
        fix: "A short keep-alive timeout, more workers, or a proxy in front that holds idle connections.",
        source: "listen(2); struct tcp_info, tcpi_unacked of a listener",
        judge: held,
    },
    Check {
        id: "app.beside",
        title: "other listeners at the address and port of the server",
        gain: Gain::of(40.0, 60.0, 40.0, 0.0),
        expected: "the part of the connections that they get",
        risk: Risk::Process,
        lost: "nothing",
        why: "With SO_REUSEPORT the kernel divides new connections among all listeners of a port. One that does not \
              accept them, such as an old or stopped instance, keeps its part for ever.",
        fix: "`ss -ltnp 'sport = :PORT'` lists the listeners; end the one that does not accept.",
        source: "socket(7), SO_REUSEPORT",
        judge: beside,
    },
    Check {
        id: "app.unclosed",
        title: "connections that the server does not close",
        gain: Gain::of(1.0, 2.0, 30.0, 10.0),
        expected: "until descriptors are used up, memory; then everything",
        risk: Risk::Process,
        lost: "nothing; it takes a change of the program",
        why: "A connection whose client has ended it stays in CLOSE_WAIT until the server closes its descriptor. A \
              server that forgets to runs out of descriptors.",
        fix: "Close the descriptor when a read returns 0; `ss -tnp state close-wait` lists them.",
        source: "RFC 9293 section 3.3.2",
        judge: unclosed,
    },
];

fn beside(host: &HostReading) -> Judged {
    super::server(host)?;
    let (Some(before), Some(now)) = (&host.before.sockets, &host.now.sockets) else {
        return Finding::unknown("needs two readings of its sockets");
    };
    let others = |all: &[TcpSocket]| -> BTreeMap<u64, u64> {
        let others = all.iter().filter(|one| one.side == Side::Beside);
        others.map(|one| (one.number("inode"), one.number("received_queue"))).collect()
    };
    let (earlier, later) = (others(before), others(now));
    let waits = |(inode, queue): &(&u64, &u64)| {
        earlier.get(inode).is_some_and(|earlier| (1..=**queue).contains(earlier))
    };
    let stale: Vec<(&u64, &u64)> = later.iter().filter(waits).collect();
    let Some((inode, _)) = stale.first() else {
        return Finding::good(format!("{} of other programs, and none of them full", later.len()));
    };
    let own = now.iter().filter(|one| one.side == Side::Listens).count();
    let share = 100.0 * stale.len() as f64 / (own + later.len()) as f64;
    let waiting: u64 = stale.iter().map(|(_, queue)| **queue).sum();
    let owner = OpenDescriptor::owner(host, &[**inode]);
    let name =
        owner.and_then(|owner| Some(format!("{} (process {owner})", Process::name(host, owner)?)));
    let text = format!(
        "{waiting} connections wait, from one reading to the next, for {} that listens at the same address and port \
         and accepts none; it gets {share:.0} % of the new ones",
        name.as_deref().unwrap_or("another program")
    );
    Finding::measured(text, Percent::between(share, 100.0))
}

/// Share of looks at which a question was open, in percent, from which it costs.
const NOTICED: f64 = 15.0;

fn questions(host: &HostReading) -> Judged {
    let process = super::server(host)?;
    let seen = host.text(&name_queries::place(process)).map(|text| NameQueries::read(&text));
    let seen =
        Finding::known(seen.filter(|seen| seen.looks > 0), "needs two readings of the server")?;
    let share = 100.0 * f64::from(seen.open) / f64::from(seen.looks);
    let Some((server, _)) = seen.servers.iter().max_by_key(|(_, count)| **count) else {
        return Finding::good(format!("none was open at {} looks", seen.looks));
    };
    let text = format!(
        "{:.1} were open on average, at {share:.0} % of {} looks; mostly to {server}",
        f64::from(seen.all) / f64::from(seen.looks),
        seen.looks
    );
    if share < NOTICED {
        return Finding::good(text);
    }
    Finding::measured(text, Percent::between(share * 0.4 * idle_share(host), share))
}

/// Attempts per second from which they cost, and seconds of CPU time for each: a socket, two calls and two packets.
const FAILED: f64 = 50.0;
const OF_AN_ATTEMPT: (f64, f64) = (10e-6, 60e-6);

fn attempts(host: &HostReading) -> Judged {
    let failed = host.moved(|counters| counters.network("Tcp.AttemptFails"));
    let opened = host.moved(|counters| counters.network("Tcp.ActiveOpens"));
    let (Some(failed), Some(opened), Some(seconds)) = (failed, opened, host.seconds) else {
        return Finding::unknown("needs two readings of /proc/net/snmp");
    };
    // A client that ends a connection before its end of the handshake counts as well.
    let embryonic = host.moved(|counters| counters.network("TcpExt.EmbryonicRsts")).unwrap_or(0);
    let failed = of_server(host, failed.saturating_sub(embryonic), |calls| calls.attempts);
    let rate = failed as f64 / seconds;
    let text = format!(
        "{rate:.0} attempts a second failed in its network namespace, of {:.0} connections to others",
        opened as f64 / seconds
    );
    let Ok(wait) = CpuWait::of(host) else { return Finding::good(text) };
    if rate < FAILED || failed * 20 < opened {
        return Finding::good(text);
    }
    let lost = |each: f64| (100.0 * failed as f64 * each / wait.run.max(0.02)).min(90.0);
    Finding::scaled(text, Percent::between(lost(OF_AN_ATTEMPT.0), lost(OF_AN_ATTEMPT.1)))
}

/// The share of its looks at which a thread waited for what one client sends.
const READING: f64 = 0.7;

/// Whether clients hold all threads.
pub(super) fn is_held(host: &HostReading) -> bool {
    matches!(held(host), Ok(Finding::Costs(..)))
}

fn held(host: &HostReading) -> Judged {
    calls_are_seen(host)?;
    let (Some(before), Some(now)) = (&host.before.sockets, &host.now.sockets) else {
        return Finding::unknown("its sockets cannot be seen");
    };
    let waiting = |all: &[TcpSocket]| -> u64 {
        let listening = all.iter().filter(|one| one.side == Side::Listens);
        listening.map(|one| one.number("received_queue")).sum()
    };
    let (earlier, later) = (waiting(before), waiting(now));
    if earlier == 0 || later == 0 {
        return Finding::good("no connection waited to be accepted at both readings");
    }
    let all = host.watched();
    let reads = |(thread, one): &(&u32, &crate::watching::Watched)| {
        let seen = one.seen_in("read/socket") + one.seen_in("receive");
        f64::from(seen) >= READING * f64::from(one.looks.max(1)) && woken(host, **thread) < 5.0
    };
    let held = all.iter().filter(reads).count();
    // A master waits for its workers.
    let waits = |one: &&crate::watching::Watched| one.seen_in("wait-child") >= one.looks;
    let working = all.values().filter(|one| !waits(one)).count();
    let text = format!(
        "{later} connections wait to be accepted, {held} of {working} threads wait for what one client sends"
    );
    if held == 0 || held * 10 < working * 9 {
        return Finding::good(text);
    }
    Finding::measured(text, Percent::between(60.0, 100.0))
}

/// `TCP_CLOSE_WAIT` (include/net/tcp_states.h), and how many of them cost.
const CLOSE_WAIT: u8 = 8;
const UNCLOSED: usize = 20;

fn unclosed(host: &HostReading) -> Judged {
    let Some(now) = &host.now.sockets else {
        super::server(host)?;
        return Finding::unknown("its sockets cannot be seen");
    };
    let count = |all: &[TcpSocket]| all.iter().filter(|one| one.state == CLOSE_WAIT).count();
    let later = count(now);
    let earlier = host.before.sockets.as_deref().map_or(later, count);
    let grown = later.saturating_sub(earlier);
    let text = format!("{later} of its {} sockets, {grown} more than before", now.len());
    // Errors for want of descriptors (app.nofile, app.calls) are its consequence then.
    if later >= UNCLOSED
        && later * 2 >= now.len()
        && let Some((open, most)) = nearly_all(host)
    {
        let text = format!("{text}; they use up its descriptors: {open} of {most} are open");
        return Finding::scaled(text, Percent::between(60.0, 99.0));
    }
    match later >= UNCLOSED && later * 10 >= now.len() {
        true if grown > 0 => Finding::scaled(text, Percent::between(5.0, 60.0)),
        true => Finding::set(text, 0.5),
        false => Finding::good(text),
    }
}
