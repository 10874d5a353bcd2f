//! Orders of clients as JSON objects, and their answers.
//!
//! Owns these objects: `{"subscribe":"NAME","since":"POSITION"}`, `{"unsubscribe":"NAME"}`,
//! `{"publish":"NAME","data":VALUE,"id":1}`, `{"token":"TOKEN"}`, `{"members":"NAME"}`, `{"ping":true}`.

use std::borrow::Cow;

use channels::limits::{MEMBERS_TOLD, SUBSCRIPTIONS_PER_CONNECTION};
use channels::{
    ChannelRefusal, Position, PublishReceipt, Published, Publisher, Subscriber, SubscriberQuery,
    check_name,
};
use pages::RequestedAction;
use runtime::service::Context;
use serde::Deserialize;
use serde_json::value::RawValue;
use wire::http::status::Status;

use super::{After, Asked, Speaks, WebSocket, tell};
use crate::message::Message;
use crate::site::{Site, Verdict, Veto, members_object, message_of, wish_of, written_value};

const NO_ORDER: &str = "no order: one of `subscribe`, `unsubscribe`, `publish`, `token`, `members` and \
                        `ping` is required";

/// An order. Exactly one of the first six fields is present.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order<'o> {
    #[serde(borrow, default)]
    subscribe: Option<Cow<'o, str>>,
    #[serde(borrow, default)]
    unsubscribe: Option<Cow<'o, str>>,
    #[serde(borrow, default)]
    publish: Option<Cow<'o, str>>,
    #[serde(borrow, default)]
    token: Option<Cow<'o, str>>,
    #[serde(borrow, default)]
    members: Option<Cow<'o, str>>,
    /// Browsers can neither send the pings of the protocol nor see them.
    #[serde(default)]
    ping: Option<bool>,
    #[serde(borrow, default, deserialize_with = "written_value")]
    data: Option<&'o RawValue>,
    #[serde(borrow, default)]
    since: Option<Cow<'o, str>>,
    #[serde(default)]
    id: Option<u64>,
}

