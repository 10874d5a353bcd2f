//! The streams of channels with a history: they are made if missing, and their epochs are known.
//!
//! Owns what is asked of JetStream, and what must wait until a stream's epoch is known. A stream that has a lower
//! number than was seen before, beyond [`doubt`](crate::doubt), has lost messages: it gets a new epoch, because numbers
//! will be used again. Never reads a message.

use serde_json::Value;
use wire::nats::NatsHeaders;

use crate::doubt::{Doubt, Verdict};
use crate::held::{Held, Numbered};
use crate::limits::{NEW_STREAM_MS, SAMPLE_MS, STREAM_AGAIN_MS, STREAM_ANSWER_MS};
use crate::marks::Marks;
use crate::plan::StreamPlan;
use crate::speech::{Request, Speech};
use crate::stream_forms::{self as forms, ApiError, Mark, StreamAnswer, StreamSample};
use crate::subjects::Subjects;

const NO_JETSTREAM: &str = "JetStream is not enabled, or not ready, on the servers of NATS";

#[derive(Debug)]
pub(crate) enum StreamNews {
    /// This is of this epoch.
    Known { epoch: u64, numbered: Numbered },
    /// A read gets the sample that it waited for.
    Sampled { read: u64, sample: StreamSample },
    /// The stream has a new epoch: other nodes are told.
    NewEpoch,
}

/// The links of a node: only the first changes streams that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    Grow,
    Use,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Asking {
    #[default]
    Nothing,
    Info {
        number: u64,
        until_ms: u64,
    },
    Create {
        number: u64,
        until_ms: u64,
    },
    Update {
        number: u64,
        until_ms: u64,
    },
    /// It is asked again at this time.
    Later(u64),
}

#[derive(Debug, Default)]
struct Stream {
    /// Of the last sample over this connection.
    epoch: Option<u64>,
    /// The epoch that was known last, and the highest number that was seen of it.
    seen: Option<(u64, u64)>,
    last_added: u64,
    last_result: u64,
    asking: Asking,
    /// When the state was asked for last.
    asked_ms: u64,
    /// The highest number that was seen then. What comes later may overtake the answer.
    seen_when_asked: u64,
    marks: Marks,
    /// The mark when the connection was lost.
    at_loss: Option<Mark>,
    doubt: Doubt,
    /// Reads that wait for the sample that is asked for, and for the one after it.
    waiting: Vec<u64>,
    next: Vec<u64>,
    wants: Wants,
    held: Held,
}

/// Whether a further sample is wanted, though no read waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wants {
    Nothing,
    #[default]
    Sample,
}

/// The streams of a link.
#[derive(Debug)]
pub(crate) struct Streams {
    streams: Vec<Stream>,
    plan: StreamPlan,
    duty: Duty,
    /// Why a stream cannot be used.
    problem: Option<String>,
    pub(crate) lost: u64,
}

impl Streams {
    pub(crate) fn new(plan: StreamPlan, duty: Duty) -> Self {
        let streams = (0..plan.count.max(1)).map(|_| Stream::default()).collect();
        Self { streams, plan, duty, problem: None, lost: 0 }
    }

    /// The streams are to keep at least what this plan wants. Their number and their place stay.
    pub(crate) fn keep(&mut self, wanted: &StreamPlan) {
        let messages = self.plan.messages.max(wanted.messages);
        let age_ms = self.plan.age_ms.max(wanted.age_ms);
        let plan = StreamPlan { messages, age_ms, sections: wanted.sections, ..self.plan };
        if plan != self.plan {
            self.plan = plan;
            self.streams.iter_mut().for_each(|stream| stream.wants = Wants::Sample);
        }
    }

    /// What they are to keep now.
    pub(crate) fn plan(&self) -> &StreamPlan {
        &self.plan
    }

    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Whether all are there.
    pub(crate) fn are_ready(&self) -> bool {
        self.streams.iter().all(|stream| stream.epoch.is_some())
    }

