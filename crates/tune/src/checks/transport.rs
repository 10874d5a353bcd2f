//! The server's TCP connections by what the kernel counts for each: losses, new connections, upstreams.

use std::collections::BTreeMap;

use crate::check::{Check, Gain, Risk};
use crate::cpu_wait::CpuWait;
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::tcp::{Side, TcpSocket};

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
        expected: "a connection costs 20 to 60 microseconds of CPU time, and a round trip",
        risk: Risk::Process,
        lost: "nothing",
        why: "Without keep-alive each request pays for a handshake, an accept, a close, and three times as many \
              packets.",
        fix: "Let the server keep connections (`keepalive_timeout` of nginx), and its clients and proxies use \
              them (`keepalive` and `proxy_http_version 1.1` in nginx).",
        source: "RFC 9112 section 9.3",
        judge: new_connections,
    },
    Check {
        id: "app.upstream",
        title: "waiting for other servers",
        gain: Gain::of(30.0, 60.0, 5.0, 0.0),
        expected: "the time that the other server takes",
        risk: Risk::Process,
        lost: "nothing",
        why: "A proxy, or a server with a database, is as slow as what it asks. Its own CPU time is small then.",
        fix: "Look at the other server: `velodrome tune audit --pid` there. Connections that never open point at \
              an address, a firewall, or a full backlog.",
        source: "struct tcp_info, tcpi_last_data_sent and tcpi_last_data_recv",
        judge: upstream,
    },
];

/// The sockets of both readings, by port and peer.
pub(super) struct Pairs<'h> {
    all: Vec<(Option<&'h TcpSocket>, &'h TcpSocket)>,
}

impl<'h> Pairs<'h> {
    pub(super) fn of(host: &'h HostReading) -> Result<Self, Finding> {
        super::server(host)?;
        let Some(now) = &host.now.sockets else {
            return Finding::unknown("its sockets cannot be seen");
        };
        if host.seconds.is_none() {
            return Finding::unknown("needs two readings of the server");
        }
        let before: BTreeMap<_, _> =
            host.before.sockets.iter().flatten().map(|one| (one.key(), one)).collect();
        let is_connection = |one: &&TcpSocket| one.side != Side::Listens;
        let pair = |one: &'h TcpSocket| (before.get(&one.key()).copied(), one);
        Ok(Self { all: now.iter().filter(is_connection).map(pair).collect() })
    }

    /// How many connections there are now.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// The increase of a number over all connections.
    pub(super) fn moved(&self, name: &str) -> u64 {
        let of = |(before, now): &(Option<&TcpSocket>, &TcpSocket)| {
            now.number(name).saturating_sub(before.map_or(0, |one| one.number(name)))
        };
        self.all.iter().map(of).sum()
    }
}

/// Segments that are sent again, in percent, from which they cost.
const RESENT: f64 = 0.1;

/// Seconds that a loss costs its connection: a fast repetition, and a timeout.
const LOSS: (f64, f64) = (0.02, 0.25);

fn losses(host: &HostReading) -> Judged {
    let pairs = Pairs::of(host)?;
    let (resent, sent) = (pairs.moved("resent"), pairs.moved("data_sent"));
    // Connections that have ended took their counts with them.
    let of_host = host.moved(|counters| counters.network("Tcp.RetransSegs")).unwrap_or(0);
    let timeouts = host.moved(|counters| counters.network("TcpExt.TCPTimeouts")).unwrap_or(0);
    let share = 100.0 * resent as f64 / (sent.max(resent)).max(1) as f64;
    let text = format!(
        "{resent} of {sent} segments were sent again {}; {of_host} in its network namespace, {timeouts} after \
         a timeout",
        host.span()
    );
    if resent < 2 || share < RESENT {
        return Finding::good(text);
    }
    // Time for which connections waited, relative to the time of all connections.
    let whole = host.seconds.unwrap_or(1.0) * pairs.all.len().max(1) as f64;
    let lost = |each: f64| (100.0 * resent as f64 * each / whole).min(95.0);
    Finding::scaled(text, Percent::between(lost(LOSS.0), lost(LOSS.1).max(share)))
}

/// Timeouts of one connection in a row from which its packets are taken to vanish.
const IN_A_ROW: u64 = 2;

/// Size of a segment from which it may be too large for a path (the least MTU of IPv4 hosts, RFC 1122, without heads).
const LARGE: u64 = 536;

