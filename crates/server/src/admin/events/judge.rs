//! The troubles of a scheduler, from two of its reports.
//!
//! Owns the thresholds' meaning. A pure function: the same two reports always tell the same, and two of a quiet
//! scheduler tell nothing. Never keeps anything.

use pages::{Noticed, Remark};
use proxy::{Readiness, ServerStanding, ServerView};

use crate::events::{Kind, Trouble, Vitals};
use crate::limits::{
    CONNECTIONS_NEAR, CORE_WANTED_NS, ERRORS_MANY, HANDSHAKES_FAILED_MANY, LATE_NS,
    MAILBOX_FULL_MANY,
};
use crate::link_report::LinkReport;
use crate::message::LogReport;
use crate::upstream_report::{ServerReport, UpstreamReport, reason_of};

/// The events between two reports of a scheduler, of which there may be no first one.
pub(super) fn judge(scheduler: usize, before: Option<&Vitals>, now: &Vitals) -> Vec<Trouble> {
    let mut found: Vec<Trouble> = now.remarks.iter().map(of_remark).collect();
    if let (Some(last), 1..) = (found.last_mut(), now.remarks_left_out) {
        last.text +=
            &format!("; {} further remarks about pages were left out", now.remarks_left_out);
    }
    found.extend(of_turns(now));
    found.extend(of_bounds(now));
    if let Some(before) = before {
        found.extend(of_core(before, now));
        found.extend(of_network(before, now));
        found.extend(of_channels(before, now));
        found.extend(of_store(before, now));
        found.extend(of_errors(before, now));
        found.extend(of_rest(before, now));
    }
    found.extend(of_cluster(before, now));
    found.extend(of_nats(before, now));
    let mut found: Vec<Trouble> = found.into_iter().map(|one| one.at(scheduler)).collect();
    // All schedulers see the same servers: of each there is one event.
    found.extend(of_upstreams(before.map_or(&[], |before| &before.upstreams), &now.upstreams));
    found
}

fn of_remark(remark: &Remark) -> Trouble {
    let Remark { noticed, place, text, calls } = remark;
    let (kind, line) = match noticed {
        Noticed::LongSlice(ns) => {
            let line = format!("{place} ran for {} ms without an interruption", ns / 1_000_000);
            (Kind::LongSlice, line)
        }
        Noticed::MuchCpu(ns) => {
            let line = format!("{place} has used {} ms of CPU time and goes on", ns / 1_000_000);
            (Kind::MuchCpu, line)
        }
        Noticed::Ended(bound) => (Kind::PageEnded, format!("{place} was ended ({bound}): {text}")),
        Noticed::MailboxFull(times) => {
            let line = format!("the mailbox of a process at {place} was full for {times} messages");
            (Kind::PageMailbox, line)
        }
        Noticed::SpawnRefused => {
            (Kind::PageProcesses, format!("{place} could not spawn a process: full"))
        }
        Noticed::FetchFailed => (Kind::FetchFailed, format!("a fetch at {place} failed: {text}")),
    };
    Trouble::new(kind, place, line).because(calls.iter().skip(1).cloned().collect())
}

fn of_turns(now: &Vitals) -> Vec<Trouble> {
    let mut found = Vec::new();
    let remarkable = now.remarkable;
    if remarkable.long_turns > 0 {
        let longest_ms = remarkable.longest_ns / 1_000_000;
        let which = match remarkable.long_turns {
            1 => format!("a turn took {longest_ms} ms"),
            turns => format!("{turns} turns were long, the longest {longest_ms} ms"),
        };
        let kind = now.longest_kind;
        let text = format!("{which}, most of it for a process of the kind `{kind}`");
        found.push(Trouble::new(Kind::LongTurn, "", text));
    }
    if remarkable.late_ns >= LATE_NS {
        let text = format!("a deadline was noticed {} ms late", remarkable.late_ns / 1_000_000);
        found.push(Trouble::new(Kind::TimersLate, "", text));
    }
    found
}

fn of_bounds(now: &Vitals) -> Vec<Trouble> {
    let mut found = Vec::new();
    let whose = ["requests of pages", "processes of pages"];
    for (whose, (held, bound)) in whose.into_iter().zip(now.page_memory) {
        if Vitals::is_memory_short((held, bound)) {
            let text = format!("{whose} hold {} of {}", mib(held), mib(bound));
            let one = |(page, bytes): &(String, u64)| {
                let bytes = usize::try_from(*bytes).unwrap_or(usize::MAX);
                format!("{page} has allocated {} since the start", mib(bytes))
            };
            let cause = now.allocating.iter().map(one).collect();
            found.push(Trouble::new(Kind::PageMemory, whose, text).because(cause));
        }
    }
    let (held, bound) = (now.runtime.buffered_bytes, now.bounds.buffered_bytes);
    let held = usize::try_from(held).unwrap_or(usize::MAX);
    if bound > 0 && held >= bound / 4 * 3 {
        let text = format!("input and output that wait hold {} of {}", mib(held), mib(bound));
        found.push(Trouble::new(Kind::Buffers, "", text));
    }
    let bound = now.bounds.connections;
    if bound > 0 && now.processes.saturating_mul(100) >= bound.saturating_mul(CONNECTIONS_NEAR) {
        let text = format!("{} of {bound} connections are in use", now.processes);
        found.push(Trouble::new(Kind::Connections, "", text));
    }
    found
}

