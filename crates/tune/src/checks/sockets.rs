//! Sockets: accept queues, ports, memory.

use std::collections::BTreeMap;

use crate::check::{Check, Gain, Risk};
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::lines::named;
use crate::tcp::{Side, TcpSocket};

use super::calls::of_server;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "stack.somaxconn",
        title: "the accept queue limit",
        gain: Gain::of(3.0, 15.0, 20.0, 0.0),
        expected: "no dropped connections in bursts; nothing else",
        risk: Risk::Reversible,
        lost: "nothing",
        why: "A connection that arrives while the queue is full is dropped, and its client retries after a \
              second.",
        fix: "sysctl net.core.somaxconn=4096, and an equal backlog in the server; then restart the server.",
        source: "Seastar, perftune.py; tuned",
        judge: somaxconn,
    },
    Check {
        id: "stack.ports",
        title: "local ports for outgoing connections",
        gain: Gain::of(5.0, 10.0, 30.0, 0.0),
        expected: "twice as many; for clients, proxies and load generators, never for a listener",
        risk: Risk::Reversible,
        lost: "nothing",
        why: "Each connection to the same address and port needs its own local port. A closed connection \
              keeps its port for a minute.",
        fix: "sysctl net.ipv4.ip_local_port_range='10240 65535'",
        source: "docs.kernel.org, ip-sysctl; Netflix 2017",
        judge: ports,
    },
    Check {
        id: "stack.tw",
        title: "ports of closed connections",
        gain: Gain::of(3.0, 5.0, 10.0, 0.0),
        expected: "none for a listener; free ports for a client",
        risk: Risk::Host,
        lost: "certainty that a late packet of an old connection is not taken for one of a new connection",
        why: "When the table of closed connections is full, they are forgotten too early.",
        fix: "sysctl net.ipv4.tcp_max_tw_buckets=262144; persistent connections need neither.",
        source: "docs.kernel.org, ip-sysctl",
        judge: ended,
    },
    Check {
        id: "stack.tcpmem",
        title: "memory of TCP",
        gain: Gain::of(5.0, 20.0, 50.0, 10.0),
        expected: "no stalls; room for very many connections",
        risk: Risk::Host,
        lost: "memory for other purposes",
        why: "Above the second number of `tcp_mem` windows shrink, above the third packets are dropped.",
        fix: "sysctl net.ipv4.tcp_mem='…', in pages: a fifth, a quarter and a third of the memory.",
        source: "docs.kernel.org, ip-sysctl; Seastar, perftune.py",
        judge: memory,
    },
    Check {
        id: "stack.file",
        title: "the limit of open files of the system",
        gain: Gain::of(0.0, 5.0, 80.0, 0.0),
        expected: "no connections beyond the limit without it",
        risk: Risk::Reversible,
        lost: "nothing",
        why: "Each socket counts as an open file of the system; a single program may have at most \
              `fs.nr_open`.",
        fix: "sysctl fs.file-max=4194304 fs.nr_open=2097152",
        source: "docs.kernel.org, sysctl/fs",
        judge: files,
    },
    Check {
        id: "app.fastopen",
        title: "TCP fast open",
        gain: Gain::of(0.0, 4.0, 0.0, 0.0),
        expected: "one round trip per new connection of a returning client; nothing for persistent \
                   connections",
        risk: Risk::Host,
        lost: "a request may be delivered twice; some networks drop such packets",
        why: "A returning client may send its request in the first packet, if the kernel and the listener \
              allow it.",
        fix: "sysctl net.ipv4.tcp_fastopen=3, and TCP_FASTOPEN on the listener: `fastopen=256` of nginx's \
              `listen`. Velodrome does not set it, because a request could be repeated.",
        source: "RFC 7413; docs.kernel.org, ip-sysctl",
        judge: first_packet,
    },
    Check {
        id: "stack.notsent",
        title: "unsent data per connection",
        gain: Gain::of(0.0, 2.0, 8.0, 3.0),
        expected: "memory of large answers to slow clients; fresher data at the end",
        risk: Risk::Reversible,
        lost: "a few more wake-ups per large answer",
        why: "Without a limit, a server hands the kernel as much of an answer as the socket buffer accepts, \
              for each slow client.",
        fix: "sysctl net.ipv4.tcp_notsent_lowat=131072; Velodrome sets it for its own connections.",
        source: "tuned, network-throughput; docs.kernel.org, ip-sysctl",
        judge: unsent,
    },
    Check {
        id: "stack.rwmem",
        title: "socket buffers",
        gain: Gain::of(2.0, 2.0, 20.0, 8.0),
        expected: "memory of very many connections; speed of large answers over long distances, if buffers \
                   are small",
        risk: Risk::Host,
        lost: "some speed at the beginning of a connection",
        why: "Each connection starts with the second number of tcp_rmem and tcp_wmem and may grow to the \
              third. Multiplied by the number of connections, that is memory; a path of 100 ms at 1 Gbit/s \
              holds 12 MiB.",
        fix: "sysctl net.ipv4.tcp_rmem='4096 131072 16777216' net.ipv4.tcp_wmem='4096 16384 16777216'",
        source: "docs.kernel.org, ip-sysctl; tuned, network-throughput",
        judge: buffers,
    },
];

