//! One scheduler's link to NATS, over all its connections.
//!
//! Owns what happens when: connecting, the handshake, what is sent again, silence, and the end. `orders` takes what the
//! channels want, `hearing` what the server says. No socket and no clock: bytes and times are arguments. A user opens a
//! connection when [`dial`](NatsLink::dial) says so, reports what becomes of it, and after each call takes
//! [output](NatsLink::take_output), [news](NatsLink::take_news) and [events](NatsLink::take_events).

mod hearing;
mod orders;

use std::sync::Arc;

use channels::ClusterNews;

use crate::commits::Commits;
use crate::confirmations::Confirmations;
use crate::fault::LinkFault;
use crate::following::Following;
use crate::handshake::NatsInfo;
use crate::leases::Leases;
use crate::limits::{HANDSHAKE_MS, QUIET_MS, SILENCE_MS};
use crate::mail::{Mail, StoreMailNews};
use crate::nodes::{NodeView, Nodes};
use crate::plan::{ClusterPlan, LinkSeat, NatsServer};
use crate::questions::Questions;
use crate::reads::{ReadResult, Reads};
use crate::servers::Servers;
use crate::speech::{Said, Speech};
use crate::stats::LinkStats;
use crate::streams::{Duty, Streams};
use crate::subjects::Subjects;

/// An event that a link tells its operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// It is connected, and everything is followed.
    Connected {
        /// To this server.
        server: String,
    },
    /// It is no longer, or an attempt has failed, for the first time since it was.
    Lost {
        /// The server.
        server: String,
        /// Why.
        why: LinkFault,
    },
    /// Something is wrong with NATS or its streams.
    Problem(String),
}

/// Where a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It connects at this time.
    Pausing { until_ms: u64 },
    /// A connection was asked for.
    Dialing { since_ms: u64 },
    /// The server says first what it is.
    Greeting { since_ms: u64 },
    /// It has not answered yet, and so many answers are missing.
    Joining { since_ms: u64, missing: u8 },
    /// It has.
    Up,
}

/// Whether the link has said goodbye.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Staying,
    Leaving,
}

/// A link.
#[derive(Debug)]
pub struct NatsLink {
    plan: Arc<ClusterPlan>,
    seat: LinkSeat,
    subjects: Subjects,
    servers: Servers,
    stage: Stage,
    presence: Presence,
    info: NatsInfo,
    speech: Speech,
    following: Following,
    confirmations: Confirmations,
    streams: Streams,
    commits: Commits,
    reads: Reads,
    nodes: Nodes,
    questions: Questions,
    mail: Mail,
    leases: Leases,
    /// The number of the present connection, or the last one.
    connection: u64,
    heard_ms: u64,
    asked_ms: u64,
    /// It connects again at this time, because messages of other nodes did not arrive.
    rejoin_ms: Option<u64>,
    random: fastrand::Rng,
    news: Vec<ClusterNews>,
    events: Vec<LinkEvent>,
    /// Since when it is connected or not.
    since_ms: u64,
    problem: Option<String>,
    stats: LinkStats,
}

impl NatsLink {
    /// The link of a scheduler. It connects at once.
    pub fn new(plan: Arc<ClusterPlan>, seat: LinkSeat, seed: u64, now_ms: u64) -> Self {
        let duty = if seat.number == 0 { Duty::Grow } else { Duty::Use };
        Self {
            subjects: Subjects::new(&plan.prefix, plan.streams.count),
            servers: Servers::new(&plan.servers, usize::from(seat.number)),
            stage: Stage::Pausing { until_ms: now_ms },
            presence: Presence::Staying,
            info: NatsInfo::default(),
            speech: Speech::default(),
            following: Following::default(),
            confirmations: Confirmations::default(),
            streams: Streams::new(plan.streams, duty),
            commits: Commits::default(),
            reads: Reads::default(),
            nodes: Nodes::of(&plan.streams),
            questions: Questions::default(),
            mail: Mail::default(),
            leases: Leases::of(format!("{:x}.{}", plan.node.0, seat.number)),
            connection: 0,
            heard_ms: now_ms,
            asked_ms: now_ms,
            rejoin_ms: None,
            random: fastrand::Rng::with_seed(seed ^ u64::from(seat.number)),
            news: Vec::new(),
            events: Vec::new(),
            since_ms: now_ms,
            problem: None,
            stats: LinkStats::default(),
            plan,
            seat,
        }
    }

    /// Whether everything is followed, and orders reach other nodes.
    pub fn is_up(&self) -> bool {
        self.stage == Stage::Up
    }

    /// Whether it is connected and all its streams are there.
    pub fn is_ready(&self) -> bool {
        self.is_up() && self.streams.are_ready()
    }

    /// Since when it is connected, or not.
    pub fn since_ms(&self) -> u64 {
        self.since_ms
    }