fn mib(bytes: usize) -> String {
    format!("{} MiB", bytes >> 20)
}

/// Whether it had its core when it wanted it.
fn of_core(before: &Vitals, now: &Vitals) -> Option<Trouble> {
    let passed_ns = now.now_ns.saturating_sub(before.now_ns);
    let asleep_ns = now.runtime.asleep_ns - before.runtime.asleep_ns.min(now.runtime.asleep_ns);
    let wanted_ns = passed_ns.saturating_sub(asleep_ns);
    let had_ns = now.cpu_ns.saturating_sub(before.cpu_ns);
    let is_starved = wanted_ns >= CORE_WANTED_NS && had_ns < wanted_ns / 2;
    is_starved.then(|| {
        let (had, wanted) = (had_ns / 1_000_000, wanted_ns / 1_000_000);
        let text = format!("it had its core for {had} ms of {wanted} ms in which it wanted it");
        Trouble::new(Kind::Starved, "", text)
    })
}

fn of_network(before: &Vitals, now: &Vitals) -> Vec<Trouble> {
    let mut found = Vec::new();
    let (old, new) = (&before.runtime, &now.runtime);
    let shed = [
        ("refused: no room or descriptor", old.accepts_refused, new.accepts_refused),
        ("answered 503: no memory", old.accepts_overloaded, new.accepts_overloaded),
        ("ended: they held most of the memory", old.ended_for_memory, new.ended_for_memory),
        ("pauses of accepting", old.accept_pauses, new.accept_pauses),
    ];
    let cause: Vec<String> = shed
        .into_iter()
        .filter(|(_, old, new)| new > old)
        .map(|(what, old, new)| format!("{} {what}", new - old))
        .collect();
    if !cause.is_empty() {
        let text = format!("connections were turned away: {}", cause.join(", "));
        found.push(Trouble::new(Kind::LoadShed, "", text));
    }
    let failed = new.handshakes_failed.saturating_sub(old.handshakes_failed);
    if failed >= HANDSHAKES_FAILED_MANY {
        let text = format!("{failed} TLS handshakes failed");
        found.push(Trouble::new(Kind::Handshakes, "", text));
    }
    let full = new.mail.full.saturating_sub(old.mail.full);
    if full >= MAILBOX_FULL_MANY {
        let text = format!("another thread had no room for {full} messages");
        found.push(Trouble::new(Kind::Mailbox, "", text));
    }
    if new.panics > old.panics {
        let text = format!("{} handlers panicked", new.panics - old.panics);
        found.push(Trouble::new(Kind::Panic, "", text));
    }
    found
}

fn of_channels(before: &Vitals, now: &Vitals) -> Vec<Trouble> {
    let mut found = Vec::new();
    let (old, new) = (&before.channels, &now.channels);
    let (name, times) = &now.slow;
    if *times > 0 {
        let ended = new.disconnected_slow.saturating_sub(old.disconnected_slow);
        let lost = new.dropped.saturating_sub(old.dropped);
        let channel = name.as_deref().unwrap_or("a pattern");
        let text = format!(
            "{times} subscribers were too slow, the last of {channel}: {ended} disconnected, {lost} \
             messages left out"
        );
        found.push(Trouble::new(Kind::SlowConsumer, channel, text));
    }
    let evicted = new.evicted.saturating_sub(old.evicted);
    if evicted > 0 {
        let text = format!("{evicted} messages were dropped from histories for want of memory");
        found.push(Trouble::new(Kind::ChannelEvicted, "", text));
    }
    found
}

fn of_store(before: &Vitals, now: &Vitals) -> Vec<Trouble> {
    let mut found = Vec::new();
    let (old, new) = (&before.store, &now.store);
    if new.failed > old.failed {
        let text = format!("{} orders failed", new.failed - old.failed);
        found.push(Trouble::new(Kind::StoreFailed, "", text));
    }
    if old.under_way > 0 && new.under_way > 0 && old.messages == new.messages {
        let text = format!("the writer has answered nothing, {} bytes wait for it", new.under_way);
        found.push(Trouble::new(Kind::StoreStuck, "", text));
    }
    found
}

/// Whether many answers were errors, and of which route most were.
fn of_errors(before: &Vitals, now: &Vitals) -> Option<Trouble> {
    let errors = now.errors.saturating_sub(before.errors);
    if errors < ERRORS_MANY {
        return None;
    }
    let grown = now.erring.iter().map(|(name, count)| {
        let old = before.erring.iter().find(|(old, _)| old == name);
        (name, count.saturating_sub(old.map_or(0, |(_, count)| *count)))
    });
    let worst = grown.max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0);
    let (thing, most) = match worst {
        Some((name, count)) => (&**name, format!(", {count} of them by the route {name}")),
        None => ("", String::new()),
    };
    let text = format!("{errors} answers had a status of 5xx{most}");
    Some(Trouble::new(Kind::ServerErrors, thing, text))
}

