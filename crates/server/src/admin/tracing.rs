//! The trace that is under way: one at a time, whose lines go to the one who asked for it.
//!
//! Owns its beginning on all schedulers, its lines until they are read, and its end: at its time by the clocks of all,
//! or when the one who asked leaves. Never notes a step itself.

use http::{Added, Answer, Reply, Request};
use live::{TraceBegun, TraceEnded, TraceLine, TraceStep};
use runtime::clock::Now;
use runtime::mailbox::Endpoint;
use runtime::service::SchedulerCommand;
use runtime::slots::ProcessId;
use runtime::trace::{Actor, Batch, LeftOut, RecordedStep, Subject};
use wire::http::status::Status;

use super::wish::TraceWish;
use crate::limits::{TRACE_GRACE_MS, TRACE_UNREAD_BYTES};
use crate::message::{AnswerContext, Mailbox, ServiceContext, ToScheduler, TraceOrder};

/// The traces of a server, one after the other.
#[derive(Debug, Default)]
pub(super) struct Tracing {
    /// The number of the last one.
    number: u64,
    underway: Option<Trace>,
    /// The number of one whose reader has left, and that schedulers still make.
    abandoned: Option<u64>,
}

#[derive(Debug)]
struct Trace {
    number: u64,
    /// Its subject, for the next who asks.
    about: String,
    reader: ProcessId,
    began_ns: u64,
    until_ns: u64,
    /// The first line, until all schedulers have begun, or have had the time for it.
    first: Option<TraceBegun>,
    /// Schedulers that have not begun.
    still: Vec<usize>,
    /// Lines that were not read.
    lines: Vec<u8>,
    steps: u64,
    left_out: LeftOut,
    /// Schedulers that have not ended it.
    silent: Vec<usize>,
    is_over: bool,
}

impl Tracing {
    /// Whether a process reads a trace.
    pub(super) fn is_reader(&self, process: ProcessId) -> bool {
        self.underway.as_ref().is_some_and(|trace| trace.reader == process)
    }

    /// Begins the trace that a request asks for, or gives its reader what there is.
    pub(super) fn answer(
        &mut self,
        schedulers: usize,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        if reply.is_begun() {
            return self.go_on(reply, context.id);
        }
        if self.is_reader(context.id) {
            return self.open(reply, context.now);
        }
        let wish = match TraceWish::parse(request.query().unwrap_or_default()) {
            Ok(wish) => wish,
            Err(problem) => return refuse(Status::BAD_REQUEST, &problem, reply),
        };
        let now_ns = context.now.monotonic_ns;
        if let Some(busy) = self.underway.as_ref().filter(|trace| !trace.is_over) {
            let left = busy.until_ns.saturating_sub(now_ns).div_ceil(1_000_000_000);
            let problem = format!("there is a trace of {}, for another {left} s", busy.about);
            return refuse(Status::CONFLICT, &problem, reply);
        }
        self.begin(&wish, schedulers, context);
        Answer::Wait
    }

    /// Begins the answer once the trace has begun on all schedulers: what comes from then on is traced.
    fn open(&mut self, reply: &mut Reply<'_>, now: Now) -> Answer {
        let Some(trace) = &mut self.underway else { return Answer::Wait };
        if !trace.may_open(now) {
            return Answer::Wait;
        }
        let Some(begun) = trace.first.take() else { return Answer::Cut };
        let mut line = Vec::new();
        write(&TraceLine::Begun(begun), &mut line);
        reply.begin_parts(Status::OK);
        let is_field = reply.field("Content-Type", b"application/x-ndjson").is_ok();
        debug_assert!(is_field, "it is a field");
        reply.end_head();
        reply.part(&line);
        Answer::Part
    }

    fn begin(&mut self, wish: &TraceWish, schedulers: usize, context: &mut AnswerContext<'_>) {
        self.number += 1;
        let now_ns = context.now.monotonic_ns;
        let order = wish.order(self.number, schedulers, context.mail.endpoint(), now_ns);
        // A scheduler that is stuck traces nothing, and is named at the end.
        send_to_all(schedulers, &TraceOrder::Begin(order.clone()), context.mail);
        self.underway = Some(Trace {
            number: self.number,
            about: wish.about(),
            reader: context.id,
            began_ns: now_ns,
            until_ns: order.until_ns,
            first: Some(wish.begun(schedulers, context.now.unix_ms())),
            still: (0..schedulers).collect(),
            lines: Vec::new(),
            steps: 0,
            left_out: LeftOut::default(),
            silent: (0..schedulers).collect(),
            is_over: false,
        });
    }

    /// Gives the reader what there is.
    fn go_on(&mut self, reply: &mut Reply<'_>, reader: ProcessId) -> Answer {
        // Another trace may have begun since this one was over.
        let Some(trace) = self.underway.as_mut().filter(|trace| trace.reader == reader) else {
            return Answer::Cut;
        };
        let lines = std::mem::take(&mut trace.lines);
        let added = reply.part(&lines);
        if trace.is_over {
            self.underway = None;
            return Answer::Done;
        }
        match added {
            Added::Bytes => Answer::Part,
            Added::Nothing => Answer::Wait,
        }
    }

