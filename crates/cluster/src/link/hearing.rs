//! The operations that the server of a link sends.
//!
//! Owns what each operation means: the handshake, answers, messages of channels and of nodes. Never opens a connection.

use std::sync::Arc;

use channels::{ChannelRefusal, ClusterNews, Keeping, Position, Remainder};
use wire::nats::{NatsClientSaid, NatsHeaders, NatsMessage, NatsServerSaid};

use super::{LinkEvent, NatsLink, Stage};
use crate::body::{self, Body};
use crate::confirmations::Awaited;
use crate::fault::LinkFault;
use crate::following::Interest;
use crate::handshake::{NatsInfo, introduce};
use crate::held::Numbered;
use crate::limits::{AGREEMENT_MS, MESSAGE_BYTES, REJOIN_MS};
use crate::nodes::Heard;
use crate::plan::LinkEncryption;
use crate::questions;
use crate::reads::ReadResult;
use crate::speech::Request;
use crate::stream_forms::{AddedForm, ApiError};
use crate::streams::StreamNews;
use crate::subjects::channel_of;

/// 200 ms after which a commit is sent again that its stream could not take.
const COMMIT_AGAIN_MS: u64 = 200;

impl NatsLink {
    /// Takes input of the connection, and returns how many bytes it has consumed: the rest comes again, with more.
    ///
    /// # Errors
    /// If the connection is to be closed.
    pub fn on_input(&mut self, input: &[u8], now_ms: u64) -> Result<usize, LinkFault> {
        self.heard_ms = now_ms;
        let mut consumed = 0;
        while let Some((said, length)) = NatsServerSaid::read(&input[consumed..], MESSAGE_BYTES)? {
            self.hear(said, now_ms)?;
            consumed += length;
        }
        self.go_on(now_ms);
        Ok(consumed)
    }

    /// Whether subscriptions are known to the server.
    pub(super) fn has_subscribed(&self) -> bool {
        matches!(self.stage, Stage::Joining { .. } | Stage::Up)
    }

    fn hear(&mut self, said: NatsServerSaid<'_>, now_ms: u64) -> Result<(), LinkFault> {
        match said {
            NatsServerSaid::Info(json) => self.on_info(json, now_ms),
            NatsServerSaid::Ping => {
                self.speech.say(&NatsClientSaid::Pong);
                Ok(())
            }
            NatsServerSaid::Pong => {
                let answered = self.speech.on_pong();
                self.mail.on_pong(answered);
                self.on_pong(answered, now_ms);
                Ok(())
            }
            NatsServerSaid::Ok => Ok(()),
            NatsServerSaid::Error(text) => self.on_error(text),
            NatsServerSaid::Message(message) => {
                self.on_message(&message, now_ms);
                Ok(())
            }
        }
    }

    fn on_info(&mut self, json: &[u8], now_ms: u64) -> Result<(), LinkFault> {
        let info = NatsInfo::read(json).ok_or(LinkFault::NotNats)?;
        self.servers.learn(&info.connect_urls);
        let is_leaving = info.ldm && self.has_subscribed();
        self.info = info;
        if is_leaving {
            return Err(LinkFault::ServerStops);
        }
        let Stage::Greeting { since_ms } = self.stage else { return Ok(()) };
        if !self.info.headers {
            return Err(LinkFault::TooOld);
        }
        let is_plain =
            self.servers.current().is_some_and(|to| to.encryption == LinkEncryption::Plain);
        if is_plain && self.info.tls_required {
            return Err(LinkFault::WantsEncryption);
        }
        self.connection += 1;
        // Answers to another link must not come here, whatever seeds both have.
        let (node, link) = (self.plan.node.0, self.seat.number);
        let inbox = format!("_INBOX.{node:x}-{link}-{:016x}", self.random.u64(..));
        self.speech.begin(inbox);
        let introduction = introduce(&self.plan, &self.info);
        self.speech.say(&NatsClientSaid::Connect(&introduction));
        // Two answers: it is welcome; and what it follows is followed.
        self.speech.ping();
        self.following.begin(&mut self.speech, &self.subjects, self.plan.node);
        self.speech.ping();
        self.asked_ms = now_ms;
        self.stage = Stage::Joining { since_ms, missing: 2 };
        Ok(())
    }

