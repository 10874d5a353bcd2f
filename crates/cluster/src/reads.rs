//! Histories that are read from their streams.
//!
//! Owns the steps of a read: a sample of the stream before it, which says up to which number the history is complete;
//! the messages (Direct Get); a sample after it, which says what the stream had dropped by then. [`Read::part`] proves
//! what is missing. Where a stream has several servers, the one that gives the messages may be behind the sample: the
//! rest comes from the first of them. Never asks for a sample itself.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use channels::{HistoryPart, KeptMessage, Remainder};
use wire::nats::NatsHeaders;

use crate::body::{self, Body};
use crate::limits::{READ_BYTES, READ_MS, READS_UNDER_WAY};
use crate::speech::{Request, Speech};
use crate::stream_forms::{ApiError, Mark, MessageAnswer, StreamSample};
use crate::streams::Streams;
use crate::subjects::Subjects;
use crate::times;

/// A history to be read.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) name: Arc<str>,
    pub(crate) read: u64,
    pub(crate) after: u64,
    pub(crate) at_most: u32,
    /// The channels know everything up to `after` and to this mark.
    pub(crate) known_until: Option<Mark>,
}

#[derive(Debug)]
enum Step {
    /// It waits for the first sample.
    Before,
    /// Messages come.
    Messages { request: u64 },
    /// The first server of the stream is asked for the next message: the others may be behind it.
    First { request: u64 },
    /// It waits for the second sample.
    After,
}

#[derive(Debug)]
struct Read {
    wish: Wish,
    step: Step,
    until_ms: u64,
    before: Option<StreamSample>,
    /// With the time in milliseconds instead of the age.
    messages: Vec<KeptMessage>,
    found: Found,
}

/// The messages that have come, also those that cannot be read.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    count: u64,
    first: Option<u64>,
    last: Option<u64>,
    /// The last one that cannot be read.
    unread: Option<u64>,
    /// Messages behind these that the stream has.
    pending: u64,
}

/// The end of a read.
#[derive(Debug)]
pub(crate) enum ReadResult {
    Part { name: Arc<str>, read: u64, part: HistoryPart },
    Failed { name: Arc<str>, read: u64 },
}

/// The reads of a link.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    line: VecDeque<Wish>,
    open: BTreeMap<u64, Read>,
    /// Messages that could not be read.
    unread: u64,
}

impl Reads {
    pub(crate) fn len(&self) -> usize {
        self.line.len() + self.open.len()
    }

    /// The number of messages that could not be read, since this was asked last.
    pub(crate) fn take_unread(&mut self) -> u64 {
        std::mem::take(&mut self.unread)
    }

    pub(crate) fn add(&mut self, wish: Wish) {
        self.line.push_back(wish);
    }

    /// Begins reads, as many as may be under way.
    pub(crate) fn begin(&mut self, streams: &mut Streams, subjects: &Subjects, now_ms: u64) {
        while self.open.len() < READS_UNDER_WAY
            && let Some(wish) = self.line.pop_front()
        {
            streams.sample(subjects.shard(&wish.name), wish.read);
            let read = Read {
                step: Step::Before,
                until_ms: now_ms + READ_MS,
                before: None,
                messages: Vec::new(),
                found: Found::default(),
                wish,
            };
            self.open.insert(read.wish.read, read);
        }
    }

    /// The connection was lost: all have failed.
    pub(crate) fn fail_all(&mut self) -> Vec<ReadResult> {
        let open = std::mem::take(&mut self.open).into_values().map(|read| read.wish);
        let wishes = open.chain(std::mem::take(&mut self.line));
        wishes.map(|Wish { name, read, .. }| ReadResult::Failed { name, read }).collect()
    }

    /// Those that took too long.
    pub(crate) fn fail_late(&mut self, speech: &mut Speech, now_ms: u64) -> Vec<ReadResult> {
        let late = self.open.values().filter(|read| read.until_ms <= now_ms);
        let late: Vec<u64> = late.map(|read| read.wish.read).collect();
        late.into_iter().filter_map(|read| self.fail(read, speech)).collect()
    }

