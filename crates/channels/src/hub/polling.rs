//! Requests that wait for the next message of a channel (long polling).
//!
//! Owns which requests wait and until when, and how much is written for them in a turn. An answer
//! is a JSON object with the position for the next request; a long history takes several.

use std::collections::{BTreeMap, VecDeque};

use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;

use super::Channels;
use crate::channel::Channel;
use crate::format::{Numbered, write_object};
use crate::limits::{POLL_ANSWER_SIZE, POLL_BYTES_PER_TURN, POLLS_RESUMED};
use crate::outcome::ChannelRefusal;
use crate::position::Position;
use crate::ruling::SubscribeRight;

/// Waiting requests, in an order that a simulated world can repeat.
#[derive(Debug, Default)]
pub(super) struct Polls {
    waiting: BTreeMap<ProcessId, Waiting>,
    /// Requests that could be answered and were put off, oldest first.
    put_off: VecDeque<ProcessId>,
    /// How many of those may be answered in this turn.
    due: usize,
    /// Bytes of answers in this turn.
    written: usize,
}

/// The wait of a request.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    channel: u32,
    until_ms: u64,
    /// Whether it is in the channel's list of waiting requests.
    is_listed: bool,
    /// Whether only its turn is missing.
    is_put_off: bool,
}

impl Polls {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A message has arrived: the request is asked again, and has been removed from its channel's list.
    pub(super) fn resume(&mut self, process: ProcessId) {
        if let Some(waiting) = self.waiting.get_mut(&process) {
            waiting.is_listed = false;
        }
    }

    /// Whether a request may be answered in this turn: there is room, and no older request waits for it.
    fn may_answer(&self, process: ProcessId) -> bool {
        let is_next =
            self.put_off.is_empty() || self.put_off.iter().take(self.due).any(|id| *id == process);
        is_next && self.written < POLL_BYTES_PER_TURN
    }

    /// At the end of a turn: the oldest requests that were put off are asked again in the next one.
    pub(super) fn resume_put_off<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        self.written = 0;
        self.due = self.put_off.len().min(POLLS_RESUMED);
        for process in self.put_off.iter().take(self.due) {
            context.command(SchedulerCommand::Resume(*process));
        }
    }

    /// Removes a request from those that were put off.
    fn drop_put_off(&mut self, process: ProcessId) {
        if let Some(at) = self.put_off.iter().position(|id| *id == process) {
            self.put_off.remove(at);
            self.due -= usize::from(at < self.due);
        }
    }

    /// Requests whose time is over are asked again.
    pub(super) fn expire<M>(&self, now_ms: u64, context: &mut ServiceContext<'_, M>) {
        for (process, waiting) in &self.waiting {
            if waiting.until_ms <= now_ms {
                context.command(SchedulerCommand::Resume(*process));
            }
        }
    }
}

impl Channels {
    /// Answers a request for the messages since a position: with a JSON object, or `None` if it has to wait, for at
    /// most this many milliseconds. It is asked again with the same arguments when there may be messages.
    ///
    /// # Errors
    /// If there is no room.
    pub fn poll(
        &mut self,
        right: &SubscribeRight<'_>,
        since: Option<Position>,
        process: ProcessId,
        (now_ms, wait_ms): (u64, u64),
    ) -> Result<Option<Vec<u8>>, ChannelRefusal> {
        let before = self.polls.waiting.get(&process).copied();
        if before.is_none() {
            self.check_subscriptions()?;
        }
        let ruled = self.rulebook.renew(right.channel());
        let place = match self.find_or_make(ruled) {
            Ok(place) => place,
            Err(refusal) => {
                self.forget_poll(process);
                return self.counted(Err(refusal));
            }
        };
        let until_ms = before.map_or(now_ms.saturating_add(wait_ms), |waiting| waiting.until_ms);
        let Some(channel) = &mut self.channels[place as usize] else {
            return Err(ChannelRefusal::Full);
        };
        // A request without a position asks for the next message, unless the history has some.
        let since = since.unwrap_or_else(|| channel.beginning());
        let is_behind = channel.is_known() && channel.is_behind(since);
        let is_due = is_behind || until_ms <= now_ms && channel.is_known();
        if is_due && self.polls.may_answer(process) {
            let answer = answer_of(channel, since);
            self.polls.written += answer.len();
            self.forget_poll(process);
            // Without other subscribers the channel may be removed.
            self.note(place);
            return Ok(Some(answer));
        }
        // One that is put off gets its turn; messages make no difference to it.
        let waiting = Waiting { channel: place, until_ms, is_listed: !is_due, is_put_off: is_due };
        self.keep(process, waiting);
        Ok(None)
    }

