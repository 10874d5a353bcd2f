//! The server's TCP connections by what the kernel counts for each: losses, new connections.

use crate::check::{Check, Gain, Risk};
use crate::cpu_wait::CpuWait;
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::tcp::TcpSocket;

use super::calls::of_server;
use super::own_bounds::refused;
use super::pairs::Pairs;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "net.loss",
        title: "segments that are lost on the way",
        gain: Gain::of(20.0, 60.0, 5.0, 0.0),
        expected: "a lost segment costs a round trip, or 200 ms and more if it was the last one",
        risk: Risk::Host,
        lost: "nothing",
        why: "A segment that is not acknowledged is sent again. Drops of queues, shapers, packet filters and \
              full receive buffers are the usual causes on one's own hosts.",
        fix: "`tc -s qdisc`, `ip -s link`, `nft list ruleset` and net.budget show drops of this host; the other \
              end has its own.",
        source: "RFC 6298; tcp(7)",
        judge: losses,
    },
    Check {
        id: "net.mtu",
        title: "full packets that do not arrive",
        gain: Gain::of(50.0, 80.0, 5.0, 0.0),
        expected: "answers larger than a packet never arrive",
        risk: Risk::Reversible,
        lost: "a little efficiency of large answers",
        why: "A part of the path takes smaller packets only, and the message that says so (ICMP) is filtered: \
              small answers work, large ones hang.",
        fix: "Let ICMP type 3 code 4 pass (ICMPv6 type 2); sysctl net.ipv4.tcp_mtu_probing=1; or a smaller \
              MTU: `ip link set DEVICE mtu 1400`, `tcp option maxseg size set rt mtu` in nftables.",
        source: "RFC 4821",
        judge: black_hole,
    },
    Check {
        id: "net.shaper",
        title: "a queue that keeps packets back",
        gain: Gain::of(40.0, 50.0, 10.0, 0.0),
        expected: "the rate of the device instead of that of the shaper",
        risk: Risk::Interruption,
        lost: "the bound that somebody has set",
        why: "A shaper in front of a device (tbf, htb, cake with a bandwidth) sends no faster than its rate, and \
              drops what its queue does not hold.",
        fix: "`tc -s qdisc show dev DEVICE`; tc qdisc replace dev DEVICE root mq",
        source: "tc(8)",
        judge: shaped,
    },
    Check {
        id: "app.keepalive",
        title: "a new connection for each request",
        gain: Gain::of(40.0, 50.0, 10.0, 0.0),
        expected: "a connection costs 15 to 50 microseconds of CPU time and a round trip; with TLS up to some \
                   milliseconds",
        risk: Risk::Process,
        lost: "nothing",
        why: "Without keep-alive each request pays for a handshake, an accept, a close, and three times as many \
              packets. With TLS it also pays for a signature and a key exchange, unless the session is resumed.",
        fix: "Let the server keep connections (`keepalive_timeout` of nginx), and its clients and proxies use \
              them (`keepalive` and `proxy_http_version 1.1` in nginx). With TLS also: sessions that are resumed \
              (`ssl_session_cache`, `ssl_session_tickets`), and an ECDSA key instead of a long one of RSA.",
        source: "RFC 9112 section 9.3; RFC 8446 section 2.2",
        judge: new_connections,
    },
];

/// Segments that are sent again, in percent, from which they cost.
const RESENT: f64 = 0.1;

/// Seconds that a segment costs its connection which is sent again after a timeout or a probe (RFC 6298, RFC 8985
/// section 7: 200 ms at least).
pub(super) const AFTER_TIMEOUT: (f64, f64) = (0.2, 0.25);

/// The most seconds that one costs which later segments told of, and its share of all segments as a part of the price:
/// the sender also sends less for a while.
const FAST: f64 = 0.02;
const OF_FAST: f64 = 10.0;

