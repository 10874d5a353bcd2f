//! Requests as spans for a collector: OTLP over HTTP, in JSON.
//!
//! Owns the spans that were not sent yet, and the one message that is under way. A collector that is slow or gone
//! delays nothing: what does not fit is dropped and counted. Which requests there are says `runtime::trace`.

use std::fmt::Display;
use std::rc::Rc;

use client::{
    Anywhere, Deadlines, ExchangeId, ExchangeNews, OutgoingBody, OutgoingRequest, Requester, Url,
};
use config::TraceSettings;
use runtime::clock::Now;
use runtime::trace::{self, Actor, Sampled, SampledStep, SpanEdge};
use serde_json::{Value, json};

use crate::limits::{SPANS_AT_ONCE, SPANS_PAUSE_NS, SPANS_QUEUED, SPANS_TIME};
use crate::message::ServiceContext;
use crate::span_stats::SpanStats;

/// The spans of one scheduler.
#[derive(Debug)]
pub(super) struct Spans {
    collector: Url,
    /// Its address, for people.
    address: String,
    service: String,
    queue: Vec<Value>,
    /// The message under way, and its number of spans.
    sending: Option<(ExchangeId, u64)>,
    /// The status of its answer.
    status: u16,
    /// When the next message may be sent.
    next_ns: u64,
    stats: SpanStats,
    /// Why some were dropped, since somebody asked.
    loss: Option<String>,
}

impl Spans {
    /// Those for the collector of a configuration, if it has one.
    pub(super) fn of(settings: &TraceSettings) -> Option<Self> {
        let base = settings.otlp.as_ref()?;
        // The configuration has checked it.
        let address = format!("{base}/v1/traces");
        let collector = Url::parse(address.as_bytes()).ok()?;
        Some(Self {
            collector,
            address,
            service: settings.service.clone(),
            queue: Vec::new(),
            sending: None,
            status: 0,
            next_ns: 0,
            stats: SpanStats::default(),
            loss: None,
        })
    }

    /// The counters.
    pub(super) fn stats(&self) -> SpanStats {
        self.stats
    }

    /// Why spans were dropped since this was last asked, by the last reason.
    pub(super) fn take_loss(&mut self) -> Option<String> {
        self.loss.take()
    }

    fn lose(&mut self, count: u64, why: impl Display) {
        self.stats.dropped += count;
        self.loss = Some(why.to_string());
    }

    /// Whether an exchange is its message.
    pub(super) fn has(&self, exchange: ExchangeId) -> bool {
        self.sending.is_some_and(|(id, _)| id == exchange)
    }

    /// The collector has answered, or has not.
    pub(super) fn hear(&mut self, exchanges: &mut client::Client, now_ns: u64) {
        let Some((id, count)) = self.sending else { return };
        loop {
            match exchanges.next(id, usize::MAX, now_ns) {
                None => return,
                Some(ExchangeNews::Head(head)) => self.status = head.status,
                Some(ExchangeNews::End) if (200..300).contains(&self.status) => {
                    self.stats.sent += count;
                    break;
                }
                Some(ExchangeNews::End) => {
                    let why = format!("{} answers {}", self.address, self.status);
                    self.lose(count, why);
                    break;
                }
                Some(ExchangeNews::Failed(failure)) => {
                    let why = format!("{}: {failure}", self.address);
                    self.lose(count, why);
                    break;
                }
                Some(_) => {}
            }
        }
        self.sending = None;
        self.next_ns = now_ns.saturating_add(SPANS_PAUSE_NS);
    }

    /// Ends a turn: takes the requests that have ended, and sends what there is.
    pub(super) fn end_turn(
        &mut self,
        exchanges: &mut client::Client,
        context: &mut ServiceContext<'_>,
    ) {
        if let Some((sampled, lost)) = trace::take_sampled() {
            if lost > 0 {
                self.lose(lost, "too many sampled requests at once");
            }
            for request in &sampled {
                self.add(request, context.now);
            }
        }
        if self.queue.is_empty() || self.sending.is_some() {
            return;
        }
        let now_ns = context.now.monotonic_ns;
        if now_ns >= self.next_ns {
            self.send(exchanges, now_ns);
        }
        context.wake_at_ns(self.next_ns.max(now_ns));
    }