    /// Keeps a request until it is asked again. It counts as a subscriber meanwhile, so that the channel stays.
    fn keep(&mut self, process: ProcessId, waiting: Waiting) {
        let before = self.polls.waiting.insert(process, waiting);
        let was_put_off = before.is_some_and(|before| before.is_put_off);
        match (was_put_off, waiting.is_put_off) {
            (false, true) => self.polls.put_off.push_back(process),
            (true, false) => self.polls.drop_put_off(process),
            _ => {}
        }
        let Some(channel) = &mut self.channels[waiting.channel as usize] else { return };
        if waiting.is_listed {
            channel.waiting.insert(process);
        } else {
            channel.waiting.remove(&process);
        }
        if before.is_none() {
            channel.polls += 1;
            self.recount(waiting.channel);
        }
    }

    /// Whether a channel's home has answered, so that a request which becomes a subscriber now gets every message
    /// published from now on. `false`: the request waits, and asks again.
    ///
    /// # Errors
    /// If there is no room.
    pub fn is_ready(
        &mut self,
        right: &SubscribeRight<'_>,
        process: ProcessId,
    ) -> Result<bool, ChannelRefusal> {
        let place = self.find_or_make(self.rulebook.renew(right.channel()));
        let place = self.counted(place)?;
        let Some(channel) = &self.channels[place as usize] else {
            return Err(ChannelRefusal::Full);
        };
        if channel.is_known() {
            self.note(place);
            return Ok(true);
        }
        let waiting =
            Waiting { channel: place, until_ms: u64::MAX, is_listed: true, is_put_off: false };
        self.keep(process, waiting);
        Ok(false)
    }

    /// The server stops: waiting requests are answered without messages.
    pub fn end_polls<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        for waiting in self.polls.waiting.values_mut() {
            waiting.until_ms = 0;
        }
        self.polls.expire(context.now.monotonic_ms(), context);
    }

    /// Whether a request waits for a message.
    pub fn is_polling(&self, process: ProcessId) -> bool {
        self.polls.waiting.contains_key(&process)
    }

    /// A waiting request has ended.
    pub(super) fn forget_poll(&mut self, process: ProcessId) {
        let Some(waiting) = self.polls.waiting.remove(&process) else { return };
        if waiting.is_put_off {
            self.polls.drop_put_off(process);
        }
        if let Some(channel) = &mut self.channels[waiting.channel as usize] {
            channel.polls -= 1;
            if waiting.is_listed {
                channel.waiting.remove(&process);
            }
        }
        self.recount(waiting.channel);
    }
}

/// `{"since":"e-7","recovered":true,"messages":[…]}`: as many messages as fit into an answer, and one at least. `since`
/// is the position of the last one.
fn answer_of(channel: &Channel, since: Position) -> Vec<u8> {
    let is_of_now = channel.is_reached_by(since);
    let after = if is_of_now { since.offset } else { 0 };
    let (messages, is_lost) = channel.history.since(after);
    let recovered = is_of_now && !is_lost;
    let mut last = channel.position();
    last.offset = last.offset.max(after);
    let mut written_to = last;
    let mut written = Vec::new();
    for (offset, body) in messages {
        let position = Position { epoch: channel.epoch, offset };
        if !written.is_empty() {
            if written.len() + body.bytes().len() > POLL_ANSWER_SIZE {
                last = written_to;
                break;
            }
            written.push(b',');
        }
        let message = Numbered { channel: &channel.name, position, has_history: true, body };
        write_object(message, &mut written);
        written_to = position;
    }
    let begin = format!("{{\"since\":\"{last}\",\"recovered\":{recovered},\"messages\":[");
    [begin.as_bytes(), &written, b"]}"].concat()
}