fn black_hole(host: &HostReading) -> Judged {
    let pairs = Pairs::of(host)?;
    let hangs = |one: &TcpSocket| {
        let in_a_row = one.number("backoff").max(one.number("retransmits"));
        in_a_row >= IN_A_ROW && one.number("unacked") > 0
    };
    let hanging: Vec<&TcpSocket> =
        pairs.all.iter().map(|(_, now)| *now).filter(|one| one.state == 1 && hangs(one)).collect();
    let full = |one: &&&TcpSocket| {
        let size = one.number("mss");
        size > LARGE && one.number("send_queue") >= size
    };
    let full = hanging.iter().filter(full).count();
    let all = pairs.all.len();
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

/// New connections per second from which they cost.
const OPENED: f64 = 100.0;

/// Segments that a connection with one request receives: two for the handshake, the request, acknowledgements, its end.
const OF_ONE: f64 = 12.0;

/// Seconds of CPU time for a connection, more than for a request.
const OF_A_CONNECTION: (f64, f64) = (15e-6, 50e-6);

fn new_connections(host: &HostReading) -> Judged {
    super::server(host)?;
    let accepted = host.moved(|counters| counters.network("Tcp.PassiveOpens"));
    let (Some(accepted), Some(seconds)) = (accepted, host.seconds) else {
        return Finding::unknown("needs two readings of /proc/net/snmp");
    };
    let segments = host.moved(|counters| counters.network("Tcp.InSegs")).unwrap_or(0);
    let rate = accepted as f64 / seconds;
    let each = segments as f64 / accepted.max(1) as f64;
    let text = format!(
        "{rate:.0} new connections per second in its network namespace, and {each:.0} segments received for \
         each"
    );
    // Both ends of a connection within this host receive.
    let has_near = host.now.sockets.iter().flatten().any(TcpSocket::is_near);
    let of_one = if has_near { OF_ONE * 2.0 } else { OF_ONE };
    if rate < OPENED || each > of_one {
        return Finding::good(text);
    }
    let lost = |each: f64| {
        let run = CpuWait::of(host).map_or(seconds, |wait| wait.run).max(0.05);
        (100.0 * accepted as f64 * each / run).min(70.0)
    };
    Finding::scaled(text, Percent::between(lost(OF_A_CONNECTION.0), lost(OF_A_CONNECTION.1)))
}

/// Milliseconds without an answer from which a connection to another server waits.
const SLOW_MS: u64 = 5;

fn upstream(host: &HostReading) -> Judged {
    let pairs = Pairs::of(host)?;
    let opened: Vec<&TcpSocket> =
        pairs.all.iter().map(|(_, now)| *now).filter(|one| one.side == Side::Opened).collect();
    if opened.is_empty() {
        return Finding::good("it has no connections to other servers");
    }
    let is_opening = |one: &&&TcpSocket| one.state == 2;
    let is_asked = pairs
        .all
        .iter()
        .any(|(_, now)| now.side == Side::Accepted && now.number("received_queue") > 0);
    let waits = |one: &&&TcpSocket| {
        let (sent, received) = (one.number("last_sent_ms"), one.number("last_received_ms"));
        // The last data received came before the last data sent; at once before it, if clients wait for this.
        let is_asking = received > sent + SLOW_MS || (received >= sent && is_asked);
        one.state == 1 && one.number("data_sent") > 0 && is_asking && sent > SLOW_MS
    };
    let opening = opened.iter().filter(is_opening).count();
    // At one of the two moments an answer may just have come.
    let of = |all: Vec<&'_ TcpSocket>| -> Vec<TcpSocket> {
        all.iter().filter(waits).map(|one| (*one).clone()).collect()
    };
    let earlier = pairs.all.iter().filter_map(|(before, _)| *before);
    let earlier = of(earlier.filter(|one| one.side == Side::Opened).collect());
    let waiting = of(opened.clone());
    let waiting = if waiting.is_empty() { earlier } else { waiting };
    let longest = waiting.iter().map(|one| one.number("last_sent_ms")).max().unwrap_or(0);
    let first = opened.iter().find(|one| one.state == 2).copied();
    let whom = waiting.first().or(first).map_or("", |one| &*one.peer);
    let text = format!(
        "{} connections to other servers: {} wait for an answer, the longest for {longest} ms, {opening} are \
         not open yet{}{whom}",
        opened.len(),
        waiting.len(),
        if whom.is_empty() { "" } else { "; to " }
    );
    let wait = CpuWait::of(host).or_else(Finding::unknown)?;
    let idle =
        1.0 - (wait.run / host.seconds.unwrap_or(1.0) / wait.cpus.len().max(1) as f64).min(1.0);
    let share = (waiting.len() + opening) as f64 / opened.len() as f64;
    if share < 0.3 || idle < 0.3 {
        return Finding::good(text);
    }
    Finding::measured(text, Percent::between(share * idle * 50.0, share * idle * 100.0))
}
