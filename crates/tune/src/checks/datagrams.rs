//! Datagrams (UDP) that the server's sockets drop.

use crate::check::{Check, Gain, Risk};
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;

pub(super) const CHECKS: &[Check] = &[Check {
    id: "app.datagrams",
    title: "datagrams that find no room",
    gain: Gain::of(20.0, 20.0, 5.0, 0.0),
    expected: "the datagrams that are dropped",
    risk: Risk::Process,
    lost: "memory for a larger buffer",
    why: "A datagram (UDP) that arrives while the receive buffer of its socket is full is dropped, and nobody is told. \
          Bursts do that to a server that is fast enough on average.",
    fix: "SO_RCVBUF of some MiB with sysctl net.core.rmem_max, no less than that (or net.core.rmem_default for a \
          program that sets none); recvmmsg(2), or several sockets with SO_REUSEPORT. `ss -uamp` shows the buffers.",
    source: "udp(7); socket(7)",
    judge: dropped,
}];

fn dropped(host: &HostReading) -> Judged {
    super::server(host)?;
    let now = Finding::known(host.now.datagrams.as_ref(), "/proc/net/udp cannot be read")?;
    Finding::known(host.seconds, "needs two readings of the server")?;
    if now.is_empty() {
        return Finding::not_here("it has no UDP sockets");
    }
    let before = host.before.datagrams.as_ref();
    let of = |(inode, one): (&u64, &crate::datagrams::DatagramSocket)| {
        let earlier = before.and_then(|all| all.get(inode)).map_or(0, |one| one.dropped);
        (one.dropped.saturating_sub(earlier), one.port)
    };
    let dropped: u64 = now.iter().map(of).map(|(count, _)| count).sum();
    let (_, port) = now.iter().map(of).max().unwrap_or_default();
    let moved = |name: &str| host.moved(|counters| counters.network(name)).unwrap_or(0);
    let (received, full) = (moved("Udp.InDatagrams"), moved("Udp.RcvbufErrors"));
    let text = format!(
        "its {} UDP sockets dropped {dropped} datagrams {}, mostly at port {port}; in its network namespace {full} \
         found a full buffer (RcvbufErrors), and {received} were received",
        now.len(),
        host.span()
    );
    if dropped == 0 {
        return Finding::good(format!(
            "none of its {} UDP sockets dropped any {}",
            now.len(),
            host.span()
        ));
    }
    // Some of those that were received may be of other programs.
    let share = 100.0 * dropped as f64 / (dropped + received) as f64;
    Finding::measured(text, Percent::between(share, share * 1.5))
}