impl WebSocket {
    /// Executes an order.
    pub(super) fn obey(
        &mut self,
        text: &[u8],
        site: &mut Site,
        context: &mut Context<'_, Message>,
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
                match self.may_begin(&name, site, context) {
                    Ok(Verdict::Later) => return After::Wait,
                    Ok(Verdict::No(veto)) => {
                        refuse_as((&veto).into(), &veto.why, (Some(&name), id), context)
                    }
                    Ok(Verdict::Yes) => {
                        let done = self.subscribe(name.as_ref().into(), since, site, context);
                        if let Err(refusal) = done {
                            refuse_as(refusal.into(), refusal.as_str(), (Some(&name), id), context);
                        }
                    }
                    Err(problem) => refuse(&problem, Some(&name), id, context),
                }
            }
            (None, Some(name), None, None, None) => self.unsubscribe(&name, id, site, context),
            (None, None, Some(name), None, None) => {
                return self.publish(&name, order.data, id, site, context);
            }
            (None, None, None, Some(token), None) => self.take_token(&token, id, site, context),
            (None, None, None, None, Some(name)) => self.ask_members(&name, id, site, context),
            (None, None, None, None, None) if order.ping == Some(true) => {
                let mut text = "{\"pong\":true".to_owned();
                end_object(&mut text, id);
                tell(&text, context);
            }
            _ => refuse(NO_ORDER, None, id, context),
        }
        After::More
    }

    /// Whether the client may subscribe to this channel, including the answer of its module.
    fn may_begin(
        &self,
        name: &str,
        site: &mut Site,
        context: &Context<'_, Message>,
    ) -> Result<Verdict, String> {
        self.check(name, site)?;
        let allowed = site.local.channels().may_subscribe(name, self.lease.rights());
        allowed.map_err(|refusal| refusal.to_string())?;
        Ok(self.lease.ask((name, RequestedAction::Subscribe), site, context))
    }

    /// Whether another subscription is allowed, to this channel.
    fn check(&self, name: &str, site: &Site) -> Result<(), String> {
        check_configured(name, site)?;
        let Speaks::Json(names) = &self.speaks else { return Ok(()) };
        if names.iter().any(|known| **known == *name) {
            return Err("it is subscribed to already".to_owned());
        }
        if names.len() >= SUBSCRIPTIONS_PER_CONNECTION {
            return Err(format!(
                "a connection has at most {SUBSCRIPTIONS_PER_CONNECTION} subscriptions"
            ));
        }
        Ok(())
    }

    pub(super) fn subscribe(
        &mut self,
        name: Box<str>,
        since: Option<Position>,
        site: &mut Site,
        context: &mut Context<'_, Message>,
    ) -> Result<(), ChannelRefusal> {
        let (format, rights) = (self.format(), self.lease.rights());
        let subscriber = Subscriber { process: context.id, format, rights };
        let out = context.output.buffer();
        let subscription = site.local.channels().subscribe(&name, subscriber, since, out)?;
        self.subscriptions.push(subscription);
        if let Speaks::Json(names) = &mut self.speaks {
            names.push(name);
        }
        Ok(())
    }

    fn unsubscribe(
        &mut self,
        name: &str,
        id: Option<u64>,
        site: &mut Site,
        context: &mut Context<'_, Message>,
    ) {
        let Speaks::Json(names) = &mut self.speaks else { return };
        let Some(at) = names.iter().position(|known| **known == *name) else {
            return refuse("it is not subscribed to", Some(name), id, context);
        };
        names.swap_remove(at);
        site.local.channels().unsubscribe(self.subscriptions.swap_remove(at));
        tell(&unsubscribed(name, None), context);
    }

    /// The client requests the members of a channel.
    fn ask_members(
        &mut self,
        name: &str,
        id: Option<u64>,
        site: &mut Site,
        context: &mut Context<'_, Message>,
    ) {
        let allowed = check_configured(name, site).and_then(|()| {
            let allowed = site.local.channels().may_subscribe(name, self.lease.rights());
            allowed.map_err(|refusal| refusal.to_string())
        });
        let problem = match allowed {
            Err(problem) => problem,
            Ok(()) if self.asked.is_some() => "one question after the other".to_owned(),
            Ok(()) => {
                let channel = name.into();
                self.asked = Some(Box::new(Asked { process: context.id, channel, id }));
                return self.tell_members(site, context);
            }
        };
        refuse(&problem, Some(name), id, context);
    }

    /// Sends the requested members when all schedulers have answered.
    pub(super) fn tell_members(&mut self, site: &mut Site, context: &mut Context<'_, Message>) {
        let Some(asked) = self.asked.take() else { return };
        let question = SubscriberQuery::Members((&*asked.channel).into(), MEMBERS_TOLD);
        let Some(found) = site.local.channels().survey(context.id, &question) else {
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
        context: &mut Context<'_, Message>,
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
        context: &mut Context<'_, Message>,
    ) -> After {
        let body = check_configured(name, site).and_then(|()| {
            let allowed = site.local.channels().may_publish(name, self.lease.rights());
            allowed.map_err(|refusal| refusal.to_string())?;
            message_of(data)
        });
        let verdict =
            body.map(|body| (self.lease.ask((name, wish_of(&body)), site, context), body));
        let body = match verdict {
            Ok((Verdict::Yes, body)) => body,
            Ok((Verdict::Later, _)) => return After::Wait,
            Ok((Verdict::No(veto), _)) => {
                refuse_as((&veto).into(), &veto.why, (Some(name), id), context);
                return After::More;
            }
            Err(problem) => {
                refuse(&problem, Some(name), id, context);
                return After::More;
            }
        };
        // A client that gives a number wants to know the result of its message.
        let publisher =
            id.map(|id| Publisher { process: context.id, told: PublishReceipt::ByReceipt(id) });
        let (sender, now_ms) = (self.lease.sender(), context.now.monotonic_ms());
        match site.publish_in_order(name, body, sender, publisher, now_ms) {
            Ok(Some(done)) => {
                if let Some(id) = id {
                    tell(&published(id, Ok(done)), context);
                }
            }
            Ok(None) => {}
            Err(refusal) => {
                refuse_as(refusal.into(), refusal.as_str(), (Some(name), id), context);
            }
        }
        After::More
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

/// HTTP clients can only use configured channels.
fn check_configured(name: &str, site: &Site) -> Result<(), String> {
    check_name(name.as_bytes()).map_err(|problem| problem.to_string())?;
    let channels = site.local.channels();
    let configured = channels.rulebook().configured(name);
    configured.map(drop).ok_or_else(|| "no [[channel]] has a pattern for this name".to_owned())
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
            ChannelRefusal::Denied
            | ChannelRefusal::NoToken
            | ChannelRefusal::NoCertificate
            | ChannelRefusal::TooLarge => Self::Always,
        }
    }
}

fn refuse(problem: &str, name: Option<&str>, id: Option<u64>, context: &mut Context<'_, Message>) {
    refuse_as(Refused::Always, problem, (name, id), context);
}

fn refuse_as(
    refused: Refused,
    problem: &str,
    (name, id): (Option<&str>, Option<u64>),
    context: &mut Context<'_, Message>,
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