    fn on_pong(&mut self, answered: u64, now_ms: u64) {
        let Stage::Joining { since_ms, missing } = self.stage else {
            let taken = self.confirmations.answered(answered).into_iter();
            self.news.extend(taken.map(|one| match one {
                Awaited::Channel(name) => ClusterNews::Followed { name },
                Awaited::All => ClusterNews::FollowedAll,
            }));
            return;
        };
        if missing > 1 {
            self.stage = Stage::Joining { since_ms, missing: missing - 1 };
            return;
        }
        self.stage = Stage::Up;
        self.confirmations.begin();
        self.since_ms = now_ms;
        self.problem = None;
        self.stats.connections += 1;
        self.servers.succeed();
        // One that is not due yet stays: what is read until then may be that of an old leader.
        self.rejoin_ms.take_if(|due_ms| *due_ms <= now_ms);
        self.nodes.come_back(self.seat, now_ms);
        let greeting = self.nodes.greeting(&self.plan, (self.seat, self.connection));
        self.say_sign(&greeting, now_ms);
        self.news.push(ClusterNews::Back);
        if self.following.has_mail() {
            self.mail.come_back();
        }
        let server = self.servers.current().map(ToString::to_string).unwrap_or_default();
        self.events.push(LinkEvent::Connected { server });
    }

    fn on_error(&mut self, text: &str) -> Result<(), LinkFault> {
        let lower = text.to_ascii_lowercase();
        // The only errors after which a server goes on.
        if lower.starts_with("permissions violation") || lower.starts_with("invalid subject") {
            self.complain(format!("NATS: {text}"));
            return Ok(());
        }
        Err(LinkFault::of_error(text))
    }

    fn on_message(&mut self, message: &NatsMessage<'_>, now_ms: u64) {
        let Some(interest) = self.following.interest(message.subscription).cloned() else { return };
        match interest {
            Interest::Inbox => self.on_answer(message, now_ms),
            Interest::Nodes => {
                let own = (self.plan.node, self.seat);
                match self.nodes.hear(message.payload, own, now_ms) {
                    Heard::Alive => {}
                    Heard::Came(node) => self.news.push(ClusterNews::NodeCame { node }),
                    Heard::Ended(node) => self.news.push(ClusterNews::NodeGone { node }),
                    Heard::Gap { node, since_ms } => {
                        self.news.push(ClusterNews::NodeCame { node });
                        self.streams.distrust(since_ms);
                        self.rejoin_later(now_ms);
                    }
                }
            }
            Interest::Questions => {
                let reply = message.reply.unwrap_or_default();
                let asked = questions::asked(message.payload, reply, self.plan.node);
                self.news.extend(asked.filter(|_| !reply.is_empty()));
            }
            Interest::Epochs => {
                let text = str::from_utf8(message.payload).unwrap_or_default();
                if let Ok(shard) = text.parse() {
                    self.streams.doubt(shard);
                }
            }
            Interest::Channel(name, keeping) => self.on_channel(name, keeping, message, now_ms),
            Interest::AllAnnounced => self.on_any(Keeping::Nothing, message, now_ms),
            Interest::Mail => {
                self.stats.mail_received += 1;
                self.mail.hear(message.payload);
            }
            Interest::AllAdded => self.on_any(Keeping::History, message, now_ms),
        }
    }

    /// Messages of other nodes did not arrive: this link is to connect again, because what was missed is read as after
    /// any loss of a connection. Not at once: the servers of NATS have to agree on the leaders of streams before, also
    /// after a further cut.
    fn rejoin_later(&mut self, now_ms: u64) {
        self.rejoin_ms = Some(now_ms + self.random.u64(AGREEMENT_MS..AGREEMENT_MS + REJOIN_MS));
    }

    /// A message of any channel, which may be followed by itself as well.
    fn on_any(&mut self, keeping: Keeping, message: &NatsMessage<'_>, now_ms: u64) {
        let Some(name) = channel_of(message.subject) else { return };
        if self.following.keeping(&name) != Some(keeping) {
            self.on_channel(name.into(), keeping, message, now_ms);
        }
    }

    fn on_channel(
        &mut self,
        name: Arc<str>,
        keeping: Keeping,
        message: &NatsMessage<'_>,
        now_ms: u64,
    ) {
        let body = match body::read(message.payload) {
            Some(Body::Message(body)) => body,
            Some(Body::Member { node, member, step }) => {
                if node != self.plan.node {
                    self.nodes.meet(node, now_ms);
                    self.news.push(ClusterNews::Member { node, name, member, step });
                }
                return;
            }
            None => return self.note_unreadable(1),
        };
        self.stats.received += 1;
        if keeping == Keeping::Nothing {
            self.news.push(ClusterNews::Announced { name, body });
            return;
        }
        let headers = NatsHeaders::new(message.headers);
        let shard = headers.get("Nats-Stream").and_then(|name| self.subjects.shard_of_stream(name));
        let Some((shard, number)) = shard.zip(headers.number("Nats-Sequence")) else {
            return self.note_unreadable(1);
        };
        let before = headers.number("Nats-Last-Sequence").unwrap_or(0);
        let mut news = Vec::new();
        let added = Numbered::Added { name, number, before, body };
        self.streams.take(shard, added, &mut news);
        self.on_streams(news, now_ms);
    }