    /// A scheduler has sent steps.
    pub(super) fn add(&mut self, from: Endpoint, batch: &Batch) {
        let Some(trace) = self.underway.as_mut().filter(|trace| trace.number == batch.number)
        else {
            return;
        };
        let scheduler = usize::from(from.0);
        trace.still.retain(|still| *still != scheduler);
        for step in &batch.steps {
            if trace.is_over || trace.lines.len() >= TRACE_UNREAD_BYTES {
                trace.left_out.steps += 1;
            } else {
                trace.steps += 1;
                let line = line_of(step, scheduler, trace.began_ns);
                write(&TraceLine::Step(line), &mut trace.lines);
            }
        }
        trace.left_out.add(batch.left_out);
        if batch.is_last {
            trace.silent.retain(|silent| *silent != scheduler);
        }
    }

    /// The connection of a process has ended.
    pub(super) fn on_gone(&mut self, process: ProcessId) {
        if let Some(trace) = self.underway.take_if(|trace| trace.reader == process)
            && !trace.is_over
        {
            self.abandoned = Some(trace.number);
        }
    }

    /// Ends what has to end, and wakes the reader if there is something to read.
    pub(super) fn end_turn(&mut self, schedulers: usize, context: &mut ServiceContext<'_>) {
        if let Some(number) = self.abandoned.take() {
            // Those that do not get it end by themselves, at their time.
            send_to_all(schedulers, &TraceOrder::Stop(number), context.mail);
        }
        let Some(trace) = &mut self.underway else { return };
        trace.end_if_due(context.now);
        let has_news = match trace.first {
            Some(_) => trace.may_open(context.now),
            None => trace.is_over || !trace.lines.is_empty(),
        };
        if has_news {
            context.command(SchedulerCommand::Resume(trace.reader));
        } else if trace.first.is_some() {
            context.wake_after_ms(TRACE_GRACE_MS);
        } else {
            let ends_ns = trace.until_ns.saturating_sub(context.now.monotonic_ns);
            context.wake_after_ms(ends_ns.div_ceil(1_000_000) + TRACE_GRACE_MS);
        }
    }
}

impl Trace {
    /// Whether all schedulers have begun, or have had the time for it.
    fn may_open(&self, now: Now) -> bool {
        let latest_ns = self.began_ns.saturating_add(TRACE_GRACE_MS * 1_000_000);
        self.still.is_empty() || now.monotonic_ns >= latest_ns
    }

    /// Writes the last line, once all schedulers have ended, or have had the time for it.
    fn end_if_due(&mut self, now: Now) {
        let latest_ns = self.until_ns.saturating_add(TRACE_GRACE_MS * 1_000_000);
        if self.is_over || !(self.silent.is_empty() || now.monotonic_ns >= latest_ns) {
            return;
        }
        self.is_over = true;
        let ended = TraceEnded {
            steps: self.steps,
            left_out: self.left_out.subjects,
            steps_left_out: self.left_out.steps,
            silent: self.silent.clone(),
        };
        write(&TraceLine::Ended(ended), &mut self.lines);
    }
}

fn send_to_all(schedulers: usize, order: &TraceOrder, mail: &mut Mailbox) {
    for number in 0..schedulers {
        let endpoint = Endpoint(u16::try_from(number).expect("endpoints are numbered in u16"));
        let _stuck = mail.send_part(endpoint, ToScheduler::Trace(Box::new(order.clone())));
    }
}

fn refuse(status: Status, problem: &str, reply: &mut Reply<'_>) -> Answer {
    reply.begin(status);
    reply.end_head_with_length(problem.len() as u64);
    reply.body(problem.as_bytes());
    Answer::Done
}

fn write(line: &TraceLine, out: &mut Vec<u8>) {
    serde_json::to_writer(&mut *out, line).expect("plain data, and memory takes every byte");
    out.push(b'\n');
}

fn line_of(step: &RecordedStep, scheduler: usize, began_ns: u64) -> TraceStep {
    let name = |actor: Actor| match actor {
        Actor::Client => "client".to_owned(),
        Actor::Scheduler => format!("scheduler {scheduler}"),
        Actor::Other(number) => format!("scheduler {number}"),
        Actor::Page => "page".to_owned(),
        Actor::Store => "store".to_owned(),
        Actor::Server => "server".to_owned(),
        Actor::Subscribers => "subscribers".to_owned(),
    };
    TraceStep {
        of: match &step.subject {
            Subject::Followed(number) => format!("{scheduler}-{number}"),
            Subject::Message(channel, position) => format!("{channel}#{position}"),
        },
        at_ns: step.at_ns.saturating_sub(began_ns),
        scheduler,
        from: name(step.what.from),
        to: name(step.what.to),
        what: step.what.word.to_owned(),
        detail: step.detail.clone(),
        process: step
            .process
            .map_or_else(String::new, |process| format!("c-{scheduler}-{}", process.to_bits())),
    }
}
