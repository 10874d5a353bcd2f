//! The servers that the server asks: how long it waits for their answers.

use crate::check::{Check, Gain, Risk};
use crate::descriptors::OpenDescriptor;
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::processes::Process;
use crate::upstreams::{self, Upstream, Upstreams};

use super::waiting::{idle_share, waiting_clients};

pub(super) const CHECKS: &[Check] = &[Check {
    id: "app.upstream",
    title: "waiting for other servers",
    gain: Gain::of(30.0, 60.0, 5.0, 0.0),
    expected: "the time that the other server takes",
    risk: Risk::Process,
    lost: "nothing",
    why: "A proxy, or a server with a database, is as slow as what it asks. Its own CPU time is small then.",
    fix: "Look at the other server: `velodrome tune audit --pid` there. If all connections to it are in use while \
          requests wait, allow more of them (`maxconn` of HAProxy, `max_conns` of nginx, the size of a pool). \
          Connections that never open point at an address, a firewall, or a full backlog.",
    source: "struct tcp_info, tcpi_last_data_sent and tcpi_last_data_recv",
    judge: upstream,
}];

/// The looks between the two readings, and the two readings themselves.
fn looks(host: &HostReading) -> Result<Upstreams, Finding> {
    let process = super::server(host)?;
    let now = Finding::known(host.now.sockets.as_ref(), "its sockets cannot be seen")?;
    Finding::known(host.seconds, "needs two readings of the server")?;
    let text = host.text(&upstreams::place(process)).unwrap_or_default();
    let mut all = Upstreams::read(&text);
    all.note(host.before.sockets.as_deref().unwrap_or_default());
    all.note(now);
    Ok(all)
}

/// Share of the connections that have to wait, and share of the CPUs that has to be idle.
const MANY: f64 = 0.3;
const IDLE: f64 = 0.3;

fn upstream(host: &HostReading) -> Judged {
    let all = looks(host)?;
    let weight = |one: &Upstream| one.waiting + one.opening;
    let servers = all.servers();
    let Some((peer, first)) = servers.iter().max_by_key(|(_, one)| (weight(one), one.seen)) else {
        return Finding::good("it has no connections to other servers");
    };
    let mean =
        |of: fn(&Upstream) -> u64| servers.values().map(of).sum::<u64>() as f64 / all.looks as f64;
    let (seen, waiting, opening) =
        (mean(|one| one.seen), mean(|one| one.waiting), mean(|one| one.opening));
    let text = format!(
        "{seen:.1} connections to other servers at {} looks: {waiting:.1} wait for an answer, the longest for {} \
         ms, {opening:.1} are not open yet",
        all.looks, first.longest_ms
    );
    // A pool may have more connections than it uses.
    let clients = waiting_clients(host);
    let held = waiting + opening;
    let of_clients = if clients >= 1.0 { (held / clients).min(1.0) } else { 0.0 };
    let share = (held / seen).min(1.0).max(of_clients);
    let idle = idle_share(host);
    if share < MANY || idle < IDLE {
        return Finding::good(text);
    }
    let whom = named(host, peer);
    let bound = match held >= seen * FULL && clients > seen * 2.0 {
        true => format!(
            "; hardly one of them is free while {clients:.0} requests of clients wait: something bounds their number"
        ),
        false => String::new(),
    };
    let text = format!("{text}; to {whom}{bound}");
    Finding::measured(text, Percent::between(share * idle * 50.0, share * idle * 100.0))
}

/// Share of the connections that are seen waiting from which there are too few of them: a wait of the first
/// milliseconds is not seen.
const FULL: f64 = 0.4;

/// An address and a port, and the program behind them if it is one of this host.
fn named(host: &HostReading, peer: &str) -> String {
    let Some((address, port)) = peer.rsplit_once('/') else { return peer.to_owned() };
    let shown = if address.contains(':') {
        format!("[{address}]:{port}")
    } else {
        format!("{address}:{port}")
    };
    let program = port.parse().ok().and_then(|port| listener(host, address, port));
    program.map_or_else(|| shown.clone(), |program| format!("{shown}, {program}"))
}

/// `TCP_LISTEN`, as the kernel writes it.
const LISTENS: &str = "0A";

/// The program that listens on this port of this host, if the address is one of this host.
fn listener(host: &HostReading, address: &str, port: u16) -> Option<String> {
    let is_near = address.parse::<std::net::IpAddr>().ok()?.to_canonical().is_loopback();
    let end = format!(":{port:04X}");
    let inode = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_it = words.get(1)?.ends_with(&end) && *words.get(3)? == LISTENS;
        is_it.then(|| words.get(9)?.parse().ok())?
    };
    let lists = ["/proc/net/tcp", "/proc/net/tcp6"].map(|list| host.text(list).unwrap_or_default());
    let sockets: Vec<u64> = lists.iter().flat_map(|text| text.lines()).filter_map(inode).collect();
    if !is_near || sockets.is_empty() {
        return None;
    }
    let process = OpenDescriptor::owner(host, &sockets)?;
    Some(format!("{} (process {process})", Process::name(host, process)?))
}
