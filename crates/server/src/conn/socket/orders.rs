//! Orders of clients as JSON objects, and their answers.
//!
//! Owns these objects: `{"subscribe":"NAME","since":"POSITION"}`, `{"unsubscribe":"NAME"}`,
//! `{"publish":"NAME","data":VALUE,"id":1}`, `{"token":"TOKEN"}`, `{"members":"NAME"}`, `{"ping":true}`.

use channels::limits::{MEMBERS_TOLD, SUBSCRIPTIONS_PER_CONNECTION};
use channels::{
    ChannelRefusal, ChannelScope, Position, PublishReceipt, Published, Publisher, Subscriber,
    check_name,
};
use pages::RequestedAction;
use serde::Deserialize;
use serde_json::value::RawValue;
use wire::http::status::Status;

use super::{After, Asked, Speaks, WebSocket, tell};
use crate::message::Context;
use crate::site::{Site, Veto, Withheld, members_object, message_of, wish_of, written_value};

const NO_ORDER: &str = "no order: one of `subscribe`, `unsubscribe`, `publish`, `token`, `members` and \
                        `ping` is required";

/// An order. Exactly one of the first six fields is present.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order<'o> {
    subscribe: Option<String>,
    unsubscribe: Option<String>,
    publish: Option<String>,
    token: Option<String>,
    members: Option<String>,
    /// Browsers can neither send the pings of the protocol nor see them.
    ping: Option<bool>,
    #[serde(borrow, default, deserialize_with = "written_value")]
    data: Option<&'o RawValue>,
    since: Option<String>,
    id: Option<u64>,
}