/// Connections that may wait at a listener of the server: the one that has dropped most since the first reading, or has
/// least room.
pub(super) fn accept_queue_room(host: &HostReading) -> Option<u64> {
    let listens = |one: &&TcpSocket| one.side == Side::Listens;
    let before: BTreeMap<_, u64> = host
        .before
        .sockets
        .iter()
        .flatten()
        .filter(listens)
        .map(|one| (one.key(), one.number("drops")))
        .collect();
    let now = host.now.sockets.iter().flatten().filter(listens);
    let dropped = |one: &TcpSocket| {
        one.number("drops").saturating_sub(before.get(&one.key()).copied().unwrap_or(0))
    };
    now.map(|one| (dropped(one), one.number("send_queue")))
        .max_by_key(|&(dropped, room)| (dropped, std::cmp::Reverse(room)))
        .map(|(_, room)| room)
}

/// Seconds that a connection takes of its client where nothing is dropped. A dropped one costs at least [`RETRY`].
const CONNECTION: f64 = 0.02;

/// Seconds until a client whose connection was dropped tries again (RFC 6298 section 2, initial timeout).
const RETRY: f64 = 1.0;

/// Connections that were dropped between the readings because an accept queue was full, in words, and their price:
/// at least a part of the connections, at most the part of the clients' time that is spent waiting to try again.
pub(super) fn overflowed(host: &HostReading) -> Option<(String, Percent)> {
    let dropped = host.moved(|counters| counters.network("TcpExt.ListenOverflows"))?;
    if dropped == 0 || host.seconds.is_none() {
        return None;
    }
    let accepted = host.moved(|counters| counters.network("Tcp.PassiveOpens")).unwrap_or(0);
    let share = 100.0 * dropped as f64 / (dropped + accepted) as f64;
    let text = format!("{dropped} connections were dropped and {accepted} opened {}", host.span());
    let waited = dropped as f64 * RETRY;
    let of_time = 100.0 * waited / (waited + accepted as f64 * CONNECTION);
    Some((text, Percent::between(share * 0.5, of_time.min(95.0))))
}

fn somaxconn(host: &HostReading) -> Judged {
    let most =
        Finding::known(host.sysctl("net.core.somaxconn"), "net.core.somaxconn cannot be read")?;
    let room = accept_queue_room(host);
    if let Some((text, price)) = overflowed(host) {
        return match room {
            Some(room) if room < most => {
                Finding::good(format!("{most}; the listener asks for {room}: see app.backlog"))
            }
            _ => Finding::scaled(format!("net.core.somaxconn is {most}; {text}"), price),
        };
    }
    if most < 1024 && room.is_none_or(|room| room >= most) {
        return Finding::set(format!("net.core.somaxconn is {most}"), 0.6);
    }
    match host.moved(|counters| counters.network("TcpExt.ListenOverflows")) {
        None => Finding::unknown(format!("{most}; drops are not counted here")),
        Some(dropped @ 1..) => {
            Finding::good(format!("{most}; {dropped} were dropped {}", host.span()))
        }
        Some(0) => Finding::good(format!("{most}, and none was dropped")),
    }
}

