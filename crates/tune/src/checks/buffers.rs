//! Buffers of the server's connections: too small for its answers, or full because clients read slowly.

use crate::calls::{CostlyCalls, ServerCalls};
use crate::check::{Check, Gain, Risk};
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::tcp::Side;

use super::calls::recorded;
use super::transport::Pairs;

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

/// The words of calls that find send buffers full.
const FULL: &str = "send buffers are full";

/// Time of a busy connection, in percent, from which a limit costs.
const LIMITED: f64 = 10.0;

/// The share of the time in which connections had something to send that this limit took, in percent, and the time in
/// which they had something to send, as a share of all time.
fn limited(host: &HostReading, name: &str) -> Result<(f64, f64, usize), Finding> {
    let pairs = Pairs::of(host)?;
    let (busy, limited) = (pairs.moved("busy_us"), pairs.moved(name));
    let whole = host.seconds.unwrap_or(1.0) * 1e6 * pairs.count().max(1) as f64;
    let share = 100.0 * limited as f64 / busy.max(1) as f64;
    Ok((share, (busy as f64 / whole).min(1.0), pairs.count()))
}

/// The share of the time in which the server's connections had something to send.
pub(super) fn busy(host: &HostReading) -> Option<f64> {
    limited(host, "buffer_full_us").ok().map(|(_, busy, _)| busy)
}

fn send_buffer(host: &HostReading) -> Judged {
    let (share, busy, count) = limited(host, "buffer_full_us")?;
    let sockets = host.now.sockets.iter().flatten().filter(|one| one.side != Side::Listens);
    let least = sockets.map(|one| one.number("send_buffer")).filter(|size| *size > 0).min();
    let text = format!(
        "{count} connections had something to send {:.0} % of the time; {share:.0} % of that the buffer was \
         full (the smallest has {} KiB)",
        busy * 100.0,
        least.unwrap_or(0) >> 10
    );
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