    /// Messages could not be read. Where there is a history, the next one shows that they are missing, and subscribers
    /// are told.
    fn note_unreadable(&mut self, count: u64) {
        self.stats.unreadable += count;
        if count > 0 {
            let why = "messages of channels have a form that this version does not know, and subscribers of this \
                       server do not get them: run one version of Velodrome on all nodes";
            self.complain(why.to_owned());
        }
    }

    /// The answer to a request.
    fn on_answer(&mut self, message: &NatsMessage<'_>, now_ms: u64) {
        let Some((number, request)) = self.speech.answered(message.subject) else { return };
        let headers = NatsHeaders::new(message.headers);
        match request {
            Request::Commit(order) => {
                self.speech.close(number);
                self.on_added(order, headers, message.payload, now_ms);
            }
            Request::Stream(shard) => {
                let random = self.random.u64(..);
                let answer = (headers, message.payload);
                let with = (&mut self.speech, &self.subjects);
                let news = self.streams.on_answer((shard, number), answer, with, random, now_ms);
                if news.iter().any(|one| matches!(one, StreamNews::NewEpoch)) {
                    let _told = self.tell(&self.subjects.epochs(), shard.to_string().as_bytes());
                }
                self.on_streams(news, now_ms);
            }
            Request::Read(read) => {
                let with = (&mut self.speech, &mut self.streams, &self.subjects);
                let result = self.reads.on_answer((read, number), headers, message.payload, with);
                self.report_reads(result);
                let unread = self.reads.take_unread();
                self.note_unreadable(unread);
            }
            Request::Lease(lease) => {
                self.speech.close(number);
                let answer = (headers, message.payload);
                let with = (&mut self.speech, &self.subjects);
                self.leases.on_answer((lease, number), answer, with, now_ms);
            }
            Request::Question(query) => {
                let is_unheard = headers.status() == Some(503);
                let (news, done) = self.questions.on_answer(query, is_unheard, message.payload);
                self.news.extend(news);
                if let Some(request) = done {
                    self.speech.close(request);
                }
            }
        }
    }

    /// A stream has added a message, or not.
    fn on_added(&mut self, order: u64, headers: NatsHeaders<'_>, payload: &[u8], now_ms: u64) {
        let Some(name) = self.commits.name(order) else { return };
        let form: AddedForm = serde_json::from_slice(payload).unwrap_or_default();
        let shard = self.subjects.shard(name);
        if form.seq > 0 && form.error.is_none() && headers.status().is_none() {
            let shard = self.subjects.shard_of_stream(&form.stream).unwrap_or(shard);
            let (number, is_repeated) = (form.seq, form.duplicate);
            let mut news = Vec::new();
            self.streams.take(shard, Numbered::Result { order, number, is_repeated }, &mut news);
            self.on_streams(news, now_ms);
            return;
        }
        if form.error.is_some_and(|error| error.err_code == ApiError::MESSAGE_TOO_LARGE) {
            if let Some(commit) = self.commits.finish(order, &mut self.speech) {
                let result = Err(ChannelRefusal::TooLarge);
                self.news.push(ClusterNews::CommitResult { commit, result });
            }
            return;
        }
        // The stream is not there, has no leader, or cannot take it now.
        self.commits.retry(order, now_ms + COMMIT_AGAIN_MS);
        self.streams.doubt(shard);
    }

    fn on_streams(&mut self, news: Vec<StreamNews>, now_ms: u64) {
        for one in news {
            match one {
                StreamNews::Known {
                    epoch,
                    numbered: Numbered::Added { name, number, before, body },
                } => {
                    let position = Position { epoch, offset: number };
                    self.news.push(ClusterNews::Committed { name, position, before, body });
                }
                StreamNews::Known { epoch, numbered: Numbered::Result { order, number, .. } } => {
                    let result = Ok(Position { epoch, offset: number });
                    if let Some(commit) = self.commits.finish(order, &mut self.speech) {
                        self.stats.committed += 1;
                        self.news.push(ClusterNews::CommitResult { commit, result });
                    }
                }
                StreamNews::Sampled { read, sample } => {
                    let with = (&mut self.speech, &mut self.streams, &self.subjects);
                    let result = self.reads.on_sample(read, sample, now_ms, with);
                    if let Some(ReadResult::Part { name, part, .. }) = &result
                        && part.rest == Remainder::None
                    {
                        self.following.note_read(name, now_ms);
                    }
                    self.report_reads(result);
                }
                StreamNews::NewEpoch => {}
            }
        }
    }
}
