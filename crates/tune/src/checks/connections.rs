//! The server's connections: where their packets arrive, what they wait for, how often it is woken
//! for them. Judged for the process named with `--pid`.

use crate::answers::{HANDOVERS, number_of};
use crate::check::{Check, Gain, Risk};
use crate::connections::Sockets;
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::server::ServerThread;
use crate::tcp::{Side, TcpSocket};

use super::drops::drops_are_told;
use super::own_bounds::is_limited;
use super::sockets::{accept_queue_room, overflowed};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "app.reuseport",
        title: "packets that arrive on another CPU than the server's thread",
        gain: Gain::of(20.0, 25.0, 3.0, 0.0),
        expected: "2 % alone; 30 %, and a p99 40 % lower, once each socket of the group belonged to the \
                   thread of its CPU",
        risk: Risk::Process,
        lost: "an even spread, unless the device spreads packets evenly itself",
        why: "A connection belongs to one thread on one CPU. Packets that arrive on another CPU cost a \
              wake-up and cache transfers between the two.",
        fix: "First fix the device (net.queues, net.irq, net.xps), then the server: `velodrome serve --pin \
              --reuseport-cpu`; in other servers SO_ATTACH_REUSEPORT_CBPF or, from Linux 6.2, \
              SO_INCOMING_CPU, with the sockets opened in the order of the CPUs.",
        source: "libreactor issue 9; talawah.io, step 5",
        judge: elsewhere,
    },
    Check {
        id: "app.nodelay",
        title: "small writes delayed by Nagle's algorithm",
        gain: Gain::of(1.0, 20.0, 0.0, 0.0),
        expected: "up to 40 ms for an answer sent in several pieces",
        risk: Risk::Process,
        lost: "some fuller packets",
        why: "Without TCP_NODELAY, a piece that does not fill a packet waits until earlier data is \
              acknowledged, and the peer delays its acknowledgement as well.",
        fix: "TCP_NODELAY on the server's connections: `tcp_nodelay on` in nginx; Velodrome sets it.",
        source: "RFC 9293 section 3.7.4 (Nagle); tcp(7)",
        judge: waiting,
    },
    Check {
        id: "app.backlog",
        title: "the accept queue of the server",
        gain: Gain::of(1.0, 10.0, 15.0, 0.0),
        expected: "no dropped connections in bursts; nothing else",
        risk: Risk::Process,
        lost: "nothing",
        why: "The queue is as long as the server requests in listen(2), but never longer than \
              net.core.somaxconn. Connections beyond it are dropped, and their clients retry after a \
              second.",
        fix: "Raise it in the server's configuration: `backlog=` of nginx's `listen`, `backlog` of a \
              Velodrome `[[listener]]`; then restart the server.",
        source: "listen(2)",
        judge: backlog,
    },
    Check {
        id: "app.wakeups",
        title: "threads that sleep and wake up all the time",
        gain: Gain::of(10.0, 10.0, 0.0, 3.0),
        expected: "one or two microseconds of CPU each; a part of the 28 % of fewer interrupts",
        risk: Risk::Process,
        lost: "CPU time spent polling",
        why: "A thread without work for some microseconds sleeps and is woken by the next packet, and pays \
              for both each time.",
        fix: "Use a server that polls before it sleeps: `velodrome serve --spin 50us`, and `--busy-poll \
              50us` if each scheduler has its own device queue.",
        source: "docs.kernel.org, napi; sched(7)",
        judge: wake_ups,
    },
    Check {
        id: "app.irq-suspend",
        title: "interrupts of a device that the server polls",
        gain: Gain::of(5.0, 5.0, 0.0, 0.0),
        expected: "the throughput of polling without the CPU time of interrupts; up to 30 % less power at \
                   best",
        risk: Risk::Reversible,
        lost: "packets wait at most that time after the server stops polling",
        why: "A device interrupts even a server that polls it. From Linux 6.13, a device can suspend its \
              interrupts as long as epoll finds packets.",
        fix: "`ynl --family netdev --do napi-set --json '{\"id\": N, \"irq-suspend-timeout\": 20000000}'` \
              for each entry of `--dump napi-get`, with a short gro_flush_timeout and napi_defer_hard_irqs, \
              and preferred polling (EPIOCSPARAMS).",
        source: "docs.kernel.org, napi",
        judge: interrupted,
    },
];