/// The `TCP:` line of `/proc/net/sockstat`.
fn sockets(host: &HostReading) -> Option<BTreeMap<String, u64>> {
    let text = host.text("/proc/net/sockstat")?;
    let line = text.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    Some(named(&words.chunks(2).map(|pair| pair.join(" ")).collect::<Vec<_>>().join("\n")))
}

/// Seconds for which a connection that has ended keeps its port (`TCP_TIMEWAIT_LEN`).
const ENDED_STAYS: f64 = 60.0;

fn ports(host: &HostReading) -> Judged {
    let range = Finding::known(
        host.text("/proc/sys/net/ipv4/ip_local_port_range"),
        "net.ipv4.ip_local_port_range cannot be read",
    )?;
    let ends: Vec<u64> = range.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [first, last] = *ends else { return Finding::unknown("the range has an unknown format") };
    let count = last.saturating_sub(first) + 1;
    let own = host
        .now
        .sockets
        .as_ref()
        .map(|all| all.iter().filter(|one| one.side == Side::Opened).count() as u64);
    let opens = host.moved(|counters| counters.network("Tcp.ActiveOpens"));
    // Connections that others in its namespace open are not the server's; without a server they may be anybody's.
    let by_anybody = host.process.is_none() || opens.is_none_or(|opens| opens > 0);
    let connects = own.map_or(by_anybody, |own| own > 0);
    let ended = Finding::known(
        sockets(host).and_then(|line| line.get("tw").copied()),
        "/proc/net/sockstat cannot be read",
    )?;
    // Others of the host end connections, too: the server's are no more than are opened in the time that they stay.
    let opens = of_server(host, opens.unwrap_or(0), |calls| calls.attempts);
    let stay = |seconds: f64| opens as f64 * ENDED_STAYS / seconds;
    let own_ended = host.seconds.map_or(f64::MAX, stay).min(ended as f64);
    let text = format!(
        "{count} ports; {} connections to others, and {ended} have just ended",
        own.unwrap_or(0)
    );
    let share = (own.unwrap_or(0) as f64 + own_ended) / count as f64;
    if share > 0.7 && connects {
        // Beyond the last port connect(2) fails with EADDRNOTAVAIL.
        let high = if share > 0.95 { 95.0 } else { 40.0 };
        return Finding::scaled(text, Percent::between(share * 20.0, high));
    }
    if !connects {
        return Finding::good(format!("{text}; it opens none"));
    }
    if count < 16_000 {
        return Finding::set(text, 0.5);
    }
    Finding::good(text)
}

fn ended(host: &HostReading) -> Judged {
    let most = Finding::known(
        host.sysctl("net.ipv4.tcp_max_tw_buckets"),
        "net.ipv4.tcp_max_tw_buckets cannot be read",
    )?;
    let ended = Finding::known(
        sockets(host).and_then(|line| line.get("tw").copied()),
        "/proc/net/sockstat cannot be read",
    )?;
    let text = format!("{ended} of {most}");
    if ended * 10 > most * 8 { Finding::seen(text, 1.0) } else { Finding::good(text) }
}

fn memory(host: &HostReading) -> Judged {
    let bounds = Finding::known(
        host.text("/proc/sys/net/ipv4/tcp_mem"),
        "net.ipv4.tcp_mem cannot be read here",
    )?;
    let bounds: Vec<u64> = bounds.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [_, pressure, most] = *bounds else {
        return Finding::unknown("tcp_mem has an unknown format");
    };
    let used = Finding::known(
        sockets(host).and_then(|line| line.get("mem").copied()),
        "/proc/net/sockstat cannot be read",
    )?;
    let count = |name: &str| host.moved(|counters| counters.network(name)).unwrap_or(0);
    let times = count("TcpExt.TCPMemoryPressures");
    let pruned =
        count("TcpExt.PruneCalled") + count("TcpExt.TCPRcvCollapsed") + count("TcpExt.RcvPruned");
    let text = format!(
        "{used} pages of {pressure} (shrinks) and {most} (drops); under pressure {times} times, {pruned} \
         buffers were shrunk {}",
        host.span()
    );
    let is_moved = host.seconds.is_some() && times > 0;
    if used * 10 >= pressure * 8 || is_moved {
        let high = if used >= pressure || is_moved { 80.0 } else { 30.0 };
        return Finding::scaled(text, Percent::between(5.0, high));
    }
    Finding::good(text)
}