    /// Whether a stream is there, and its epoch is known.
    pub(crate) fn is_known(&self, shard: u16) -> bool {
        self.streams.get(usize::from(shard)).is_some_and(|stream| stream.epoch.is_some())
    }

    /// The mark of a stream when the connection was lost.
    pub(crate) fn at_loss(&self, shard: u16) -> Option<Mark> {
        self.streams.get(usize::from(shard))?.at_loss
    }

    /// The connection was lost: what waits for numbers is forgotten, because it is sent or read again. Marks of an
    /// earlier loss stay where channels still have to be read since then.
    pub(crate) fn forget(&mut self, is_unread: impl Fn(u16) -> bool) {
        for (shard, stream) in (0..).zip(&mut self.streams) {
            let mark = stream.marks.take();
            if !is_unread(shard) {
                stream.at_loss = mark;
            }
            stream.epoch = None;
            stream.doubt = Doubt::Nothing;
            stream.asking = Asking::Nothing;
            stream.wants = Wants::Sample;
            stream.waiting.clear();
            stream.next.clear();
            stream.held = Held::default();
            (stream.last_added, stream.last_result) = (0, 0);
        }
    }

    /// Messages since this time may not have come, although the link is connected.
    pub(crate) fn distrust(&mut self, since_ms: u64) {
        self.streams.iter_mut().for_each(|stream| stream.marks.distrust(since_ms));
    }

    /// A read needs a sample that is taken from now on.
    pub(crate) fn sample(&mut self, shard: u16, read: u64) {
        if let Some(stream) = self.streams.get_mut(usize::from(shard)) {
            stream.next.push(read);
        }
    }

    /// Another node says that a stream has a new epoch.
    pub(crate) fn doubt(&mut self, shard: u16) {
        if let Some(stream) = self.streams.get_mut(usize::from(shard)) {
            stream.epoch = None;
            stream.wants = Wants::Sample;
        }
    }

    /// Asks what is to be asked.
    pub(crate) fn ask(&mut self, speech: &mut Speech, subjects: &Subjects, now_ms: u64) {
        for (shard, stream) in self.streams.iter_mut().enumerate() {
            let is_due = match stream.asking {
                Asking::Nothing => true,
                Asking::Info { number, until_ms }
                | Asking::Create { number, until_ms }
                | Asking::Update { number, until_ms } => {
                    let is_late = until_ms <= now_ms;
                    if is_late {
                        // Nobody knows the answer, so it is asked for again.
                        speech.close(number);
                        (stream.asking, stream.wants) = (Asking::Nothing, Wants::Sample);
                    }
                    is_late
                }
                Asking::Later(due_ms) => due_ms <= now_ms,
            };
            let is_wanted = stream.wants == Wants::Sample
                || stream.asked_ms + SAMPLE_MS <= now_ms
                || !stream.next.is_empty()
                || !stream.waiting.is_empty();
            if is_due && is_wanted {
                stream.waiting.append(&mut stream.next);
                stream.wants = Wants::Nothing;
                stream.asked_ms = now_ms;
                stream.seen_when_asked = stream.seen.map_or(0, |(_, highest)| highest);
                let subject = format!("$JS.API.STREAM.INFO.{}", subjects.stream(shard as u16));
                let number = speech.request(&subject, b"", b"", Request::Stream(shard as u16));
                stream.asking = Asking::Info { number, until_ms: now_ms + STREAM_ANSWER_MS };
            }
        }
    }