    fn add(&mut self, request: &Sampled, now: Now) {
        let unix_ns = now.unix_ms().saturating_mul(1_000_000);
        let spans = spans_of(request, Moment { monotonic_ns: now.monotonic_ns, unix_ns });
        if self.queue.len() + spans.len() > SPANS_QUEUED {
            let why = format_args!("more than {SPANS_AT_ONCE} of a scheduler in a second");
            self.lose(spans.len() as u64, why);
        } else {
            self.queue.extend(spans);
        }
    }

    fn send(&mut self, exchanges: &mut client::Client, now_ns: u64) {
        let spans: Vec<Value> = self.queue.drain(..self.queue.len().min(SPANS_AT_ONCE)).collect();
        let count = spans.len() as u64;
        let body = json!({ "resourceSpans": [{
            "resource": { "attributes": [attribute("service.name", &self.service)] },
            "scopeSpans": [{
                "scope": { "name": "velodrome", "version": env!("CARGO_PKG_VERSION") },
                "spans": spans,
            }],
        }] });
        let reach = Rc::new(Anywhere);
        let plain = OutgoingRequest::new("POST", self.collector.clone(), reach, Requester::Service);
        let body = OutgoingBody::Whole(body.to_string().into_bytes());
        let mut request =
            OutgoingRequest { body, deadlines: Deadlines::whole(SPANS_TIME), ..plain };
        let is_json = request.fields.add("Content-Type", b"application/json").is_ok();
        debug_assert!(is_json, "it is a field");
        match exchanges.begin(request, now_ns) {
            Ok(id) => self.sending = Some((id, count)),
            Err(failure) => self.lose(count, failure),
        }
        self.next_ns = now_ns.saturating_add(SPANS_PAUSE_NS);
    }
}

