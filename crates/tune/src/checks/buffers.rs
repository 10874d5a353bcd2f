//! Buffers of the server's connections: too small for its answers, or full because clients read slowly.

use crate::calls::{CostlyCalls, ServerCalls};
use crate::check::{Check, Gain, Risk};
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::tcp::TcpSocket;

use super::calls::recorded;
use super::groups::starved_sockets;
use super::pairs::Pairs;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "app.sndbuf",
        title: "connections whose send buffer is full",
        gain: Gain::of(20.0, 20.0, 0.0, 0.0),
        expected: "the time for which data could be sent, and the buffer was too small to have it",
        risk: Risk::Process,
        lost: "memory for each connection with a large answer",
        why: "A program that sets SO_SNDBUF switches off the kernel's own sizing. With less than a window of \
              data in the buffer, the connection waits for the program after each acknowledgement.",
        fix: "Do not set SO_SNDBUF; raise the third number of net.ipv4.tcp_wmem.",
        source: "tcp(7); struct tcp_info, tcpi_sndbuf_limited",
        judge: send_buffer,
    },
    Check {
        id: "net.receivers",
        title: "clients that read slowly",
        gain: Gain::of(0.0, 10.0, 5.0, 0.0),
        expected: "nothing that this host could change",
        risk: Risk::Process,
        lost: "nothing",
        why: "When the receive window of a client is full, the server has to wait. Each such connection holds \
              memory, and a thread if the server has one for each.",
        fix: "An event loop or a proxy in front of servers with a thread per connection; timeouts for slow \
              readers.",
        source: "struct tcp_info, tcpi_rwnd_limited",
        judge: receivers,
    },
];

/// The price of send buffers that are too small: if writes find them full, the server waits between them.
pub(super) fn of_small_buffers(host: &HostReading, busy: f64) -> Percent {
    let fails = |one: &CostlyCalls| one.text.contains(FULL);
    match recorded(host) {
        Ok(ServerCalls::Seen { found, .. }) if found.iter().any(fails) => {
            Percent::between(40.0, 98.0)
        }
        _ => Percent::between(busy * 50.0, (busy * 200.0).min(95.0)),
    }
}

/// Bytes of a receive buffer from which it is large enough for most uploads of one room; and windows of it that a
/// connection receives in a second, from which it is in its way.
const SMALL: u64 = 64 << 10;
const WINDOWS: f64 = 20.0;

/// Segments received for each that is sent, from which something large comes: an upload, the answer of another server.
const LARGE: u64 = 8;

/// The price of windows that a client has to wait for.
const OF_WINDOWS: Percent = Percent { low: 40.0, high: 98.0 };

/// Connections of the server that receive much through a small buffer: after each window their client waits until the
/// server has read it. The kernel counts no time for that.
pub(super) fn small_to_receive(host: &HostReading) -> Option<Judged> {
    let pairs = Pairs::of_connections(host).ok()?;
    let (seconds, all) = (host.seconds?, pairs.count());
    let segments = pairs.increases("data_received").zip(pairs.increases("data_sent"));
    let bytes = pairs.increases("received_bytes");
    let is_small = |((one, bytes), (received, sent)): ((&TcpSocket, u64), (u64, u64))| {
        let buffer = one.number("receive_buffer");
        let windows = bytes as f64 / seconds / buffer.max(1) as f64;
        let is_in_the_way = (1..SMALL).contains(&buffer) && windows >= WINDOWS;
        (is_in_the_way && received > sent * LARGE).then_some(buffer)
    };
    let small: Vec<u64> = pairs.now().zip(bytes).zip(segments).filter_map(is_small).collect();
    let least = small.iter().min()?;
    let begin = host.text("/proc/sys/net/ipv4/tcp_rmem").unwrap_or_default();
    let begin = begin.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
    let whose = match begin.is_some_and(|begin| *least < begin) {
        true => ", less than what the kernel begins with: SO_RCVBUF was set",
        false => "",
    };
    let text = format!(
        "{} of {all} connections receive much through a small buffer (the smallest has {:.1} KiB{whose})",
        small.len(),
        *least as f64 / 1024.0
    );
    let share = small.len() as f64 / all as f64;
    let price = Percent::between(OF_WINDOWS.low * share, OF_WINDOWS.high * share);
    Some(Finding::scaled(text, price))
}

/// The words of calls that find send buffers full.
const FULL: &str = "send buffers are full";

/// Time of a busy connection, in percent, from which a limit costs.
const LIMITED: f64 = 10.0;

/// The share of the time in which connections had something to send that this limit took, in percent, and the time in
/// which they had something to send, as a share of all time.
fn limited(host: &HostReading, name: &str) -> Result<(f64, f64, usize), Finding> {
    let pairs = Pairs::of_connections(host)?;
    let (busy, limited) = (pairs.moved("busy_us"), pairs.moved(name));
    let whole = host.seconds.unwrap_or(1.0) * 1e6 * pairs.count().max(1) as f64;
    let share = 100.0 * limited as f64 / busy.max(1) as f64;
    Ok((share, (busy as f64 / whole).min(1.0), pairs.count()))
}

/// The share of the time in which the server's connections had something to send.
pub(super) fn busy(host: &HostReading) -> Option<f64> {
    limited(host, "buffer_full_us").ok().map(|(_, busy, _)| busy)
}

/// The same without that in which clients had no room.
pub(super) fn busy_sending(host: &HostReading) -> Option<f64> {
    limited(host, "peer_full_us").ok().map(|(share, busy, _)| busy * (1.0 - share / 100.0).max(0.0))
}

fn send_buffer(host: &HostReading) -> Judged {
    let (share, busy, count) = limited(host, "buffer_full_us")?;
    let sockets = host.now.sockets.iter().flatten().filter(|one| one.side.is_connection());
    let least = sockets.map(|one| one.number("send_buffer")).filter(|size| *size > 0).min();
    let text = format!(
        "{count} connections had something to send {:.0} % of the time; {share:.0} % of that the buffer was \
         full (the smallest has {} KiB)",
        busy * 100.0,
        least.unwrap_or(0) >> 10
    );
    if let Some(why) = starved_sockets(host) {
        return Finding::good(format!("{text}; {why}: see env.memory"));
    }
    // The kernel begins with more, and lets it grow: less was asked for with SO_SNDBUF.
    let begin = host.text("/proc/sys/net/ipv4/tcp_wmem").unwrap_or_default();
    let begin = begin.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
    if least.zip(begin).is_some_and(|(least, begin)| least < begin) && busy > 0.02 {
        let text = format!("{text}, less than what the kernel begins with: SO_SNDBUF was set");
        return Finding::scaled(text, of_small_buffers(host, busy));
    }
    if share < LIMITED || busy < 0.02 {
        return Finding::good(text);
    }
    Finding::measured(text, Percent::between(share * busy * 0.5, share))
}

fn receivers(host: &HostReading) -> Judged {
    let (share, busy, count) = limited(host, "peer_full_us")?;
    let text = format!(
        "{count} connections had something to send {:.0} % of the time; {share:.0} % of that their client had \
         no room",
        busy * 100.0
    );
    if share < LIMITED * 3.0 || busy < 0.1 {
        Finding::good(text)
    } else {
        Finding::set(text, share / 100.0)
    }
}