    /// When something is to be asked again.
    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        let due = self.streams.iter().map(|stream| match stream.asking {
            Asking::Nothing => stream.asked_ms + SAMPLE_MS,
            Asking::Info { until_ms, .. }
            | Asking::Create { until_ms, .. }
            | Asking::Update { until_ms, .. } => until_ms,
            Asking::Later(due_ms) => due_ms,
        });
        due.min()
    }

    /// Something has a number. It is known at once, or when the epoch of the stream is.
    pub(crate) fn take(&mut self, shard: u16, numbered: Numbered, news: &mut Vec<StreamNews>) {
        let Some(stream) = self.streams.get_mut(usize::from(shard)) else { return };
        if !stream.is_plausible(&numbered) {
            stream.epoch = None;
            stream.doubt = Doubt::Repeated;
            stream.wants = Wants::Sample;
        }
        match stream.epoch {
            Some(epoch) => {
                stream.note(&numbered, epoch);
                news.push(StreamNews::Known { epoch, numbered });
            }
            None => self.lost += u64::from(!stream.held.take(numbered)),
        }
    }

    /// A stream, or JetStream instead, has answered.
    pub(crate) fn on_answer(
        &mut self,
        (shard, number): (u16, u64),
        (headers, payload): (NatsHeaders<'_>, &[u8]),
        (speech, subjects): (&mut Speech, &Subjects),
        random: u64,
        now_ms: u64,
    ) -> Vec<StreamNews> {
        speech.close(number);
        let Some(stream) = self.streams.get_mut(usize::from(shard)) else { return Vec::new() };
        // Otherwise it came too late.
        let Some(asked) = stream.answered(number) else { return Vec::new() };
        let until_ms = now_ms + STREAM_ANSWER_MS;
        stream.wants = Wants::Sample;
        let again = Asking::Later(now_ms + STREAM_AGAIN_MS);
        if headers.status() == Some(503) {
            self.problem = Some(NO_JETSTREAM.to_owned());
            stream.asking = again;
            return Vec::new();
        }
        let answer: StreamAnswer = serde_json::from_slice(payload).unwrap_or_default();
        let wanted = forms::config(&self.plan, subjects, shard);
        let mut orders = Orders { speech, subjects, shard };
        if let Some(error) = &answer.error {
            stream.asking = match (asked, error.err_code) {
                (Asking::Info { .. }, ApiError::STREAM_NOT_FOUND) => {
                    Asking::Create { number: orders.send("CREATE", &wanted), until_ms }
                }
                // Another node was first.
                (Asking::Create { .. }, ApiError::NAME_IN_USE) => Asking::Nothing,
                _ => {
                    let stream = subjects.stream(shard);
                    self.problem = Some(format!("stream {stream}: {}", error.description));
                    again
                }
            };
            return Vec::new();
        }
        stream.asking = Asking::Nothing;
        match asked {
            Asking::Create { .. } => return Vec::new(),
            Asking::Update { .. } => return vec![StreamNews::NewEpoch],
            _ => {}
        }
        let name = subjects.stream(shard);
        let sample = answer.sample(&name);
        self.problem = match sample {
            Some(_) => forms::unusable(&answer.config, &wanted),
            None => Some(format!("stream {name}: the answer of JetStream cannot be read")),
        };
        let sample = sample.filter(|_| self.problem.is_none());
        let judged = sample.map(|sample| (sample, stream.judge(&sample, answer.leader(), now_ms)));
        let Some((sample, verdict @ (Verdict::GoesOn | Verdict::HasGoneBack))) = judged else {
            stream.asking = again;
            return Vec::new();
        };
        let changed = match verdict {
            Verdict::HasGoneBack => Some(answer.config),
            // Drops by its old bounds are not to be proved by the new ones.
            _ if self.duty == Duty::Grow => forms::grown(&answer.config, &wanted),
            _ => None,
        };
        if let Some(changed) = changed {
            let changed = forms::with_epoch(&changed, random, sample.at_ms);
            stream.asking = Asking::Update { number: orders.send("UPDATE", &changed), until_ms };
            return Vec::new();
        }
        stream.wants = Wants::Nothing;
        stream.settle(sample)
    }
}

/// Where orders to JetStream go.
struct Orders<'o> {
    speech: &'o mut Speech,
    subjects: &'o Subjects,
    shard: u16,
}