/// Connections from which a share of them says something.
const ENOUGH: u64 = 8;

/// Share of connections that may be elsewhere: the kernel moves some when it balances.
const ELSEWHERE: f64 = 0.15;

fn sockets(host: &HostReading) -> Result<Sockets, Finding> {
    super::server(host)?;
    Finding::known(
        host.sockets(),
        "its sockets cannot be inspected: needs root, and threads that wait in epoll",
    )
}

fn elsewhere(host: &HostReading) -> Judged {
    let Sockets { connections, elsewhere, .. } = sockets(host)?;
    if host.now.cpus.len() < 2 {
        return Finding::not_here("there is one CPU");
    }
    if connections < ENOUGH {
        return Finding::unknown(format!(
            "{connections} connections with other machines, of threads that are bound to a CPU: too few"
        ));
    }
    let share = elsewhere as f64 / connections as f64;
    let text = format!("packets of {elsewhere} of {connections} connections come to another CPU");
    // Through a virtual device they come from the CPU of their sender, which may be in another container.
    let by_hardware = if host.hardware().is_empty() { BY_SOFTWARE } else { 1.0 };
    match share > ELSEWHERE {
        true => Finding::seen(text, share * by_hardware),
        false => Finding::good(text),
    }
}

/// The part of the gain that is left where no device could choose the CPU.
const BY_SOFTWARE: f64 = 0.2;

/// Share of connections that wait with a part of an answer from which it is seen.
const DELAYED: f64 = 0.2;

fn waiting(host: &HostReading) -> Judged {
    let without = match sockets(host) {
        Ok(Sockets { waiting, .. }) => Some(waiting),
        Err(_) => None,
    };
    // A part of an answer that is not sent, less than a packet, while an earlier part is not acknowledged, and the
    // window has room.
    let waits = |one: &&TcpSocket| {
        let (unsent, unacked) = (one.number("unsent"), one.number("unacked"));
        unsent > 0
            && unsent < one.number("mss")
            && unacked > 0
            && unacked < one.number("window")
            && one.number("retransmits") == 0
    };
    let accepted = |all: &Option<Vec<TcpSocket>>| -> (usize, usize) {
        let all = all.iter().flatten().filter(|one| one.side == Side::Accepted && one.state == 1);
        (all.clone().filter(waits).count(), all.count())
    };
    let ((before, all_before), (now, all_now)) =
        (accepted(&host.before.sockets), accepted(&host.now.sockets));
    let share = (before + now) as f64 / (all_before + all_now).max(1) as f64;
    if let Some(corked) = corked(host) {
        return corked;
    }
    if share >= DELAYED && without != Some(0) {
        let text = format!(
            "{} of {} connections waited for an acknowledgement with the last part of an answer",
            before + now,
            all_before + all_now
        );
        return Finding::measured(text, Percent::between(share * 70.0, share * 98.0));
    }
    match without {
        None => sockets(host).and_then(|_| Finding::unknown("not seen")),
        Some(0) => Finding::good("none"),
        Some(count) => Finding::set(
            format!("{count} of its connections are without TCP_NODELAY; none was seen waiting"),
            0.1,
        ),
    }
}

