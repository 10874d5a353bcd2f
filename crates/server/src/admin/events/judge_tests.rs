//! Goal: each kind of trouble that shows in a scheduler's numbers is named, with the thing, and a quiet scheduler names
//! none.

use std::sync::Arc;

use pages::{Noticed, Remark};
use proxy::{HealthReason, Readiness, ServerStanding, ServerView};
use quota::LimitCounts;

use super::judge::{judge, of_log};
use crate::events::{Kind, SchedulerBounds, Trouble, Vitals};
use crate::limits::{HANDSHAKES_FAILED_MANY, LATE_NS, MAILBOX_FULL_MANY};
use crate::link_report::LinkReport;
use crate::message::LogReport;
use crate::upstream_report::{ServerReport, UpstreamReport};

const S: u64 = 1_000_000_000;
const MIB: usize = 1 << 20;

/// A scheduler that has just slept for a second.
fn quiet(second: u64) -> Vitals {
    let mut vitals = Vitals {
        now_ns: second * S,
        cpu_ns: second * 1_000_000,
        longest_kind: "http",
        processes: 10,
        bounds: SchedulerBounds { connections: 100, buffered_bytes: 100 * MIB },
        page_memory: [(10 * MIB, 100 * MIB), (0, 100 * MIB)],
        upstreams: vec![upstream(ServerStanding::Up, 0)],
        ..Vitals::default()
    };
    vitals.runtime.asleep_ns = second * (S - 1_000_000);
    vitals
}

fn upstream(standing: ServerStanding, waiting: usize) -> UpstreamReport {
    let view = ServerView {
        standing,
        reason: HealthReason::Started,
        since_ns: 0,
        readiness: Readiness::Ready,
        open: 0,
        requests: 0,
        failures: 0,
        is_failing: standing != ServerStanding::Up,
    };
    let server = |address: &str, view| ServerReport { address: address.to_owned(), view, for_s: 0 };
    let up = ServerView { standing: ServerStanding::Up, is_failing: false, ..view };
    let servers = match waiting {
        0 => vec![server("10.0.0.1:80", view), server("10.0.0.2:80", up)],
        _ => vec![server("10.0.0.1:80", view)],
    };
    UpstreamReport { name: "api".to_owned(), waiting, servers }
}

/// The trouble that is found when this happened to a quiet scheduler within a second.
fn found(change: impl FnOnce(&mut Vitals)) -> Vec<Trouble> {
    let mut now = quiet(2);
    change(&mut now);
    judge(3, Some(&quiet(1)), &now)
}

fn remark(noticed: Noticed) -> Remark {
    let calls = vec!["a.page.html:7 in work".to_owned(), "a.page.html:9".to_owned()];
    Remark { noticed, place: "a.page.html:7".to_owned(), text: "too long".to_owned(), calls }
}

#[test]
fn a_quiet_scheduler_names_nothing() {
    assert_eq!(found(|_| {}), []);
    assert_eq!(judge(0, None, &quiet(1)), [], "nor does the first look");
    let log = LogReport { written: 9, lost: 1, not_reopened: 2 };
    assert_eq!(of_log(log, LogReport { written: 99, ..log }), Vec::new());
}