impl Orders<'_> {
    fn send(&mut self, verb: &str, config: &Value) -> u64 {
        let subject = format!("$JS.API.STREAM.{verb}.{}", self.subjects.stream(self.shard));
        let json = serde_json::to_vec(config).expect("a value is always JSON");
        self.speech.request(&subject, b"", &json, Request::Stream(self.shard))
    }
}

impl Stream {
    /// The request with this number, if it still counts.
    fn answered(&self, number: u64) -> Option<Asking> {
        match self.asking {
            Asking::Info { number: open, .. }
            | Asking::Create { number: open, .. }
            | Asking::Update { number: open, .. } => (open == number).then_some(self.asking),
            Asking::Nothing | Asking::Later(_) => None,
        }
    }

    /// Whether the messages of a stream may be lost without a trace: servers of NATS that have all ended make their
    /// streams in memory anew as of their old time. A link that has not known it takes no chance, before it adds one.
    fn may_be_emptied(&self, sample: &StreamSample) -> bool {
        let is_known = self.seen.is_some_and(|(epoch, _)| epoch == sample.epoch);
        let is_old = sample.made_ms.is_some_and(|made| made + NEW_STREAM_MS < sample.at_ms);
        !is_known && is_old && sample.last == 0
    }

    /// Whether a number can be of the epoch that is known. Those that were added come in order, and so do the results
    /// of commits that are not repetitions.
    fn is_plausible(&mut self, numbered: &Numbered) -> bool {
        let (last, number) = match numbered {
            Numbered::Added { number, .. } => (&mut self.last_added, *number),
            Numbered::Result { is_repeated: true, .. } => return true,
            Numbered::Result { number, .. } => (&mut self.last_result, *number),
        };
        number > std::mem::replace(last, number)
    }

    fn note(&mut self, numbered: &Numbered, epoch: u64) {
        let (Numbered::Added { number, .. } | Numbered::Result { number, .. }) = numbered;
        let highest = self.seen.map_or(0, |(_, highest)| highest);
        self.seen = Some((epoch, highest.max(*number)));
    }

    /// Judges a state.
    fn judge(&mut self, sample: &StreamSample, leader: &str, now_ms: u64) -> Verdict {
        let is_known = self.seen.is_some_and(|(epoch, _)| epoch == sample.epoch);
        let highest = if is_known { self.seen_when_asked } else { 0 };
        match self.doubt.judge(highest, sample, leader, now_ms) {
            Verdict::GoesOn if self.may_be_emptied(sample) => Verdict::HasGoneBack,
            verdict => verdict,
        }
    }

