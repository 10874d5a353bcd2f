//! The answers of a scheduler to those who look at it: its report, and the list that they want.
//!
//! Owns the walk over its processes that is under way, if one is. `live` knows what a row says.

use std::net::SocketAddr;

use live::{LatencyFigures, List, TableRow};
use runtime::mailbox::Endpoint;
use runtime::service::{SchedulerCommand, Seen};
use runtime::slots::ProcessId;

use super::{Connections, Process};
use crate::live::{Choice, Id, LiveAnswer, LongestRun, ViewRequest, info_of_row, latency};
use crate::message::{Inquiry, Question, SchedulerReport, ServiceContext, ToControl};

/// A walk over the processes.
pub(super) struct Walk {
    /// The endpoint that gets the answer.
    from: Endpoint,
    here: Endpoint,
    question: Question,
    of: Of,
    choice: Choice,
    /// The slot with which it goes on.
    next: Option<usize>,
    /// The time of the turn in which it goes on.
    now_ms: u64,
}

/// Which processes a walk is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    All,
    One(ProcessId),
}

impl Connections {
    /// Answers a question, now or after a walk.
    pub(super) fn answer_question(
        &mut self,
        from: Endpoint,
        question: Question,
        context: &mut ServiceContext<'_>,
    ) {
        // The control scheduler takes no answers to earlier questions any more. Their orders to end something stand.
        self.walks.retain(|walk| matches!(walk.question.inquiry, Inquiry::End(_)));
        let here = context.mail.endpoint();
        let walk = |question, of, choice, next| {
            let next = Some(next);
            Walk { from, here, question, of, choice, next, now_ms: 0 }
        };
        let shown = match &question.inquiry {
            Inquiry::Live(wish) if wish.list == Some(List::Connections) => {
                let choice = Choice::new(wish, "cpu_us");
                self.walks.push_back(walk(question, Of::All, choice, 0));
                return;
            }
            Inquiry::Live(wish) => {
                let now_ms = context.now.monotonic_ms();
                self.http.application_mut().list_shown(wish, here, now_ms)
            }
            Inquiry::Info(id) | Inquiry::End(id) => match Id::parse(id) {
                Some(id) if id.scheduler() != here => LiveAnswer::default(),
                Some(Id::Connection(_, process)) => {
                    let wish = ViewRequest { most: 1, ..ViewRequest::default() };
                    let choice = Choice::new(&wish, "");
                    self.walks.push_back(walk(question, Of::One(process), choice, process.index()));
                    return;
                }
                Some(Id::Run(here, name)) => {
                    self.look_at_run(&question.inquiry, here, name, context)
                }
                None => LiveAnswer::default(),
            },
            Inquiry::Counters | Inquiry::NativeCode => LiveAnswer::default(),
        };
        self.send_report(from, &question, shown, context);
    }

    /// The facts of a suspended page, and its end if that is wanted.
    fn look_at_run(
        &mut self,
        inquiry: &Inquiry,
        here: Endpoint,
        name: &str,
        context: &mut ServiceContext<'_>,
    ) -> LiveAnswer {
        let site = self.http.application_mut();
        let info = site.page_info(here, name);
        if matches!(inquiry, Inquiry::End(_)) && site.end_run(name) {
            context.wake_after_ms(0);
        }
        LiveAnswer { info, ..LiveAnswer::default() }
    }

    /// At the end of a turn: the first walk goes on.
    pub(super) fn go_on_walking(&mut self, context: &mut ServiceContext<'_>) {
        let Some(walk) = self.walks.front_mut() else { return };
        walk.now_ms = context.now.monotonic_ms();
        if let Some(from) = walk.next.take() {
            context.command(SchedulerCommand::Walk { from });
        }
    }

    /// A process of the walk.
    pub(super) fn look_at(&mut self, seen: &Seen<'_, Process>) {
        if let Some(walk) = self.walks.front_mut()
            && (walk.of == Of::All || walk.of == Of::One(seen.id))
        {
            let number = number_of(walk.choice.sort(), walk.now_ms, seen);
            if walk.choice.may_take(number) {
                walk.choice.offer(row_of((walk.here, walk.now_ms), seen));
            }
        }
    }

    /// So many slots were seen as a turn may.
    pub(super) fn after_walking(&mut self, next: Option<usize>, context: &mut ServiceContext<'_>) {
        let Some(mut walk) = self.walks.pop_front() else { return };
        if next.is_some() && walk.of == Of::All {
            walk.next = next;
            self.walks.push_front(walk);
            context.wake_after_ms(0);
            return;
        }
        if !self.walks.is_empty() {
            context.wake_after_ms(0);
        }
        let (rows, left_out) = walk.choice.finish();
        let shown = match walk.of {
            Of::All => LiveAnswer { rows, left_out, ..LiveAnswer::default() },
            Of::One(process) => {
                let info = rows.first().map(|row| info_of_row("connection", row));
                if info.is_some() && matches!(walk.question.inquiry, Inquiry::End(_)) {
                    context.command(SchedulerCommand::Close(process));
                    context.wake_after_ms(0);
                }
                LiveAnswer { info, ..LiveAnswer::default() }
            }
        };
        self.send_report(walk.from, &walk.question, shown, context);
    }