fn files(host: &HostReading) -> Judged {
    let text = Finding::known(host.text("/proc/sys/fs/file-nr"), "fs.file-nr cannot be read")?;
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [used, _, most] = *numbers else {
        return Finding::unknown("fs.file-nr has an unknown format");
    };
    let each = host.sysctl("fs.nr_open").unwrap_or(0);
    if used as f64 > most as f64 * 0.8 {
        return Finding::seen(format!("{used} of {most} are open"), 1.0);
    }
    if each < 1_048_576 {
        return Finding::set(format!("a program may have {each}"), 0.5);
    }
    Finding::good(format!("{used} of {most} are open; a program may have {each}"))
}

/// The bit of `net.ipv4.tcp_fastopen` for servers.
const OF_SERVERS: u64 = 2;

fn first_packet(host: &HostReading) -> Judged {
    match host.sysctl("net.ipv4.tcp_fastopen") {
        None => Finding::unknown("net.ipv4.tcp_fastopen cannot be read"),
        Some(bits) if bits & OF_SERVERS == 0 => {
            Finding::set(format!("net.ipv4.tcp_fastopen is {bits}: not for servers"), 0.3)
        }
        Some(bits) => Finding::good(format!("net.ipv4.tcp_fastopen is {bits}")),
    }
}

fn unsent(host: &HostReading) -> Judged {
    match host.sysctl("net.ipv4.tcp_notsent_lowat") {
        None => Finding::unknown("net.ipv4.tcp_notsent_lowat cannot be read"),
        Some(bound) if bound >= u64::from(u32::MAX) => {
            Finding::set("net.ipv4.tcp_notsent_lowat has no bound", 0.5)
        }
        Some(bound) => Finding::good(format!("{bound} bytes")),
    }
}

/// Initial buffer bytes of a connection that are acceptable, both directions together.
const BEGINNING: u64 = 512 << 10;

/// Maximum buffer bytes below which answers need several turns.
const LEAST_MOST: u64 = 64 << 10;

/// Maximum buffer bytes that each direction should be allowed.
const LONG_WAY: u64 = 4 << 20;

fn buffers(host: &HostReading) -> Judged {
    let numbers = |name: &str| -> Vec<u64> {
        let text = host.text(&format!("/proc/sys/net/ipv4/{name}")).unwrap_or_default();
        text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let (receive, send) = (numbers("tcp_rmem"), numbers("tcp_wmem"));
    let ([_, begin, most], [_, send_begin, send_most]) = (&*receive, &*send) else {
        return Finding::unknown("tcp_rmem or tcp_wmem cannot be read, or has an unknown format");
    };
    if let Some(finding) = super::buffers::small_to_receive(host) {
        return finding;
    }
    if *send_most < LEAST_MOST
        && let Some(busy) = super::buffers::busy(host)
        && busy > 0.02
    {
        let text = format!(
            "a connection may have {} KiB to send, however long its answers are",
            send_most >> 10
        );
        return Finding::scaled(text, super::buffers::of_small_buffers(host, busy));
    }
    let both = begin + send_begin;
    if both > BEGINNING {
        return Finding::set(format!("a connection begins with {} KiB", both >> 10), 1.0);
    }
    let least = most.min(send_most);
    if *least < LONG_WAY {
        return Finding::set(format!("a connection may have {} KiB each way", least >> 10), 0.3);
    }
    Finding::good(format!("from {} to {} KiB", both >> 10, least >> 10))
}