    /// The epoch is known: what has waited for it gets it.
    fn settle(&mut self, sample: StreamSample) -> Vec<StreamNews> {
        let before = self.seen.filter(|(epoch, _)| *epoch == sample.epoch);
        let highest = before.map_or(0, |(_, highest)| highest);
        self.seen = Some((sample.epoch, highest.max(sample.last)));
        self.epoch = Some(sample.epoch);
        self.doubt = Doubt::Nothing;
        let (epoch, asked_ms, last) = (sample.epoch, self.asked_ms, sample.last);
        self.marks.add(Mark { epoch, asked_ms, last });
        let mut news = Vec::new();
        for numbered in std::mem::take(&mut self.held).release() {
            self.note(&numbered, sample.epoch);
            news.push(StreamNews::Known { epoch: sample.epoch, numbered });
        }
        for read in std::mem::take(&mut self.waiting) {
            news.push(StreamNews::Sampled { read, sample });
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use channels::Payload;

    const PLAN: StreamPlan = StreamPlan {
        count: 1,
        replicas: 1,
        bytes: 1 << 24,
        messages: 10,
        age_ms: 60_000,
        sections: 0,
    };

    /// The only stream of a link, and what it has said.
    struct One {
        streams: Streams,
        speech: Speech,
        subjects: Subjects,
        asked: u64,
        replicas: u64,
        /// When it answers.
        now_ms: u64,
    }

    impl One {
        fn new() -> Self {
            let (speech, subjects) = (Speech::default(), Subjects::new("v", 1));
            let streams = Streams::new(PLAN, Duty::Use);
            Self { streams, speech, subjects, asked: 0, replicas: 1, now_ms: 0 }
        }

        /// Asks; what was said since.
        fn ask(&mut self, now_ms: u64) -> String {
            self.streams.ask(&mut self.speech, &self.subjects, now_ms);
            let said = String::from_utf8(self.speech.take(0)).unwrap();
            self.asked += said.matches("PUB $JS.API").count() as u64;
            said
        }

        /// The stream answers, with this creation and this last number; what was said then.
        fn answer(&mut self, created: &str, last: u64) -> (Vec<StreamNews>, String) {
            self.answer_at(created, last, "2026-01-01T00:00:30Z", Value::Null)
        }

        /// The same at this time, with these metadata.
        fn answer_at(
            &mut self,
            created: &str,
            last: u64,
            at: &str,
            metadata: Value,
        ) -> (Vec<StreamNews>, String) {
            let mut config = forms::config(&PLAN, &self.subjects, 0);
            config["metadata"] = metadata;
            config["num_replicas"] = self.replicas.into();
            let state = serde_json::json!({ "first_seq": 1, "last_seq": last });
            let answer = serde_json::json!({
                "config": config, "created": created, "state": state, "ts": at, "cluster": { "leader": "a" },
            });
            let (answer, headers) = (answer.to_string(), NatsHeaders::new(b""));
            let with = (&mut self.speech, &self.subjects);
            let (asked, now_ms) = ((0, self.asked), self.now_ms);
            let news = self.streams.on_answer(asked, (headers, answer.as_bytes()), with, 7, now_ms);
            let said = String::from_utf8(self.speech.take(0)).unwrap();
            self.asked += said.matches("PUB $JS.API").count() as u64;
            (news, said)
        }

        fn add(&mut self, number: u64) -> Vec<StreamNews> {
            let body = Payload::of_text("x");
            let added = Numbered::Added { name: "a".into(), number, before: 0, body };
            let mut news = Vec::new();
            self.streams.take(0, added, &mut news);
            news
        }
    }

    fn epochs(news: &[StreamNews]) -> Vec<u64> {
        let epoch = |one: &StreamNews| match one {
            StreamNews::Known { epoch, .. } => Some(*epoch),
            _ => None,
        };
        news.iter().filter_map(epoch).collect()
    }

    #[test]
    fn a_lower_number_waits_until_the_epoch_is_known_again() {
        let mut one = One::new();
        assert!(one.add(4).is_empty(), "nothing is known yet");
        one.ask(0);
        let first = epochs(&one.answer("2026-01-01T00:00:00Z", 4).0);
        assert_eq!(first.len(), 1);
        assert_eq!(epochs(&one.add(5)), first);
        // The stream was lost and made again, and nobody has noticed.
        assert!(one.add(1).is_empty());
        one.ask(0);
        let second = epochs(&one.answer("2026-01-02T00:00:00Z", 9).0);
        assert_eq!(second.len(), 1);
        assert_ne!(second, first);
        assert_eq!(epochs(&one.add(6)), second);
    }

    #[test]
    fn a_message_that_overtakes_the_answer_about_its_stream_is_no_step_back() {
        let mut one = One::new();
        one.ask(0);
        one.answer("2026-01-01T00:00:00Z", 9);
        one.ask(SAMPLE_MS);
        assert_eq!(one.add(10).len(), 1);
        assert_eq!(one.answer("2026-01-01T00:00:00Z", 9).1, "");
        // Now it counts.
        one.ask(2 * SAMPLE_MS);
        assert!(one.answer("2026-01-01T00:00:00Z", 9).1.contains("STREAM.UPDATE"));
    }

    #[test]
    fn a_question_without_an_answer_is_asked_again_and_the_next_time_lies_ahead() {
        let mut one = One::new();
        one.ask(0);
        one.answer("2026-01-01T00:00:00Z", 9);
        // Each of these answers is lost, while nobody else wants to know anything.
        for now_ms in [SAMPLE_MS, SAMPLE_MS + STREAM_ANSWER_MS, SAMPLE_MS + 2 * STREAM_ANSWER_MS] {
            assert!(one.ask(now_ms).contains("PUB $JS.API.STREAM.INFO.v-h-0"), "at {now_ms} ms");
            let due_ms = one.streams.next_due_ms().expect("there is a stream");
            assert!(due_ms > now_ms, "due at {due_ms} ms, asked at {now_ms} ms");
        }
    }

    #[test]
    fn a_stream_that_grows_gets_another_epoch() {
        let mut one = One::new();
        one.streams = Streams::new(StreamPlan { messages: 20, ..PLAN }, Duty::Grow);
        one.ask(0);
        let (news, said) = one.answer("2026-01-01T00:00:00Z", 30);
        assert!(news.is_empty());
        assert!(said.contains("\"max_msgs_per_subject\":20"), "{said}");
        assert!(said.contains("\"velodrome-epoch\":\"0000000000000007\""), "{said}");
    }

    #[test]
    fn an_old_stream_without_a_message_gets_another_epoch_from_a_link_that_has_not_known_it() {
        let (old, now) = ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z");
        let mut one = One::new();
        one.ask(0);
        let (news, said) = one.answer_at(old, 0, now, Value::Null);
        assert!(news.is_empty());
        assert!(said.contains("PUB $JS.API.STREAM.UPDATE.v-h-0"), "{said}");
        assert!(said.contains("\"velodrome-epoch-at\":\"1767229200000\""), "{said}");
        let renewed = serde_json::json!({ "velodrome-epoch-at": "1767229200000" });
        for (last, at, metadata) in [
            (0, "2026-01-01T00:00:30Z", Value::Null),
            (0, "2026-01-01T01:00:30Z", renewed),
            (1, now, Value::Null),
        ] {
            let mut one = One::new();
            one.ask(0);
            assert_eq!(one.answer_at(old, last, at, metadata.clone()).1, "", "{last} at {at}");
            // It knows it now, however old it gets.
            one.ask(SAMPLE_MS);
            assert_eq!(one.answer_at(old, last, "2026-01-02T00:00:00Z", metadata).1, "");
        }
    }

    #[test]
    fn a_stream_that_has_gone_back_gets_another_epoch() {
        let mut one = One::new();
        one.ask(0);
        one.answer("2026-01-01T00:00:00Z", 9);
        one.streams.forget(|_| false);
        one.ask(0);
        assert_eq!(one.answer("2026-01-01T00:00:00Z", 9).1, "", "it is as it was");
        one.streams.forget(|_| false);
        one.ask(0);
        let (news, said) = one.answer("2026-01-01T00:00:00Z", 8);
        assert!(news.is_empty());
        assert!(said.contains("PUB $JS.API.STREAM.UPDATE.v-h-0"), "{said}");
        assert!(said.contains("\"velodrome-epoch\":\"0000000000000007\""), "{said}");
    }

    #[test]
    fn a_doubt_ends_with_its_connection() {
        let mut one = One::new();
        one.replicas = 3;
        for (asked_ms, last) in [(0, 9), (SAMPLE_MS, 8)] {
            one.ask(asked_ms);
            one.now_ms = asked_ms;
            assert_eq!(one.answer("2026-01-01T00:00:00Z", last).1, "");
        }
        one.streams.forget(|_| false);
        one.ask(5 * SAMPLE_MS);
        one.now_ms = 5 * SAMPLE_MS;
        assert_eq!(one.answer("2026-01-01T00:00:00Z", 8).1, "", "another old leader, perhaps");
    }
}