fn losses(host: &HostReading) -> Judged {
    let pairs = Pairs::of_connections(host)?;
    let (resent, sent) = (pairs.moved("resent"), pairs.moved("data_sent"));
    // Connections that have ended took their counts with them.
    let of_host = host.moved(|counters| counters.network("Tcp.RetransSegs")).unwrap_or(0);
    let timeouts = ["TcpExt.TCPTimeouts", "TcpExt.TCPLossProbeRecovery"];
    let count = |name| host.moved(|counters| counters.network(name)).unwrap_or(0);
    let timeouts: u64 = timeouts.into_iter().map(count).sum();
    if let Some(found) = silent(&pairs) {
        return found;
    }
    let share = 100.0 * resent as f64 / (sent.max(resent)).max(1) as f64;
    let text = format!(
        "{resent} of {sent} segments were sent again {}; {of_host} in its network namespace, {timeouts} after \
         a timeout or a probe",
        host.span()
    );
    if resent < 2 || share < RESENT {
        return Finding::good(text);
    }
    // Time for which connections waited, relative to the time of all connections.
    let whole = host.seconds.unwrap_or(1.0) * pairs.count() as f64;
    let slow = timeouts.min(resent);
    let lost = |count: u64, each: f64| 100.0 * count as f64 * each / whole;
    let fast = |each: f64| lost(resent - slow, each).min(share * OF_FAST);
    let round_trip = pairs.now().map(|one| one.number("rtt_us")).sum::<u64>() as f64
        / 1e6
        / pairs.count() as f64;
    let low = lost(slow, AFTER_TIMEOUT.0) + fast(round_trip.min(FAST));
    let high = lost(slow, AFTER_TIMEOUT.1) + fast(FAST);
    Finding::scaled(text, Percent::between(low.min(95.0), high.min(95.0)))
}

/// Connections with something to send of which nothing has left, although nothing is on its way and their clients have
/// room: this host drops it itself, and counts no loss.
fn silent(pairs: &Pairs) -> Option<Judged> {
    let is_silent = |(before, now): &&(Option<&TcpSocket>, &TcpSocket)| {
        let same = |name| before.is_some_and(|before| before.number(name) == now.number(name));
        let waits = |one: &TcpSocket| one.number("unsent") > 0 && one.number("unacked") == 0;
        let is_new = ["acked_bytes", "peer_full_us"].into_iter().all(same);
        now.state == 1 && waits(now) && before.is_some_and(waits) && is_new
    };
    let (silent, all) = (pairs.all().filter(is_silent).count(), pairs.count());
    if silent < 2 || silent * 5 < all {
        return None;
    }
    let share = 100.0 * silent as f64 / all as f64;
    let text = format!(
        "{silent} of {all} connections have something to send from one reading to the next, and nothing of it leaves: \
         a packet filter or a queue of this host drops it before it is sent (nft list ruleset, tc -s qdisc)"
    );
    Some(Finding::measured(text, Percent::between(share * 0.8, share)))
}

/// Timeouts of one connection in a row from which its packets are taken to vanish.
const IN_A_ROW: u64 = 2;

/// Size of a segment from which it may be too large for a path (the least MTU of IPv4 hosts, RFC 1122, without heads).
const LARGE: u64 = 536;

fn black_hole(host: &HostReading) -> Judged {
    let pairs = Pairs::of_connections(host)?;
    let hangs = |one: &TcpSocket| {
        let in_a_row = one.number("backoff").max(one.number("retransmits"));
        in_a_row >= IN_A_ROW && one.number("unacked") > 0
    };
    let hanging: Vec<&TcpSocket> = pairs.now().filter(|one| one.state == 1 && hangs(one)).collect();
    let full = |one: &&&TcpSocket| {
        let size = one.number("mss");
        size > LARGE && one.number("send_queue") >= size
    };
    let full = hanging.iter().filter(full).count();
    let all = pairs.count();
    if full == 0 || full * 5 < all {
        return Finding::good(format!(
            "{} of {all} connections wait after timeouts",
            hanging.len()
        ));
    }
    let mss = hanging.iter().map(|one| one.number("mss")).max().unwrap_or(0);
    let share = 100.0 * full as f64 / all.max(1) as f64;
    let text = format!(
        "{full} of {all} connections send the same full packets again and again ({mss} bytes of data), and \
         hear nothing"
    );
    Finding::measured(text, Percent::between(share * 0.8, share))
}

