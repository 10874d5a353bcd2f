//! A service of channels that speaks lines, for tests: `sub NAME [SINCE]`, `unsub NAME`, `pub NAME TEXT`, `psub
//! PATTERN`, `confirm PATTERN`, which is told when it is active, `poll NAME SECONDS [SINCE]`.
#![allow(dead_code, reason = "not each test file uses all of it")]

use std::sync::Arc;

use channels::{
    ChannelLetter, ChannelRefusal, ChannelScope, Channels, ClusterNews, ClusterOrder, Credential,
    Format, Payload, Position, PublishReceipt, Publisher, Receipt, Rights, RuleNumber, Rulebook,
    Ruling, Sender, Subscriber, Subscription, SubscriptionState,
};
use runtime::Peer;
use runtime::mailbox::Endpoint;
use runtime::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
};
use runtime::slots::ProcessId;
use world::Stage;

pub(crate) struct Member {
    names: Vec<String>,
    subscriptions: Vec<Subscription>,
    process: ProcessId,
    /// The channel that it polls for, with its position.
    poll: Option<(String, Option<Position>, u64)>,
    rights: Rights,
    /// Whether it was told that its last subscription is active, or did not ask.
    is_confirmed: bool,
}

pub(crate) struct Lines {
    pub(crate) channels: Channels,
    /// The news of the cluster for the next turn, and the orders to it.
    pub(crate) news: Vec<ClusterNews>,
    pub(crate) orders: Vec<ClusterOrder>,
    /// The results of messages that were not there at once.
    pub(crate) receipts: Vec<Receipt>,
}

/// The right that the rules give; nobody asks a module here.
fn by_rules_alone<R>(ruling: Ruling<R>) -> Result<R, ChannelRefusal> {
    ruling.decide(|_: RuleNumber| Err(ChannelRefusal::Denied))
}

impl Lines {
    fn obey(
        &mut self,
        member: &mut Member,
        line: &str,
        context: &mut Context<'_, Box<ChannelLetter>>,
    ) {
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (verb, name, rest) = (word(), word(), word());
        let now_ms = context.now.monotonic_ms();
        let outcome = match verb {
            "sub" => {
                let ruling = self.channels.may_subscribe(name, ChannelScope::Any, &member.rights);
                let right = ruling.and_then(by_rules_alone);
                let subscriber = Subscriber { process: context.id, format: Format::EventStream };
                let (since, out) = (rest.parse().ok(), context.output.buffer());
                let subscribed =
                    right.and_then(|right| self.channels.subscribe(&right, subscriber, since, out));
                subscribed.map(|subscription| member.keep(name, subscription))
            }
            "as" => {
                let user = channels::Member { user: name.into(), info: None };
                let pass = channels::Pass::of_user(user, u64::MAX);
                member.rights = Rights::new(Credential::Token(pass.into()), None);
                Ok(())
            }
            "psub" | "confirm" => self
                .channels
                .subscribe_to_pattern(
                    name,
                    Subscriber { process: context.id, format: Format::Resp2 },
                    &Rights::ANYBODY,
                )
                .map(|subscription| {
                    member.keep(name, subscription);
                    member.is_confirmed = verb != "confirm";
                }),
            "pub" => {
                let publisher =
                    Publisher { process: context.id, told: PublishReceipt::ByReceipt(now_ms) };
                let body = Payload::of_text(rest);
                let sender = Sender { rights: &Rights::ANYBODY, address: None };
                let ruling = self.channels.may_publish(name, ChannelScope::Any, sender);
                ruling.and_then(by_rules_alone).and_then(|right| {
                    self.channels.publish(&right, body, Some(publisher), now_ms).map(drop)
                })
            }
            "poll" => {
                let (seconds, since) = rest.split_once(' ').unwrap_or((rest, ""));
                let seconds: u64 = seconds.parse().expect("seconds");
                member.poll = Some((name.to_owned(), since.parse().ok(), seconds));
                Ok(())
            }
            "unsub" => {
                if let Some(at) = member.names.iter().position(|known| known == name) {
                    member.names.remove(at);
                    self.channels.unsubscribe(member.subscriptions.remove(at));
                }
                Ok(())
            }
            other => panic!("{other}"),
        };
        if let Err(refusal) = outcome {
            context.output.put(format!("refused: {refusal}\n\n").as_bytes());
        }
    }
}

impl Lines {
    /// Tells a member when its last subscription, to a pattern, is active everywhere. Until then it is parked.
    fn confirm(
        &mut self,
        member: &mut Member,
        context: &mut Context<'_, Box<ChannelLetter>>,
    ) -> Next {
        let Some(last) = member.subscriptions.last().filter(|_| !member.is_confirmed) else {
            return self.poll(member, context);
        };
        match self.channels.standing(last) {
            SubscriptionState::Awaited => return Next::Park,
            SubscriptionState::Active => context.output.put(b"active\n\n"),
            SubscriptionState::NoRoom => {
                context.output.put(format!("refused: {}\n\n", ChannelRefusal::Full).as_bytes());
                if let Some(last) = member.subscriptions.pop() {
                    self.channels.unsubscribe(last);
                }
            }
        }
        member.is_confirmed = true;
        Next::Read
    }