/// An event in a scheduler, its kind, and words of its text.
type Case = (fn(&mut Vitals), Kind, &'static str);

const CASES: &[Case] = &[
    (
        |now| now.remarks = vec![remark(Noticed::LongSlice(35_000_000))],
        Kind::LongSlice,
        "a.page.html:7 ran for 35 ms without",
    ),
    (
        |now| now.remarks = vec![remark(Noticed::MuchCpu(100_000_000))],
        Kind::MuchCpu,
        "a.page.html:7 has used 100 ms",
    ),
    (
        |now| now.remarks = vec![remark(Noticed::Ended("memory"))],
        Kind::PageEnded,
        "a.page.html:7 was ended (memory): too long",
    ),
    (
        |now| now.remarks = vec![remark(Noticed::MailboxFull(4))],
        Kind::PageMailbox,
        "a process at a.page.html:7 was full for 4 messages",
    ),
    (
        |now| now.page_memory[1] = (80 * MIB, 100 * MIB),
        Kind::PageMemory,
        "processes of pages hold 80 MiB of 100 MiB",
    ),
    (
        |now| (now.remarkable.long_turns, now.remarkable.longest_ns) = (2, 60_000_000),
        Kind::LongTurn,
        "the longest 60 ms, most of it for a process of the kind `http`",
    ),
    (|now| now.remarkable.late_ns = LATE_NS, Kind::TimersLate, "100 ms late"),
    (|now| now.runtime.asleep_ns -= S - 100_000_000, Kind::Starved, "for 1 ms of "),
    (|now| now.runtime.panics = 1, Kind::Panic, "1 handlers panicked"),
    (|now| now.slow = (Some(Arc::from("news")), 5), Kind::SlowConsumer, "the last of news"),
    (|now| now.channels.evicted = 7, Kind::ChannelEvicted, "7 messages"),
    (|now| now.runtime.mail.full = MAILBOX_FULL_MANY, Kind::Mailbox, "no room for 10 messages"),
    (|now| now.runtime.buffered_bytes = 75 << 20, Kind::Buffers, "hold 75 MiB of 100 MiB"),
    (|now| now.processes = 90, Kind::Connections, "90 of 100 connections"),
    (|now| now.runtime.accepts_refused = 3, Kind::LoadShed, "3 refused: no room or descriptor"),
    (|now| now.runtime.ended_for_memory = 1, Kind::LoadShed, "1 ended: they held most"),
    (
        |now| now.runtime.handshakes_failed = HANDSHAKES_FAILED_MANY,
        Kind::Handshakes,
        "100 TLS handshakes",
    ),
    (|now| now.store.failed = 2, Kind::StoreFailed, "2 orders failed"),
    (
        |now| now.upstreams = vec![upstream(ServerStanding::Paused { until_ns: 9 }, 0)],
        Kind::ServerDown,
        "10.0.0.1:80 of the upstream api gets no more requests: ",
    ),
    (|now| now.lost_lines = 4, Kind::LogLost, "4 lines"),
    (
        |now| {
            (now.lost_spans, now.span_loss) = (5, Some("http://a/v1/traces answers 404".to_owned()))
        },
        Kind::SpansLost,
        "5 spans were lost: http://a/v1/traces answers 404",
    ),
];

#[test]
fn each_trouble_is_named_alone() {
    for (change, kind, words) in CASES {
        let found = found(change);
        let [only] = &found[..] else { panic!("{kind:?}: {found:?}") };
        assert_eq!(only.kind, *kind, "{only:?}");
        assert!(only.text.contains(words), "{kind:?}: {}", only.text);
    }
}

#[test]
fn nats_that_does_not_do_what_it_should_is_named_once_in_a_connection() {
    let linked = |second, is_up, problem: Option<&str>| {
        let problem = problem.map(str::to_owned);
        let cluster = Some(LinkReport { is_up, problem, ..LinkReport::default() });
        Vitals { cluster, ..quiet(second) }
    };
    let full = linked(1, true, Some("stream a-h-3: insufficient memory resources available"));
    let [first] = &judge(0, None, &full)[..] else { panic!("the first look finds it") };
    assert_eq!(first.kind, Kind::ClusterProblem);
    assert!(first.text.contains("insufficient memory"), "{}", first.text);
    let kinds = |before: &Vitals, now: &Vitals| -> Vec<Kind> {
        judge(0, Some(before), now).into_iter().map(|one| one.kind).collect()
    };
    let other = linked(2, true, Some("stream a-h-4: insufficient memory resources available"));
    assert_eq!(kinds(&full, &other), []);
    let (away, well) = (linked(2, false, Some("a: it has ended")), linked(2, true, None));
    assert_eq!(kinds(&full, &away), [Kind::ClusterAway]);
    assert_eq!(kinds(&away, &full), [Kind::ClusterBack, Kind::ClusterProblem]);
    assert_eq!(kinds(&well, &full), [Kind::ClusterProblem]);
    assert_eq!(kinds(&full, &well), []);
}

#[test]
fn nats_that_cannot_be_reached_is_named_at_the_start_and_the_first_connection_is_not() {
    let linked = |is_up, problem: Option<&str>| {
        let problem = problem.map(str::to_owned);
        Vitals { cluster: Some(LinkReport { is_up, problem, ..LinkReport::default() }), ..quiet(1) }
    };
    let kinds = |before: Option<&Vitals>, now: &Vitals| -> Vec<Kind> {
        judge(0, before, now).into_iter().map(|one| one.kind).collect()
    };
    let (connecting, up) = (linked(false, None), linked(true, None));
    let refused = linked(false, Some("nats://10.0.0.1:4222: refused"));
    assert_eq!(kinds(None, &connecting), []);
    assert_eq!(kinds(Some(&connecting), &up), []);
    assert_eq!(kinds(None, &refused), [Kind::ClusterAway]);
    assert_eq!(kinds(Some(&connecting), &refused), [Kind::ClusterAway]);
    assert_eq!(kinds(Some(&refused), &refused), []);
    assert_eq!(kinds(Some(&refused), &up), [Kind::ClusterBack]);
}

#[test]
fn troubles_that_need_two_looks_or_more_words_are_named() {
    let mut before = quiet(1);
    (before.store.under_way, before.upstreams) = (5, vec![upstream(ServerStanding::Up, 3)]);
    let mut now = quiet(2);
    (now.store.under_way, now.upstreams) = (5, vec![upstream(ServerStanding::Up, 4)]);
    let kinds = |found: Vec<Trouble>| -> Vec<Kind> { found.iter().map(|one| one.kind).collect() };
    assert_eq!(kinds(judge(0, Some(&before), &now)), [Kind::StoreStuck, Kind::UpstreamQueue]);
    now.store.messages = 1;
    now.upstreams = vec![upstream(ServerStanding::Paused { until_ns: 9 }, 4)];
    let found = judge(0, Some(&before), &now);
    assert_eq!(kinds(found), [Kind::ServerDown, Kind::UpstreamDown, Kind::UpstreamQueue]);
    let again = Vitals { upstreams: vec![upstream(ServerStanding::Up, 0)], ..quiet(3) };
    assert_eq!(kinds(judge(0, Some(&now), &again)), [Kind::ServerUp]);
    // The last server gets requests nevertheless.
    now = quiet(2);
    now.upstreams = vec![upstream(ServerStanding::Up, 0)];
    for one in &mut now.upstreams[0].servers {
        one.view.is_failing = true;
    }
    assert_eq!(kinds(judge(0, Some(&quiet(1)), &now)), [Kind::UpstreamDown]);
    assert_eq!(kinds(judge(0, Some(&now), &now)), []);
    let limit = |refused| LimitCounts { name: "logins".into(), refused, delayed: 0, forgotten: 0 };
    (before, now) = (quiet(1), quiet(2));
    (before.limits, now.limits) = (vec![limit(2)], vec![limit(5)]);
    let found = judge(0, Some(&before), &now);
    assert_eq!(found[0].text, "the limit logins refused 3 uses");
    let log = LogReport { written: 0, lost: 1, not_reopened: 0 };
    let found = of_log(log, LogReport { lost: 3, not_reopened: 1, ..log });
    assert_eq!(found[0].text, "2 lines of the access log were lost");
    assert_eq!(kinds(found), [Kind::LogLost, Kind::LogReopen]);
    // A bound of less than 100 has a last tenth, too.
    now = quiet(2);
    (now.bounds.connections, now.processes) = (19, 17);
    assert_eq!(judge(0, None, &now), Vec::new());
    now.processes = 18;
    assert_eq!(judge(0, None, &now)[0].text, "18 of 19 connections are in use");
    (before, now) = (quiet(1), quiet(2));
    (before.errors, before.erring) = (90, vec![("/a".to_owned(), 80), ("/b".to_owned(), 10)]);
    (now.errors, now.erring) = (101, vec![("/a".to_owned(), 82), ("/b".to_owned(), 19)]);
    let found = judge(0, Some(&before), &now);
    assert_eq!(found[0].text, "11 answers had a status of 5xx, 9 of them by the route /b");
    now.errors = 99;
    assert_eq!(judge(0, Some(&before), &now), Vec::new(), "a few are usual");
}

#[test]
fn remarks_beyond_the_bound_are_counted_behind_the_last_one() {
    let found = found(|now| {
        now.remarks = vec![remark(Noticed::SpawnRefused), remark(Noticed::Ended("memory"))];
        now.remarks_left_out = 7;
    });
    assert!(!found[0].text.contains("left out"), "{found:?}");
    let told = "; 7 further remarks about pages were left out";
    assert!(found[1].text.ends_with(told), "{found:?}");
}

#[test]
fn a_page_is_named_with_its_line_and_the_calls_that_led_there() {
    let found = found(|now| now.remarks = vec![remark(Noticed::LongSlice(35_000_000))]);
    assert_eq!(found[0].scheduler, Some(3));
    assert_eq!(
        (&*found[0].thing, &found[0].cause[..]),
        ("a.page.html:7", &["a.page.html:9".to_owned()][..])
    );
}