impl WebSocket {
    /// Executes an order.
    pub(super) fn obey(
        &mut self,
        text: &[u8],
        site: &mut Site,
        context: &mut Context<'_>,
    ) -> After {
        let order: Order<'_> = match serde_json::from_slice(text) {
            Ok(order) => order,
            Err(error) => {
                refuse(&format!("no order: {error}"), None, None, context);
                return After::More;
            }
        };
        let id = order.id;
        match (order.subscribe, order.unsubscribe, order.publish, order.token, order.members) {
            (Some(name), None, None, None, None) => {
                let since = order.since.map(|since| since.parse().unwrap_or(Position::UNKNOWN));
                let done = self.subscribe(&name, since, site, context);
                return after(done, (Some(&name), id), context);
            }
            (None, Some(name), None, None, None) => self.unsubscribe(&name, id, site, context),
            (None, None, Some(name), None, None) => {
                let done = self.publish(&name, order.data, id, site, context);
                return after(done, (Some(&name), id), context);
            }
            (None, None, None, Some(token), None) => self.take_token(&token, id, site, context),
            (None, None, None, None, Some(name)) => {
                let done = self.ask_members(&name, id, site, context);
                return after(done, (Some(&name), id), context);
            }
            (None, None, None, None, None) if order.ping == Some(true) => {
                let mut text = "{\"pong\":true".to_owned();
                end_object(&mut text, id);
                tell(&text, context);
            }
            _ => refuse(NO_ORDER, None, id, context),
        }
        After::More
    }

    /// Whether another subscription is allowed, to this channel.
    fn check(&self, name: &str) -> Result<(), NotDone> {
        check_valid(name)?;
        let Speaks::Json(names) = &self.speaks else { return Ok(()) };
        if self.is_subscribed(name) {
            return Err("it is subscribed to already".to_owned().into());
        }
        if names.len() >= SUBSCRIPTIONS_PER_CONNECTION {
            let why =
                format!("a connection has at most {SUBSCRIPTIONS_PER_CONNECTION} subscriptions");
            return Err(why.into());
        }
        Ok(())
    }

    fn subscribe(
        &mut self,
        name: &str,
        since: Option<Position>,
        site: &mut Site,
        context: &mut Context<'_>,
    ) -> Result<(), NotDone> {
        self.check(name)?;
        let rights = self.lease.rights();
        let ruling = site.channels().may_subscribe(name, ChannelScope::Configured, rights)?;
        let right = ruling.decide(|rule| {
            self.lease.ask((name, rule, RequestedAction::Subscribe), site, context)
        })?;
        let subscriber = Subscriber { process: context.id, format: self.format() };
        let (mut channels, out) = (site.channels(), context.output.buffer());
        self.subscriptions.push(channels.subscribe(&right, subscriber, since, out)?);
        if let Speaks::Json(names) = &mut self.speaks {
            names.push(name.into());
        }
        Ok(())
    }

    fn unsubscribe(
        &mut self,
        name: &str,
        id: Option<u64>,
        site: &mut Site,
        context: &mut Context<'_>,
    ) {
        let Speaks::Json(names) = &mut self.speaks else { return };
        let Some(at) = names.iter().position(|known| **known == *name) else {
            return refuse("it is not subscribed to", Some(name), id, context);
        };
        names.swap_remove(at);
        site.channels().unsubscribe(self.subscriptions.swap_remove(at));
        tell(&unsubscribed(name, None), context);
    }

    /// The client requests the members of a channel, as those may who may subscribe to it.
    fn ask_members(
        &mut self,
        name: &str,
        id: Option<u64>,
        site: &mut Site,
        context: &mut Context<'_>,
    ) -> Result<(), NotDone> {
        if self.asked.is_some() {
            return Err("one question after the other".to_owned().into());
        }
        check_valid(name)?;
        let rights = self.lease.rights();
        let ruling = site.channels().may_subscribe(name, ChannelScope::Configured, rights)?;
        let right = ruling.decide(|rule| match self.is_subscribed(name) {
            true => Ok(()),
            false => self.lease.ask((name, rule, RequestedAction::Subscribe), site, context),
        })?;
        let query = right.members(MEMBERS_TOLD);
        let channel = name.into();
        self.asked = Some(Box::new(Asked { process: context.id, channel, query, id }));
        self.tell_members(site, context);
        Ok(())
    }

    fn is_subscribed(&self, name: &str) -> bool {
        matches!(&self.speaks, Speaks::Json(names) if names.iter().any(|known| **known == *name))
    }

    /// Sends the requested members when all schedulers have answered.
    pub(super) fn tell_members(&mut self, site: &mut Site, context: &mut Context<'_>) {
        let Some(asked) = self.asked.take() else { return };
        let Some(found) = site.channels().survey(context.id, &asked.query) else {
            self.asked = Some(asked);
            return;
        };
        let mut text = members_object(&asked.channel, &found);
        text.pop();
        end_object(&mut text, asked.id);
        tell(&text, context);
    }

    /// The client sends a token, which may replace another.
    fn take_token(
        &mut self,
        token: &str,
        id: Option<u64>,
        site: &mut Site,
        context: &mut Context<'_>,
    ) {
        match site.read_shown(token.as_bytes(), context.now.unix_seconds) {
            Ok(shown) => self.lease.show(shown),
            Err(problem) => return refuse(&problem.to_string(), None, id, context),
        }
        let user = self.lease.rights().pass().and_then(|pass| pass.user());
        let user = user.map_or(serde_json::Value::Null, json);
        let mut text = format!("{{\"authorized\":{user}");
        if let Some(left_ms) = self.lease.left_ms(context.now) {
            text.push_str(&format!(",\"expires_in\":{}", left_ms / 1000));
        }
        end_object(&mut text, id);
        tell(&text, context);
        self.lose("the token does not name the channel", site, context);
        context.set_deadline_after_ms(self.lease.quiet_ms(context.now));
    }

    fn publish(
        &self,
        name: &str,
        data: Option<&RawValue>,
        id: Option<u64>,
        site: &mut Site,
        context: &mut Context<'_>,
    ) -> Result<(), NotDone> {
        check_valid(name)?;
        let sender = self.lease.sender();
        let ruling = site.channels().may_publish(name, ChannelScope::Configured, sender)?;
        let body = message_of(data)?;
        let right =
            ruling.decide(|rule| self.lease.ask((name, rule, wish_of(&body)), site, context))?;
        // A client that gives a number wants to know the result of its message.
        let publisher =
            id.map(|id| Publisher { process: context.id, told: PublishReceipt::ByReceipt(id) });
        let now_ms = context.now.monotonic_ms();
        let done = site.publish_in_order(&right, body, publisher, now_ms)?;
        if let (Some(done), Some(id)) = (done, id) {
            tell(&published(id, Ok(done)), context);
        }
        Ok(())
    }
}

