//! The queue of connections whose handshake is not finished.

use crate::check::{Check, Gain, Risk};
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::tcp::{Side, TcpSocket};

use super::sockets::{accept_queue_room, overflowed};

pub(super) const CHECKS: &[Check] = &[Check {
    id: "stack.synbacklog",
    title: "the handshake queue",
    gain: Gain::of(2.0, 10.0, 15.0, 0.0),
    expected: "no dropped handshakes in bursts",
    risk: Risk::Reversible,
    lost: "nothing",
    why: "Handshakes beyond it are dropped, or answered with a cookie that loses TCP options. Clients that never \
          finish theirs (a SYN flood) fill it.",
    fix: "sysctl net.ipv4.tcp_max_syn_backlog=4096 net.ipv4.tcp_syncookies=1",
    source: "Seastar, perftune.py",
    judge: handshakes,
}];

/// `TCP_SYN_RECV` (include/net/tcp_states.h).
const HALF_OPEN: u8 = 3;

/// Handshakes of the server's clients that are not finished.
fn half_open(host: &HostReading) -> u64 {
    let is_it = |one: &&TcpSocket| one.side == Side::Accepted && one.state == HALF_OPEN;
    let count = |all: &Option<Vec<TcpSocket>>| all.iter().flatten().filter(is_it).count() as u64;
    count(&host.before.sockets).max(count(&host.now.sockets))
}

/// Handshakes that were dropped because the queue had no room: without cookies the kernel drops some that it does not
/// count by themselves when three quarters of it are used (tcp_conn_request in the kernel's net/ipv4/tcp_input.c).
fn dropped_handshakes(host: &HostReading, room: Option<u64>) -> u64 {
    let moved = |name: &str| host.moved(|counters| counters.network(name)).unwrap_or(0);
    let full = moved("TcpExt.TCPReqQFullDrop");
    let others = moved("TcpExt.ListenDrops").saturating_sub(moved("TcpExt.ListenOverflows"));
    let is_full = room.is_some_and(|room| half_open(host) * 2 >= room.max(1));
    if is_full { full.max(others) } else { full }
}

/// The finding for dropped handshakes, if there are any.
fn flooded(host: &HostReading, most: Option<u64>) -> Option<Judged> {
    let seconds = host.seconds?;
    let room = [most, accept_queue_room(host)].into_iter().flatten().min();
    let dropped = dropped_handshakes(host, room);
    if dropped == 0 || overflowed(host).is_some() {
        return None;
    }
    let accepted = host.moved(|counters| counters.network("Tcp.PassiveOpens")).unwrap_or(0);
    let cookies =
        host.sysctl("net.ipv4.tcp_syncookies").map_or("unknown".to_owned(), |one| one.to_string());
    let text = format!(
        "{} half-open connections, and {:.0} SYNs a second were dropped while {accepted} connections were opened {}; \
         the queue has room for {}, net.ipv4.tcp_syncookies is {cookies}",
        half_open(host),
        dropped as f64 / seconds,
        host.span(),
        room.map_or("an unknown number".to_owned(), |room| room.to_string()),
    );
    let share = 100.0 * dropped as f64 / (dropped + accepted) as f64;
    Some(Finding::scaled(text, Percent::between(share * 0.5, share)))
}

fn handshakes(host: &HostReading) -> Judged {
    let most = host.sysctl("net.ipv4.tcp_max_syn_backlog");
    if let Some(flooded) = flooded(host, most) {
        return flooded;
    }
    let drops = ["TcpExt.TCPReqQFullDrop", "TcpExt.TCPReqQFullDoCookies"];
    let dropped: u64 =
        drops.iter().filter_map(|name| host.moved(|counters| counters.network(name))).sum();
    if dropped > 0 && host.seconds.is_some() {
        let full = format!("the queue was full {dropped} times {}", host.span());
        // It has no more room than the accept queue (tcp_conn_request in the kernel's net/ipv4/tcp_input.c).
        return match accept_queue_room(host) {
            Some(room) if most.is_none_or(|most| room < most) => Finding::good(format!(
                "{full}, because a listener has room for {room}: see app.backlog and stack.somaxconn"
            )),
            _ => Finding::seen(full, 1.0),
        };
    }
    match most {
        None => Finding::unknown("net.ipv4.tcp_max_syn_backlog cannot be read"),
        Some(most) if most < 512 => {
            Finding::set(format!("net.ipv4.tcp_max_syn_backlog is {most}"), 0.5)
        }
        Some(most) => Finding::good(format!("{most}")),
    }
}