    /// The server it is connected to, or tries next.
    pub fn server(&self) -> Option<&NatsServer> {
        self.servers.current()
    }

    /// The facts that its server has told of itself.
    pub fn info(&self) -> &NatsInfo {
        &self.info
    }

    /// The problem, if there is one: while there is no connection, the reason.
    pub fn problem(&self) -> Option<String> {
        let own = self.streams.problem().filter(|_| self.is_up()).or(self.problem.as_deref());
        own.map(str::to_owned).or_else(|| self.nodes.complaint(&self.plan.name))
    }

    /// The other nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeView> {
        self.nodes.views()
    }

    /// The counters.
    pub fn stats(&self) -> LinkStats {
        LinkStats {
            connected: u64::from(self.is_up()),
            committing: self.commits.len() as u64,
            reading: self.reads.len() as u64,
            following: self.following.count() as u64,
            ..self.stats
        }
    }

    /// The server to connect to now, once: report [`on_connected`](Self::on_connected) or
    /// [`on_closed`](Self::on_closed).
    pub fn dial(&mut self, now_ms: u64) -> Option<NatsServer> {
        match self.stage {
            Stage::Pausing { until_ms } if until_ms <= now_ms => {}
            _ => return None,
        }
        if self.presence == Presence::Leaving {
            return None;
        }
        self.stage = Stage::Dialing { since_ms: now_ms };
        self.servers.current().cloned()
    }

    /// The connection is established.
    pub fn on_connected(&mut self, now_ms: u64) {
        self.stage = Stage::Greeting { since_ms: now_ms };
        (self.heard_ms, self.asked_ms) = (now_ms, now_ms);
    }

    /// The connection has ended, or was not established. `why`: if this link has not said so itself.
    pub fn on_closed(&mut self, why: LinkFault, now_ms: u64) {
        let was_up = self.is_up();
        if matches!(self.stage, Stage::Pausing { .. }) {
            return;
        }
        let first = self.stats.failures == 0 && self.stats.connections == 0;
        let server = self.servers.current().map(ToString::to_string).unwrap_or_default();
        if was_up || first {
            self.events.push(LinkEvent::Lost { server: server.clone(), why: why.clone() });
        }
        self.stats.failures += u64::from(!was_up);
        self.problem = Some(format!("{server}: {why}"));
        let pause_ms = match why {
            LinkFault::CutOff => Servers::stay(&mut self.random),
            _ => self.servers.fail(&mut self.random),
        };
        self.stage = Stage::Pausing { until_ms: now_ms + pause_ms };
        if was_up {
            self.since_ms = now_ms;
            self.news.push(ClusterNews::Away);
            if self.following.has_mail() {
                self.mail.lose_connection(&mut self.stats);
            }
        }
        let unread = self.following.unread(&self.subjects);
        self.streams.forget(|shard| unread.contains(&shard));
        let asked_ms = |shard| self.streams.at_loss(shard).map(|mark| mark.asked_ms);
        self.following.interrupt(&self.subjects, asked_ms);
        self.commits.forget_sent();
        let failed = self.reads.fail_all();
        self.report_reads(failed);
        for (query, _) in self.questions.take_late(u64::MAX) {
            self.news.push(ClusterNews::QueryOver { query });
        }
        self.leases.forget_asked();
        self.speech.begin(String::new());
    }

    /// Its server is to be told that the node ends.
    pub fn leave(&mut self) {
        if self.is_up() && self.seat.number == 0 && self.presence == Presence::Staying {
            let farewell = self.nodes.farewell(&self.plan, (self.seat, self.connection));
            let _sent = self.speech.publish(&self.subjects.nodes(), &farewell);
        }
        self.want_leases(&[], self.heard_ms);
        self.presence = Presence::Leaving;
    }

    /// Whether nothing waits for an answer, so that a node that ends need not wait for the link.
    pub fn is_idle(&self) -> bool {
        self.commits.len() == 0 && self.mail.is_empty() && self.leases.are_settled()
    }

    /// Does what is due.
    ///
    /// # Errors
    /// If the connection is to be closed.
    pub fn on_time(&mut self, now_ms: u64) -> Result<(), LinkFault> {
        self.refuse_late(now_ms);
        self.leases.let_go(now_ms);
        match self.stage {
            Stage::Pausing { .. } => Ok(()),
            Stage::Dialing { since_ms }
            | Stage::Greeting { since_ms }
            | Stage::Joining { since_ms, .. } => {
                let is_late = since_ms + HANDSHAKE_MS <= now_ms;
                if is_late { Err(LinkFault::NotWelcomed) } else { Ok(()) }
            }
            Stage::Up => self.keep_up(now_ms),
        }
    }

    /// The work that is due while it is connected.
    fn keep_up(&mut self, now_ms: u64) -> Result<(), LinkFault> {
        if self.heard_ms + SILENCE_MS <= now_ms {
            return Err(LinkFault::Silent);
        }
        // One that leaves would not connect again, and what waits for an answer would get none.
        let stays = self.presence == Presence::Staying;
        if stays && self.rejoin_ms.is_some_and(|due_ms| due_ms <= now_ms) {
            return Err(LinkFault::CutOff);
        }
        if self.heard_ms + QUIET_MS <= now_ms && self.asked_ms + QUIET_MS <= now_ms {
            self.asked_ms = now_ms;
            self.speech.ping();
        }
        let of = (self.seat, self.connection);
        if stays && let Some(sign) = self.nodes.sign_of_life(&self.plan, of, now_ms) {
            self.say_sign(&sign, now_ms);
        }
        for node in self.nodes.take_ended(now_ms, self.heard_ms) {
            self.news.push(ClusterNews::NodeGone { node });
        }
        for (query, request) in self.questions.take_late(now_ms) {
            self.speech.close(request);
            self.news.push(ClusterNews::QueryOver { query });
        }
        let late = self.reads.fail_late(&mut self.speech, now_ms);
        self.report_reads(late);
        self.go_on(now_ms);
        Ok(())
    }

    /// Tells the other nodes. One that finds no room was not sent, so nobody misses it.
    fn say_sign(&mut self, sign: &[u8], now_ms: u64) {
        if self.speech.publish(&self.subjects.nodes(), sign) == Said::Yes {
            self.nodes.count_sign(now_ms);
        }
    }

    /// Sends what may be sent now.
    fn go_on(&mut self, now_ms: u64) {
        if !self.is_up() {
            return;
        }
        self.confirmations.ask(&mut self.speech);
        self.reads.begin(&mut self.streams, &self.subjects, now_ms);
        self.streams.ask(&mut self.speech, &self.subjects, now_ms);
        let is_known = |shard| self.streams.is_known(shard);
        self.leases.ask(&mut self.speech, &self.subjects, is_known, now_ms);
        self.send_commits(now_ms);
        self.send_mail();
    }

    /// When [`on_time`](Self::on_time) or [`dial`](Self::dial) is to be called, whatever happens before.
    pub fn next_due_ms(&self) -> Option<u64> {
        let of_stage = match self.stage {
            Stage::Pausing { .. } if self.presence == Presence::Leaving => u64::MAX,
            Stage::Pausing { until_ms } => until_ms,
            Stage::Dialing { since_ms }
            | Stage::Greeting { since_ms }
            | Stage::Joining { since_ms, .. } => since_ms + HANDSHAKE_MS,
            Stage::Up => {
                let ask = self.heard_ms.max(self.asked_ms) + QUIET_MS;
                ask.min(self.heard_ms + SILENCE_MS)
            }
        };
        let of_up = self.is_up().then(|| {
            // One that leaves tells no more signs and does not join again.
            let is_own = |_: &u64| self.presence == Presence::Staying;
            let own = [Some(self.nodes.next_sign_ms()), self.rejoin_ms].map(|it| it.filter(is_own));
            let asked = [self.questions.next_due_ms(), self.reads.next_due_ms()];
            let held = [self.streams.next_due_ms(), self.leases.next_due_ms()];
            let all = own.into_iter().chain(asked).chain(held).chain([self.nodes.next_end_ms()]);
            all.flatten().min()
        });
        let due = [of_up.flatten(), self.commits.next_due_ms(), self.leases.next_end_ms()];
        due.into_iter().flatten().chain([of_stage]).min()
    }

    /// The output to send over the connection. `unsent` bytes of what was taken before still wait.
    #[must_use]
    pub fn take_output(&mut self, unsent: usize) -> Option<Vec<u8>> {
        self.speech.has_output().then(|| self.speech.take(unsent))
    }

    /// The news for the channels, in order.
    #[must_use]
    pub fn take_news(&mut self) -> Vec<ClusterNews> {
        std::mem::take(&mut self.news)
    }

    /// The events for its operator.
    #[must_use]
    pub fn take_events(&mut self) -> Vec<LinkEvent> {
        std::mem::take(&mut self.events)
    }

    /// The news for the node's store, in order.
    #[must_use]
    pub fn take_mail(&mut self) -> Vec<StoreMailNews> {
        self.mail.take_news()
    }

    fn report_reads(&mut self, results: impl IntoIterator<Item = ReadResult>) {
        for result in results {
            self.news.push(match result {
                ReadResult::Part { name, read, part } => {
                    self.stats.reads += 1;
                    ClusterNews::History { name, read, part }
                }
                ReadResult::Failed { name, read } => {
                    self.stats.failed_reads += 1;
                    ClusterNews::ReadFailed { name, read }
                }
            });
        }
    }
}