fn shaped(host: &HostReading) -> Judged {
    if host.now.queues.is_empty() {
        return Finding::unknown("the queues of devices cannot be read");
    }
    let seconds = Finding::known(host.seconds, "needs two readings of counters")?;
    let moved = |(name, now): (&String, &crate::queues::QueueCounts)| {
        let before = host.before.queues.get(name).copied().unwrap_or_default();
        let dropped = now.drops.saturating_sub(before.drops);
        let late = now.late.saturating_sub(before.late);
        let sent = now.packets.saturating_sub(before.packets);
        let rate = now.bytes.saturating_sub(before.bytes) as f64 / seconds;
        (dropped, late, sent, rate, *now, name.clone())
    };
    let worst = host.now.queues.iter().map(moved).max_by_key(|one| (one.0, one.1));
    let (dropped, late, sent, rate, now, name) =
        Finding::known(worst, "the queues of devices cannot be read")?;
    let bound = match now.rate {
        0 => String::new(),
        bytes => format!(" of at most {:.1} Mbit/s", bytes as f64 * 8.0 / 1e6),
    };
    let text = format!(
        "{name} {:.1} Mbit/s{bound}; {late} packets were kept back and {dropped} dropped {}, {} wait",
        rate * 8.0 / 1e6,
        host.span(),
        now.waiting
    );
    let share = 100.0 * (dropped + late) as f64 / (sent + dropped).max(1) as f64;
    if dropped + late < 10 || share < 1.0 {
        return Finding::good(format!("none kept many packets back; {text}"));
    }
    let is_full = now.rate > 0 && rate > now.rate as f64 * 0.7;
    let low = if is_full { 30.0 } else { share.min(30.0) };
    Finding::scaled(
        text,
        Percent::between(low, if is_full { 95.0 } else { share.clamp(5.0, 90.0) }),
    )
}

/// New connections per second below which they are few, and the part of the CPU time below which they cost little.
const FEW: f64 = 20.0;
const LITTLE: f64 = 5.0;

/// Seconds of CPU time for a connection, more than for a request.
const OF_A_CONNECTION: (f64, f64) = (15e-6, 50e-6);

/// Segments that one end of a connection receives at least if there is a handshake of TLS (RFC 8446) in it: two of
/// TCP's own handshake or its acknowledgements, two of TLS with the request, an acknowledgement, the end. A request
/// without TLS needs fewer.
const WITH_TLS: f64 = 6.0;

/// Segments that each more request on a connection adds at each end.
const OF_A_REQUEST: f64 = 2.0;

/// The largest part of its CPU time, in percent, that is taken to be for connections: the rest is for requests.
const MOST: f64 = 70.0;

fn new_connections(host: &HostReading) -> Judged {
    super::server(host)?;
    let accepted = host.moved(|counters| counters.network("Tcp.PassiveOpens"));
    let (Some(accepted), Some(seconds)) = (accepted, host.seconds) else {
        return Finding::unknown("needs two readings of /proc/net/snmp");
    };
    let segments = host.moved(|counters| counters.network("Tcp.InSegs")).unwrap_or(0);
    let rate = accepted as f64 / seconds;
    let each = segments as f64 / accepted.max(1) as f64;
    // It may open as many to others, which are accepted within its namespace.
    let accepted = of_server(host, accepted, |calls| calls.accepted + calls.attempts);
    let text = format!(
        "{rate:.0} new connections per second in its network namespace, and {each:.0} segments received for \
         each"
    );
    let Ok(wait) = CpuWait::of(host) else { return Finding::good(text) };
    // Both ends of a connection within this host receive.
    let has_near = host.now.sockets.iter().flatten().any(TcpSocket::is_near);
    let each_end = if has_near { each / 2.0 } else { each };
    let of_one = wait.run / accepted.max(1) as f64;
    let high = match each_end >= WITH_TLS {
        // A handshake may cost nearly all of it, unless there are more requests.
        true => of_one / (1.0 + (each_end - WITH_TLS * 1.5).max(0.0) / OF_A_REQUEST),
        false => 0.0,
    };
    let lost =
        |each: f64| (100.0 * accepted as f64 * each / wait.run.max(LEAST_RUN * seconds)).min(MOST);
    let price = Percent::between(lost(OF_A_CONNECTION.0), lost(OF_A_CONNECTION.1.max(high)));
    if (accepted as f64) < FEW * seconds || price.high < LITTLE {
        return Finding::good(text);
    }
    if refused(host).is_some() {
        return Finding::good(format!("{text}; the server closes many at once: see app.limit"));
    }
    let text = match high > OF_A_CONNECTION.1 {
        true => format!(
            "{text}; the server ran for {:.2} ms for each, which may be for a handshake of TLS",
            of_one * 1e3
        ),
        false => text,
    };
    Finding::scaled(text, price)
}

/// The part of a CPU below which a server is idle. Connections of others in its namespace are no large part of its
/// time.
const LEAST_RUN: f64 = 0.3;