    fn fail(&mut self, read: u64, speech: &mut Speech) -> Option<ReadResult> {
        let Read { wish: Wish { name, read, .. }, step, .. } = self.open.remove(&read)?;
        if let Step::Messages { request } | Step::First { request } = step {
            speech.close(request);
        }
        Some(ReadResult::Failed { name, read })
    }

    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        self.open.values().map(|read| read.until_ms).min()
    }

    /// A sample that a read has waited for.
    pub(crate) fn on_sample(
        &mut self,
        read: u64,
        sample: StreamSample,
        now_ms: u64,
        (speech, streams, subjects): (&mut Speech, &mut Streams, &Subjects),
    ) -> Option<ReadResult> {
        let open = self.open.get_mut(&read)?;
        if matches!(open.step, Step::After) {
            if open.before.is_some_and(|before| before.epoch == sample.epoch) {
                return self.open.remove(&read).map(|read| read.result(&sample, now_ms));
            }
            // The stream changed meanwhile: this is read from the beginning, with the sample as the first one.
            open.messages.clear();
            open.found = Found::default();
        }
        let (wish, shard) = (&open.wish, subjects.shard(&open.wish.name));
        if wish.at_most == 0 || sample.last <= wish.after {
            // There is nothing to read.
            open.before = Some(sample);
            open.step = Step::After;
            streams.sample(shard, read);
            return None;
        }
        let subject = format!("$JS.API.DIRECT.GET.{}", subjects.stream(shard));
        let asked = format!(
            r#"{{"seq":{},"next_by_subj":"{}","batch":{},"max_bytes":{READ_BYTES}}}"#,
            wish.after + 1,
            subjects.kept(&wish.name),
            wish.at_most
        );
        let request = speech.request(&subject, b"", asked.as_bytes(), Request::Read(read));
        open.before = Some(sample);
        open.step = Step::Messages { request };
        None
    }

    /// A message of a history, or the end.
    pub(crate) fn on_answer(
        &mut self,
        (read, request): (u64, u64),
        headers: NatsHeaders<'_>,
        payload: &[u8],
        (speech, streams, subjects): (&mut Speech, &mut Streams, &Subjects),
    ) -> Option<ReadResult> {
        let Some(open) = self.open.get_mut(&read) else {
            speech.close(request);
            return None;
        };
        if matches!(open.step, Step::First { .. }) {
            speech.close(request);
            let answer = headers.status().is_none().then(|| serde_json::from_slice(payload));
            return match answer.and_then(Result::ok).map(|answer| open.take_next(&answer)) {
                Some(Next::Message) => {
                    self.unread += u64::from(open.found.unread == open.found.last);
                    open.go_on(speech, streams, subjects);
                    None
                }
                Some(Next::Nothing) => {
                    open.end(streams, subjects);
                    None
                }
                Some(Next::Unknown) | None => self.fail(read, speech),
            };
        }
        match headers.status() {
            None => {
                let at_ms = headers.get("Nats-Time-Stamp").and_then(times::milliseconds);
                if let Some(number) = headers.number("Nats-Sequence") {
                    open.take(number, at_ms, payload);
                    self.unread += u64::from(open.found.unread == Some(number));
                }
                open.found.pending = headers.number("Nats-Num-Pending").unwrap_or(0);
                None
            }
            // The end of a batch, or there is no message.
            Some(204 | 404) => {
                speech.close(request);
                open.found.pending = headers.number("Nats-Num-Pending").unwrap_or(0);
                open.go_on(speech, streams, subjects);
                None
            }
            Some(_) => self.fail(read, speech),
        }
    }
}

/// The next thing that the first server of a stream has behind the messages of another one.
enum Next {
    Message,
    Nothing,
    Unknown,
}

impl Read {
    /// A message has come. What this version cannot read is lost, with what was before it.
    fn take(&mut self, number: u64, at_ms: Option<u64>, payload: &[u8]) {
        self.found.count += 1;
        self.found.first.get_or_insert(number);
        self.found.last = Some(number);
        match body::read(payload) {
            Some(Body::Message(body)) => {
                self.messages.push(KeptMessage { number, age_ms: at_ms.unwrap_or(0), body });
            }
            Some(Body::Member { .. }) | None => self.found.unread = Some(number),
        }
    }