/// Answers that wait although nothing is on its way: held back with `TCP_CORK` or `MSG_MORE` for 200 ms.
fn corked(host: &HostReading) -> Option<Judged> {
    let accepted = |all: &'_ Option<Vec<TcpSocket>>| -> (usize, usize) {
        let all = all.iter().flatten().filter(|one| one.side == Side::Accepted && one.state == 1);
        let waits = |one: &&TcpSocket| {
            let unsent = one.number("unsent");
            let is_paced = one.number("pace") > 0;
            unsent > 0 && unsent < one.number("mss") && one.number("unacked") == 0 && !is_paced
        };
        (all.clone().filter(waits).count(), all.count())
    };
    let (before, now) = (accepted(&host.before.sockets), accepted(&host.now.sockets));
    let (waiting, all) = (before.0 + now.0, before.1 + now.1);
    let share = waiting as f64 / all.max(1) as f64;
    // What this host drops on its way out stays unsent, too.
    (share >= DELAYED && !drops_are_told(host)).then(|| {
        let text = format!(
            "{waiting} of {all} connections kept the last part of an answer back although nothing was on its way: \
             TCP_CORK or MSG_MORE, which are never taken back"
        );
        Finding::measured(text, Percent::between(share * 70.0, share * 98.0))
    })
}

/// Connections that a queue should have room for.
const BACKLOG: u64 = 256;

fn backlog(host: &HostReading) -> Judged {
    let of_epoll = || sockets(host).map(|sockets| sockets.backlog);
    let room = accept_queue_room(host).map_or_else(of_epoll, |room| Ok(Some(room)))?;
    let room = Finding::known(room, "no listener of it was seen")?;
    let most = host.sysctl("net.core.somaxconn");
    let is_its_own = most.is_none_or(|most| room < most);
    if let Some((text, price)) = overflowed(host)
        && is_its_own
    {
        let text = format!("a listener asked for room for {room} in listen(2); {text}");
        return match is_limited(host) {
            true => Finding::good(format!("{text}; the server accepts no more: see app.limit")),
            false => Finding::scaled(text, price),
        };
    }
    match room < BACKLOG && is_its_own {
        true => Finding::set(format!("a listener has room for {room}, and none was refused"), 0.3),
        false => Finding::good(format!("room for {room}")),
    }
}

/// Wake-ups of a thread in a second from which they cost some percent.
const WOKEN: f64 = 20_000.0;

/// Wake-ups of a thread in a second that take most of a CPU.
const WOKEN_MOST: f64 = 100_000.0;

fn wake_ups(host: &HostReading) -> Judged {
    super::server(host)?;
    let seconds = Finding::known(host.seconds, "needs two readings of the server")?;
    let rate = |(thread, now): (&u32, &ServerThread)| {
        let before = host.before.threads.get(thread)?.wake_ups?;
        Some(now.wake_ups?.saturating_sub(before) as f64 / seconds)
    };
    let rates: Vec<f64> = host.now.threads.iter().filter_map(rate).collect();
    if rates.is_empty() {
        return Finding::unknown("its threads cannot be read");
    }
    let most = rates.into_iter().fold(0.0, f64::max);
    let text = format!("a thread of it is woken {most:.0} times a second");
    if most > WOKEN { Finding::seen(text, most / WOKEN_MOST) } else { Finding::good(text) }
}

fn interrupted(host: &HostReading) -> Judged {
    if sockets(host)?.polling_us == 0 {
        return Finding::good("it does not poll devices");
    }
    let hardware = host.hardware();
    let all = host.text(HANDOVERS).unwrap_or_default();
    let suspends = |line: &str| {
        let device = line.split(' ').next()?;
        let is_hardware = hardware.iter().any(|own| own == device);
        Some((device.to_owned(), number_of(line, "suspend")?)).filter(|_| is_hardware)
    };
    let told: Vec<(String, u64)> = all.lines().filter_map(suspends).collect();
    match (told.iter().find(|(_, time)| *time == 0), told.first()) {
        (Some((device, _)), _) => Finding::set(
            format!("it polls, and {device} goes on interrupting (irq-suspend-timeout is 0)"),
            0.5,
        ),
        (None, Some((_, time))) => Finding::good(format!("off for up to {} us", time / 1000)),
        (None, None) => Finding::not_here("no device here can do that: it takes Linux 6.13"),
    }
}