fn attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn whole(key: &str, value: u64) -> Value {
    // 64-bit numbers are texts in the JSON of protocol buffers.
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

/// One moment by both clocks.
#[derive(Clone, Copy, Debug)]
struct Moment {
    monotonic_ns: u64,
    unix_ns: u64,
}

/// The span of a request, and those of what its answer needed.
fn spans_of(request: &Sampled, now: Moment) -> Vec<Value> {
    let (Some(first), Some(last)) = (request.steps.first(), request.steps.last()) else {
        return Vec::new();
    };
    let unix_ns = |at_ns: u64| {
        match at_ns.checked_sub(now.monotonic_ns) {
            // Within the turn, whose beginning is the moment.
            Some(later_ns) => now.unix_ns.saturating_add(later_ns),
            None => now.unix_ns.saturating_sub(now.monotonic_ns - at_ns),
        }
        .to_string()
    };
    let span = |id: u64, parent: u64, name: &str, kind: u64, (from, to): (&SampledStep, u64)| {
        let parent = if parent == 0 { String::new() } else { format!("{parent:016x}") };
        json!({
            "traceId": format!("{:032x}", request.trace),
            "spanId": format!("{id:016x}"),
            "parentSpanId": parent,
            "name": name,
            "kind": kind,
            "startTimeUnixNano": unix_ns(from.at_ns),
            "endTimeUnixNano": unix_ns(to),
        })
    };
    let mut all = vec![server_span(
        request,
        span(
            request.span,
            request.parent,
            &name_of(request, first),
            KIND_SERVER,
            (first, last.at_ns),
        ),
    )];
    for (number, step) in (1_u64..).zip(&request.steps) {
        if step.what.edge != SpanEdge::Begins {
            continue;
        }
        let later = request.steps.iter().skip(number as usize);
        let mut ends = later.filter(|end| end.what.edge == SpanEdge::Ends);
        let end = ends.find(|end| end.what.from == step.what.to).unwrap_or(last);
        let kind = if step.what.to == Actor::Server { KIND_CLIENT } else { KIND_INTERNAL };
        let id = request.span.wrapping_add(number).max(1);
        let name = match step.what.to {
            Actor::Page => format!("page {}", step.detail),
            _ => step.what.word.to_owned(),
        };
        let mut own = span(id, request.span, &name, kind, (step, end.at_ns));
        own["attributes"] = json!([
            attribute("velodrome.detail", &step.detail),
            attribute("velodrome.end", &end.detail)
        ]);
        all.push(own);
    }
    all
}

/// The kinds of spans.
const KIND_INTERNAL: u64 = 1;
const KIND_SERVER: u64 = 2;
const KIND_CLIENT: u64 = 3;

/// The code of a status that says that something failed.
const STATUS_ERROR: u64 = 2;

/// Method and route: few names, as collectors want them.
fn name_of(request: &Sampled, first: &SampledStep) -> String {
    let method = first.detail.split(' ').next().unwrap_or_default();
    let route = request.steps.iter().find(|step| step.what.word == "route");
    format!("{method} {}", route.map_or("", |route| &route.detail)).trim_end().to_owned()
}

/// The attributes of the span of a request.
fn server_span(request: &Sampled, mut span: Value) -> Value {
    let mut words = request.steps.first().map_or("", |step| &step.detail).splitn(3, ' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut attributes =
        vec![attribute("http.request.method", method), attribute("url.path", path)];
    let answer = request.steps.last().filter(|step| step.what.edge == SpanEdge::Last);
    let status = answer.and_then(|step| step.detail.split(',').next()?.parse::<u64>().ok());
    if let Some(status) = status {
        attributes.push(whole("http.response.status_code", status));
    }
    span["attributes"] = Value::Array(attributes);
    if status.is_none_or(|status| status >= 500) {
        span["status"] = json!({ "code": STATUS_ERROR });
    }
    span
}

#[cfg(test)]
mod tests {
    use runtime::trace::StepAction;

    use super::*;

    fn step(at_ns: u64, what: StepAction, detail: &str) -> SampledStep {
        SampledStep { at_ns, what, detail: detail.to_owned() }
    }

    #[test]
    fn a_request_has_a_span_and_so_has_what_it_needed() {
        let (client, here) = (Actor::Client, Actor::Scheduler);
        let request = Sampled {
            trace: 0xabc,
            span: 0x10,
            parent: 0x7,
            steps: vec![
                step(1_000, StepAction::between(client, here, "request"), "GET /x of a"),
                step(2_000, StepAction::within("route"), "/x*"),
                step(
                    3_000,
                    StepAction::between(here, Actor::Page, "page begins").begins(),
                    "x.html",
                ),
                step(
                    4_000,
                    StepAction::between(Actor::Page, Actor::Server, "fetch").begins(),
                    "GET http://b/",
                ),
                step(
                    6_000,
                    StepAction::between(Actor::Server, Actor::Page, "fetched").ends(),
                    "200",
                ),
                step(7_000, StepAction::between(Actor::Page, here, "page ends").ends(), ""),
                step(9_000, StepAction::between(here, client, "answer").last(), "503, 4 bytes"),
            ],
        };
        // The last steps are of the turn that began at this moment.
        let now = Moment { monotonic_ns: 8_000, unix_ns: 1_000_000_000 };
        let spans = spans_of(&request, now);
        let told: Vec<(&str, &str, &str, u64)> = spans
            .iter()
            .map(|span| {
                let text = |key: &str| span[key].as_str().unwrap_or_default();
                (
                    text("name"),
                    text("spanId"),
                    text("parentSpanId"),
                    span["kind"].as_u64().unwrap_or(0),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("GET /x*", "0000000000000010", "0000000000000007", KIND_SERVER),
                ("page x.html", "0000000000000013", "0000000000000010", KIND_INTERNAL),
                ("fetch", "0000000000000014", "0000000000000010", KIND_CLIENT),
            ]
        );
        let span = &spans[0];
        assert_eq!(span["traceId"], format!("{:032x}", 0xabc));
        let times = (&span["startTimeUnixNano"], &span["endTimeUnixNano"]);
        assert_eq!(times, (&"999993000".into(), &"1000001000".into()));
        assert_eq!(spans[2]["endTimeUnixNano"], "999998000");
        assert_eq!(span["status"]["code"], STATUS_ERROR);
        assert!(span["attributes"].to_string().contains("\"intValue\":\"503\""), "{span}");
    }
}