    /// Asks again for what a member polls for.
    fn poll(&mut self, member: &mut Member, context: &mut Context<'_, Box<ChannelLetter>>) -> Next {
        let Some((name, since, seconds)) = &member.poll else { return Next::Read };
        let times = (context.now.monotonic_ms(), seconds * 1000);
        let ruling = self.channels.may_subscribe(name, ChannelScope::Any, &Rights::ANYBODY);
        let polled = ruling
            .and_then(by_rules_alone)
            .and_then(|right| self.channels.poll(&right, *since, context.id, times));
        match polled {
            Ok(Some(answer)) => {
                context.output.put(&answer);
                context.output.put(b"\n\n");
            }
            Ok(None) => return Next::Park,
            Err(refusal) => context.output.put(format!("refused: {refusal}\n\n").as_bytes()),
        }
        member.poll = None;
        Next::Read
    }
}

impl Member {
    fn keep(&mut self, name: &str, subscription: Subscription) {
        self.names.push(name.to_owned());
        self.subscriptions.push(subscription);
    }
}

impl Service for Lines {
    type Process = Member;
    type Message = Box<ChannelLetter>;
    const KINDS: &'static [&'static str] = &["member"];

    fn kind(_: &Member) -> usize {
        0
    }

    fn is_idle(_: &Member) -> bool {
        false
    }

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        _: Peer,
        context: &mut Context<'_, Box<ChannelLetter>>,
    ) -> Option<Member> {
        let process = context.id;
        Some(Member {
            names: Vec::new(),
            subscriptions: Vec::new(),
            process,
            poll: None,
            rights: Rights::ANYBODY,
            is_confirmed: true,
        })
    }

    fn on_input(
        &mut self,
        member: &mut Member,
        input: &[u8],
        context: &mut Context<'_, Box<ChannelLetter>>,
    ) -> Progress {
        let whole = input.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in String::from_utf8_lossy(&input[..whole]).lines() {
            self.obey(member, line, context);
        }
        let next = self.confirm(member, context);
        Progress { consumed: whole, next }
    }

    fn on_event(
        &mut self,
        member: &mut Member,
        event: Event,
        context: &mut Context<'_, Box<ChannelLetter>>,
    ) -> Next {
        match event {
            Event::OutputDrained => {
                self.channels.on_drained(&member.subscriptions);
                Next::Read
            }
            Event::Resumed if self.channels.is_too_slow(&member.subscriptions) => {
                context.output.put(b"too slow\n\n");
                Next::Finish
            }
            Event::InputEnded => Next::Finish,
            Event::Resumed => self.confirm(member, context),
            Event::PeerFinished => Next::Abort,
            _ if member.poll.is_some() => Next::Park,
            _ => Next::Read,
        }
    }

    fn on_close(&mut self, member: Member, _: CloseReason) {
        self.channels.forget(member.process);
        for subscription in member.subscriptions {
            self.channels.unsubscribe(subscription);
        }
    }

    fn on_message(
        &mut self,
        from: Endpoint,
        letter: Box<ChannelLetter>,
        context: &mut ServiceContext<'_, Box<ChannelLetter>>,
    ) {
        self.channels.on_letter(from, *letter, context);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, Box<ChannelLetter>>) {
        for news in std::mem::take(&mut self.news) {
            self.channels.on_cluster(news, context);
        }
        for receipt in self.channels.take_receipts() {
            self.receipts.push(receipt);
            if let Err(refusal) = receipt.result {
                let told = format!("refused: {refusal}\n\n").into_bytes();
                let _gone = context.queue(receipt.publisher.process, &told.into(), usize::MAX);
            }
        }
        self.channels.end_turn(context);
        self.orders.append(&mut self.channels.take_cluster_orders());
    }
}

/// A service for each scheduler, made in their order.
pub(crate) fn services(schedulers: u16, rulebook: Rulebook) -> impl FnMut() -> Lines {
    let rulebook = Arc::new(rulebook);
    let mut next = 0;
    move || {
        let here = Endpoint(next);
        next += 1;
        let channels = Channels::new(here, schedulers, 42, Arc::clone(&rulebook));
        Lines { channels, news: Vec::new(), orders: Vec::new(), receipts: Vec::new() }
    }
}

pub(crate) fn stage(schedulers: u16, rulebook: Rulebook) -> Stage<Lines> {
    Stage::new(usize::from(schedulers), services(schedulers, rulebook))
}

/// An event that a subscriber got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Its position is this.
    At(String),
    /// A message, and its position if there is a history.
    Message(Option<String>, String),
    /// Messages were lost.
    Lost,
    /// A user is there now, or is not any more.
    Member(bool, String),
    /// Something else.
    Other(String),
}

/// The events of a text, which ends with a whole one.
pub(crate) fn heard(text: &str) -> Vec<Heard> {
    let mut all = Vec::new();
    for event in text.split_inclusive("\n\n") {
        let event = event.strip_suffix("\n\n").expect("whole events");
        let field = |name: &str| {
            let find = event.lines().find_map(|line| line.strip_prefix(name));
            find.map(str::to_owned)
        };
        all.push(match (field("event: "), field("id: "), field("data: ")) {
            (Some(event), _, Some(data)) if event != "lost" => {
                let user = data.trim_start_matches("{\"user\":\"").trim_end_matches("\"}");
                Heard::Member(event == "joined", user.to_owned())
            }
            (Some(_), _, _) => Heard::Lost,
            (None, Some(id), None) => Heard::At(id),
            (None, id, Some(data)) => Heard::Message(id, data),
            (None, None, None) => Heard::Other(event.to_owned()),
        });
    }
    all
}

/// The texts of the messages alone.
pub(crate) fn messages(text: &str) -> Vec<String> {
    let all = heard(text).into_iter();
    all.filter_map(|heard| if let Heard::Message(_, text) = heard { Some(text) } else { None })
        .collect()
}