/// `{"unsubscribed":"NAME"}`, with the reason if the client did not request it.
pub(super) fn unsubscribed(name: &str, why: Option<&str>) -> String {
    let mut text = format!("{{\"unsubscribed\":{}", json(name));
    if let Some(why) = why {
        text.push_str(&format!(",\"reason\":{}", json(why)));
    }
    text.push('}');
    text
}

/// Ends an object, with the number of the order it answers.
fn end_object(text: &mut String, id: Option<u64>) {
    if let Some(id) = id {
        text.push_str(&format!(",\"id\":{id}"));
    }
    text.push('}');
}

fn check_valid(name: &str) -> Result<(), NotDone> {
    check_name(name.as_bytes()).map(drop).map_err(|problem| problem.to_string().into())
}

/// The text that tells a client the result of the message with this number.
pub(super) fn published(id: u64, result: Result<Published, ChannelRefusal>) -> String {
    match result {
        Ok(Published { position, receivers }) => {
            format!("{{\"published\":\"{position}\",\"receivers\":{receivers},\"id\":{id}}}")
        }
        Err(refusal) => format!("{{\"error\":{},\"id\":{id}}}", json(&refusal.to_string())),
    }
}

/// Why an order about a channel is not executed.
enum NotDone {
    Problem(String),
    Rules(ChannelRefusal),
    Module(Veto),
    /// The module of the channel has not decided.
    Undecided,
}

impl From<String> for NotDone {
    fn from(problem: String) -> Self {
        Self::Problem(problem)
    }
}

impl From<ChannelRefusal> for NotDone {
    fn from(refusal: ChannelRefusal) -> Self {
        Self::Rules(refusal)
    }
}

impl From<Withheld> for NotDone {
    fn from(withheld: Withheld) -> Self {
        match withheld {
            Withheld::Refused(veto) => Self::Module(veto),
            Withheld::Undecided => Self::Undecided,
        }
    }
}

/// Tells a client why its order was not executed.
fn after(
    done: Result<(), NotDone>,
    about: (Option<&str>, Option<u64>),
    context: &mut Context<'_>,
) -> After {
    match done {
        Ok(()) => {}
        Err(NotDone::Undecided) => return After::Wait,
        Err(NotDone::Problem(problem)) => refuse_as(Refused::Always, &problem, about, context),
        Err(NotDone::Rules(refusal)) => {
            refuse_as(refusal.into(), refusal.as_str(), about, context);
        }
        Err(NotDone::Module(veto)) => refuse_as((&veto).into(), &veto.why, about, context),
    }
    After::More
}

/// Whether the same order may be accepted later.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refused {
    ForNow,
    Always,
}

impl From<&Veto> for Refused {
    fn from(veto: &Veto) -> Self {
        let is_for_now = veto.status.code() >= 500 || veto.status == Status::TOO_MANY_REQUESTS;
        if is_for_now { Self::ForNow } else { Self::Always }
    }
}

impl From<ChannelRefusal> for Refused {
    fn from(refusal: ChannelRefusal) -> Self {
        match refusal {
            ChannelRefusal::Full
            | ChannelRefusal::Busy
            | ChannelRefusal::Unconfirmed
            | ChannelRefusal::TooOften => Self::ForNow,
            ChannelRefusal::Unknown
            | ChannelRefusal::Denied
            | ChannelRefusal::NoToken
            | ChannelRefusal::NoCertificate
            | ChannelRefusal::TooLarge => Self::Always,
        }
    }
}

fn refuse(problem: &str, name: Option<&str>, id: Option<u64>, context: &mut Context<'_>) {
    refuse_as(Refused::Always, problem, (name, id), context);
}

fn refuse_as(
    refused: Refused,
    problem: &str,
    (name, id): (Option<&str>, Option<u64>),
    context: &mut Context<'_>,
) {
    let mut text = format!("{{\"error\":{}", json(problem));
    if refused == Refused::ForNow {
        text.push_str(",\"temporary\":true");
    }
    if let Some(name) = name {
        text.push_str(&format!(",\"channel\":{}", json(name)));
    }
    end_object(&mut text, id);
    tell(&text, context);
}

fn json(text: &str) -> serde_json::Value {
    serde_json::Value::String(text.to_owned())
}