    /// The times of requests and of commands of Redis clients.
    fn times(&self) -> Vec<LatencyFigures> {
        let site = self.http.application();
        let mut told = site.times_told(self.http.times());
        told.extend(self.local.channels().lags().map(|(pattern, times)| {
            latency("channel", if pattern.is_empty() { "(none)" } else { pattern }, times)
        }));
        told.extend(site.upstream_times().map(|(name, times)| latency("upstream", name, times)));
        told.extend(site.fetch_times().map(|(origin, times)| latency("fetch", &origin, times)));
        told.extend(self.clients.times().map(|(name, times)| latency("command", name, times)));
        told
    }

    fn send_report(
        &mut self,
        to: Endpoint,
        question: &Question,
        mut shown: LiveAnswer,
        context: &mut ServiceContext<'_>,
    ) {
        if matches!(question.inquiry, Inquiry::Counters | Inquiry::Live(_)) {
            shown.times = self.times();
        }
        if matches!(question.inquiry, Inquiry::Live(_)) {
            let (ticks, kind) = context.take_longest_run();
            let us = ticks / sys::clock::ticks_per_microsecond();
            shown.longest_run = kind.map(|kind| LongestRun { us, kind });
        }
        let report = self.report(question, shown, context);
        // The next query finds room again.
        let _asks_again = context.mail.send_part(to, ToControl::Report(report));
    }

    fn report(
        &self,
        question: &Question,
        shown: LiveAnswer,
        context: &mut ServiceContext<'_>,
    ) -> Box<SchedulerReport> {
        let accounts = context.accounts();
        let site = self.http.application();
        Box::new(SchedulerReport {
            question: question.number,
            runtime: context.stats.clone(),
            accounts,
            shown,
            http: self.http.stats().clone(),
            cache: site.cache_stats(),
            upstream_caches: site.upstream_cache_stats(),
            outgoing: site.client_stats(),
            channels: site.channel_stats(),
            cluster: self.link_report(context.now.monotonic_ms()),
            store: self.store_stats(),
            resp: self.clients.stats(),
            spans: site.span_stats(),
            pages: site.pages_report(),
            limits: site.limit_counts(),
            upstreams: site.upstreams_report(context.now.monotonic_ns),
            handshake_failures: self.handshakes.failures().clone(),
            processes: context.processes,
            generation: site.generation(),
            native_code: match question.inquiry {
                Inquiry::NativeCode => site.native_code(),
                _ => Vec::new(),
            },
        })
    }
}

/// The columns of a row with numbers of its process.
const NUMBERS: [&str; 8] = [
    "age_ms",
    "cpu_us",
    "idle_ms",
    "queued_bytes",
    "received_bytes",
    "requests",
    "sent_bytes",
    "unread_bytes",
];

/// The number of a process in a column of its row; `None` if it has none there, or the column has texts.
fn number_of(column: &str, now_ms: u64, seen: &Seen<'_, Process>) -> Option<u64> {
    let used = seen.used;
    match column {
        "cpu_us" => Some(used.ticks / sys::clock::ticks_per_microsecond()),
        "idle_ms" => Some(seen.idle_ms),
        "received_bytes" => Some(used.received_bytes),
        "sent_bytes" => Some(used.sent_bytes),
        "queued_bytes" => Some(seen.queued_bytes as u64),
        "unread_bytes" => Some(seen.unread_bytes as u64),
        "age_ms" => Some(seen.process.arrival()?.age_ms(now_ms)),
        "requests" => seen.process.requests().map(u64::from),
        _ => None,
    }
}

fn row_of((here, now_ms): (Endpoint, u64), seen: &Seen<'_, Process>) -> TableRow {
    let row = TableRow::new(format!("c-{}-{}", here.0, seen.id.to_bits()))
        .text("peer", peer_of(seen.process))
        .text("kind", seen.process.kind_name())
        .text("state", seen.state)
        .number("scheduler", u64::from(here.0))
        .text("encrypted", if seen.is_layered { "yes" } else { "no" });
    NUMBERS.iter().fold(row, |row, column| match number_of(column, now_ms, seen) {
        Some(number) => row.number(column, number),
        None => row,
    })
}

/// The other end with its port. Of a client that a proxy names, only the address is known.
fn peer_of(process: &Process) -> String {
    if let Some(server) = process.server() {
        return server;
    }
    let Some(client) = process.client() else { return "-".to_owned() };
    match process.arrival().map(|arrival| arrival.peer) {
        Some(peer) if peer.address == client && peer.port != 0 => {
            SocketAddr::new(client, peer.port).to_string()
        }
        _ => client.to_string(),
    }
}