fn of_rest(before: &Vitals, now: &Vitals) -> Vec<Trouble> {
    let mut found = Vec::new();
    let lost = now.lost_lines.saturating_sub(before.lost_lines);
    if lost > 0 {
        found.push(Trouble::new(Kind::LogLost, "", format!("{lost} lines were lost")));
    }
    let lost = now.lost_spans.saturating_sub(before.lost_spans);
    if let (1.., Some(why)) = (lost, &now.span_loss) {
        let text = format!("{lost} spans were lost: {why}");
        found.push(Trouble::new(Kind::SpansLost, "", text));
    }
    for limit in &now.limits {
        let old = before.limits.iter().find(|old| old.name == limit.name);
        let refused = limit.refused.saturating_sub(old.map_or(limit.refused, |old| old.refused));
        if refused > 0 {
            let text = format!("the limit {} refused {refused} uses", limit.name);
            found.push(Trouble::new(Kind::Limit, &*limit.name, text));
        }
    }
    found
}

/// Lines that the writer of the access log has lost, and whether it could not open it again.
pub(super) fn of_log(before: LogReport, now: LogReport) -> Vec<Trouble> {
    let lost = now.lost.saturating_sub(before.lost);
    let lost = (lost > 0).then(|| {
        let text = format!("{lost} lines of the access log were lost");
        Trouble::new(Kind::LogLost, "", text)
    });
    let closed = (now.not_reopened > before.not_reopened).then(|| {
        let text = "the access log could not be opened again; lines go on into the old file";
        Trouble::new(Kind::LogReopen, "", text)
    });
    lost.into_iter().chain(closed).collect()
}

/// Whether a server gets requests, apart from what operators ordered.
fn is_up(standing: ServerStanding) -> bool {
    standing == ServerStanding::Up
}

/// Whether the connection to the cluster was lost or could not be established at the start, or came back.
fn of_cluster(before: Option<&Vitals>, now: &Vitals) -> Option<Trouble> {
    // Without a reason, the first connection is under way.
    let is_away = |link: &LinkReport| !link.is_up && link.problem.is_some();
    let was_away = before.and_then(|vitals| vitals.cluster.as_ref()).is_some_and(is_away);
    let link = now.cluster.as_ref()?;
    if is_away(link) && !was_away {
        let why = link.problem.as_deref().unwrap_or_default();
        let text = format!("there is no connection to the cluster: {why}");
        return Some(Trouble::new(Kind::ClusterAway, "", text));
    }
    (was_away && link.is_up).then(|| {
        let text = format!("connected to the cluster at {}", link.server);
        Trouble::new(Kind::ClusterBack, "", text)
    })
}

/// Whether NATS has begun not to do what the cluster needs.
fn of_nats(before: Option<&Vitals>, now: &Vitals) -> Option<Trouble> {
    let problem =
        |vitals: &Vitals| vitals.cluster.as_ref().filter(|link| link.is_up)?.problem.clone();
    let text = problem(now)?;
    before.and_then(problem).is_none().then(|| Trouble::new(Kind::ClusterProblem, "", text))
}

/// Whether a server gets requests and does not fail: the last one gets them although it fails.
fn has_well_server(upstream: &UpstreamReport) -> bool {
    let is_well = |view: &ServerView| !view.is_failing && view.readiness == Readiness::Ready;
    upstream.servers.iter().any(|one| is_well(&one.view))
}

fn of_upstreams(before: &[UpstreamReport], now: &[UpstreamReport]) -> Vec<Trouble> {
    let mut found = Vec::new();
    for upstream in now {
        let old = before.iter().find(|old| old.name == upstream.name);
        let was_up = |address: &str| {
            let known = old.and_then(|old| old.servers.iter().find(|one| one.address == address));
            known.is_none_or(|one| is_up(one.view.standing))
        };
        let name = &upstream.name;
        for ServerReport { address, view, .. } in &upstream.servers {
            let (kind, gets) = match (was_up(address), is_up(view.standing)) {
                (true, false) => (Kind::ServerDown, "no more requests"),
                (false, true) => (Kind::ServerUp, "requests again"),
                _ => continue,
            };
            let why = reason_of(view);
            let text = format!("the server {address} of the upstream {name} gets {gets}: {why}");
            found.push(Trouble::new(kind, format!("{name} {address}"), text));
        }
        if !has_well_server(upstream) && old.is_none_or(has_well_server) {
            let text = format!("no server of the upstream {name} is well");
            found.push(Trouble::new(Kind::UpstreamDown, name, text));
        }
        if upstream.waiting > 0 && old.is_some_and(|old| old.waiting > 0) {
            let waiting = upstream.waiting;
            let text = format!("{waiting} requests wait for a place at the upstream {name}");
            found.push(Trouble::new(Kind::UpstreamQueue, name, text));
        }
    }
    found
}