    fn take_next(&mut self, answer: &MessageAnswer) -> Next {
        match &answer.error {
            Some(error) if error.err_code == ApiError::NO_MESSAGE => return Next::Nothing,
            Some(_) => return Next::Unknown,
            None => {}
        }
        let MessageAnswer { message, .. } = answer;
        if message.seq <= self.known() {
            return Next::Unknown;
        }
        self.take(message.seq, message.at_ms(), &message.payload());
        // The rest is read behind these.
        self.found.pending = u64::from(self.found.count >= u64::from(self.wish.at_most));
        Next::Message
    }

    /// All messages of the channel up to this number have come.
    fn known(&self) -> u64 {
        self.found.last.unwrap_or(self.wish.after)
    }

    /// Reads on, if messages from before the first sample may be missing behind those that have come.
    fn go_on(&mut self, speech: &mut Speech, streams: &mut Streams, subjects: &Subjects) {
        let may_be_behind = self.found.pending == 0
            && self.before.is_some_and(|of| of.replicas > 1 && self.known() < of.last);
        if !may_be_behind {
            return self.end(streams, subjects);
        }
        let name = &self.wish.name;
        let stream = subjects.stream(subjects.shard(name));
        let subject = format!("$JS.API.STREAM.MSG.GET.{stream}");
        let (next, kept) = (self.known() + 1, subjects.kept(name));
        let asked = format!(r#"{{"seq":{next},"next_by_subj":"{kept}"}}"#);
        let read = Request::Read(self.wish.read);
        let request = speech.request(&subject, b"", asked.as_bytes(), read);
        self.step = Step::First { request };
    }

    /// All messages have come.
    fn end(&mut self, streams: &mut Streams, subjects: &Subjects) {
        self.step = Step::After;
        streams.sample(subjects.shard(&self.wish.name), self.wish.read);
    }

    fn result(self, after: &StreamSample, now_ms: u64) -> ReadResult {
        let part = self.part(after, now_ms);
        let Wish { name, read, .. } = self.wish;
        ReadResult::Part { name, read, part }
    }

    /// The result of a read, and how much of it is certain.
    ///
    /// A stream drops messages in two ways. Over its bounds it drops its oldest: nothing that it dropped so has a
    /// number of `first` or above. Of each channel it keeps so many, and drops the oldest of the channel. While it has
    /// fewer than so many behind `wish.after`, everything that it dropped so was older than something that it dropped
    /// in the first way, or than `wish.after`. With as many, what was before the first of them may be missing. For a
    /// channel that was followed until the connection was lost, messages before the mark do not count.
    fn part(&self, after: &StreamSample, now_ms: u64) -> HistoryPart {
        let Found { count, first, last, unread, pending } = self.found;
        let count = count + pending;
        let complete_after = match first {
            Some(first) if count >= after.messages => first - 1,
            _ if self.wish.known_until.is_some_and(|mark| mark.is_whole_until(after, now_ms)) => {
                self.wish.after
            }
            _ => self.wish.after.max(after.first.saturating_sub(1)),
        };
        let complete_after = complete_after.max(unread.unwrap_or(0));
        let with_age = |message: &KeptMessage| KeptMessage {
            age_ms: after.at_ms.saturating_sub(message.age_ms),
            ..message.clone()
        };
        let rest = if pending > 0 { Remainder::Some } else { Remainder::None };
        let before = self.before.map_or(0, |before| before.last);
        HistoryPart {
            epoch: after.epoch,
            complete_after,
            messages: self.messages.iter().map(with_age).collect(),
            last: match (rest, last) {
                (Remainder::Some, Some(last)) => last,
                (Remainder::None, last) => before.max(last.unwrap_or(0)),
                (Remainder::Some, None) => self.wish.after,
            },
            rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::KEPT_MESSAGE_BYTES;

    fn sample(first: u64, last: u64) -> StreamSample {
        let (age_ms, bytes) = (Some(1_000), Some(10 * KEPT_MESSAGE_BYTES));
        StreamSample {
            epoch: 1,
            first,
            last,
            at_ms: 1_000,
            made_ms: None,
            messages: 3,
            age_ms,
            bytes,
            replicas: 1,
        }
    }

    fn read(after: u64, numbers: &[u64], pending: u64) -> Read {
        let wish = Wish { name: "a".into(), read: 1, after, at_most: 10, known_until: None };
        let mut read = Read {
            wish,
            step: Step::After,
            until_ms: 0,
            before: Some(sample(1, 90)),
            messages: Vec::new(),
            found: Found::default(),
        };
        numbers.iter().for_each(|number| read.take(*number, Some(400), b"tx"));
        read.found.pending = pending;
        read
    }

    #[test]
    fn a_message_that_cannot_be_read_is_lost_and_what_follows_is_not() {
        let mut part = read(0, &[], 0);
        [70, 71].iter().for_each(|number| part.take(*number, None, b"?x"));
        part.found.pending = 4;
        let part = part.part(&sample(1, 95), 0);
        assert_eq!((part.messages.len(), part.last, part.rest), (0, 71, Remainder::Some));
        assert_eq!(part.complete_after, 71, "they are lost, and told as lost");
        let mut mixed = read(0, &[70], 0);
        mixed.take(71, None, b"?x");
        mixed.take(72, Some(400), b"tx");
        let part = mixed.part(&sample(1, 72), 0);
        assert_eq!((part.messages.len(), part.complete_after), (2, 71), "what follows is there");
    }

    #[test]
    fn a_part_is_complete_from_where_the_stream_can_have_dropped_something() {
        for (after, numbers, pending, first, complete_after) in [
            // Nothing was dropped.
            (0, &[7, 9][..], 0, 1, 0),
            (7, &[9][..], 0, 1, 7),
            (9, &[][..], 0, 1, 9),
            // The stream has dropped its oldest.
            (0, &[70][..], 0, 60, 59),
            (50, &[70][..], 0, 60, 59),
            (65, &[70][..], 0, 60, 65),
            (50, &[][..], 0, 60, 59),
            // The channel has as many as it may have.
            (0, &[70, 80, 90][..], 0, 1, 69),
            (0, &[70][..], 2, 1, 69),
            (70, &[80, 90][..], 0, 1, 70),
            (60, &[70, 80, 90][..], 0, 65, 69),
        ] {
            let part = read(after, numbers, pending).part(&sample(first, 95), 0);
            assert_eq!(
                part.complete_after, complete_after,
                "{after} {numbers:?} {pending} {first}"
            );
        }
    }

    #[test]
    fn a_quiet_channel_that_was_followed_until_the_loss_misses_nothing() {
        let mark = |epoch, asked_ms, last| Some(Mark { epoch, asked_ms, last });
        // Everything that the stream had when the connection was lost has left it since.
        for (known_until, complete_after) in [
            (None, 89),
            (mark(1, 5_000, 86), 10),
            (mark(2, 5_000, 86), 89),
            // It may be too old by now, or too much was added.
            (mark(1, 4_000, 86), 89),
            (mark(1, 5_000, 85), 89),
        ] {
            let mut read = read(10, &[], 0);
            read.wish.known_until = known_until;
            let part = read.part(&sample(90, 95), 5_000);
            assert_eq!(part.complete_after, complete_after, "{known_until:?}");
        }
        let mut full = read(10, &[91, 92, 93], 0);
        full.wish.known_until = mark(1, 5_000, 90);
        assert_eq!(full.part(&sample(90, 95), 5_000).complete_after, 90, "a busy one may");
    }

    #[test]
    fn a_part_says_up_to_where_it_goes() {
        let whole = read(0, &[70], 0).part(&sample(1, 95), 0);
        assert_eq!((whole.last, whole.rest), (90, Remainder::None), "as it was before");
        assert_eq!(whole.messages[0].age_ms, 600);
        let more = read(0, &[70], 1).part(&sample(1, 95), 0);
        assert_eq!((more.last, more.rest), (70, Remainder::Some));
        assert_eq!(read(0, &[93], 0).part(&sample(1, 95), 0).last, 93);
    }
}
