//! Executes the orders of programs (`POST /channels` with one of `api_keys`).
//!
//! Owns the answers. Orders are executed one after the other; if one waits for another scheduler,
//! the request waits.

use std::sync::Arc;

use channels::limits::MEMBERS_TOLD;
use channels::{
    ChannelRefusal, Offer, PublishOutcome, PublishReceipt, Publisher, Rights, SubscriberQuery,
};
use http::Answer;
use wire::http::status::Status;

use super::Refused;
use super::answers::{answer_json, members_object, refuse};
use super::publishing::published_object;
use crate::limits::PROGRAM_TURN_BYTES;
use crate::message::AnswerContext;
use crate::origin::Origin;
use crate::site::Site;
use crate::site::exchange::Exchange;
use crate::site::orders::{Order, read};

impl Site {
    /// Executes the orders of a program.
    pub(super) fn answer_orders(
        &mut self,
        rights: &Rights,
        origin: &Origin<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        if !rights.are_all() {
            return refuse(&Refused::NoProgram, origin, exchange);
        }
        let mut batch = match self.underway.take_orders(context.id) {
            Some(batch) => batch,
            None => match read(exchange.request.body) {
                Ok(batch) => batch,
                Err(problem) => return refuse(&Refused::Orders(problem), origin, exchange),
            },
        };
        let mut made = 0;
        while let Some(order) = batch.next() {
            if made > PROGRAM_TURN_BYTES {
                self.underway.yield_orders(context.id, batch);
                return Answer::Wait;
            }
            if let Order::Publish { offer, .. } = order {
                made += offer.body.bytes().len();
            }
            let answer = if order.is_question() && !batch.has_room() {
                Some(wrong("no room in this answer; ask in another request"))
            } else {
                self.obey_program(order, context)
            };
            let Some(answer) = answer else {
                self.underway.keep_orders(context.id, batch);
                return Answer::Wait;
            };
            made += answer.len();
            batch.answer(&answer);
        }
        answer_json(Status::OK, &batch.into_answers(), origin, exchange)
    }

    /// The answer to an order; `None` until another scheduler has answered.
    fn obey_program(&mut self, order: &Order, context: &AnswerContext<'_>) -> Option<String> {
        let process = context.id;
        match order {
            Order::Publish { channel, offer } => self.publish_of_program(channel, offer, context),
            Order::Members(name) => {
                let right = self.data.rulebook.server_right(name);
                let question = right.to_subscribe().members(MEMBERS_TOLD);
                let found = self.local.channels().survey(process, &question)?;
                Some(members_object(name, &found))
            }
            Order::Channels(glob) => {
                let question = SubscriberQuery::Channels(glob.clone());
                let mut found = self.local.channels().survey(process, &question)?.counts;
                found.sort_unstable();
                let counts =
                    found.into_iter().map(|(name, count)| (name.to_string(), count.into()));
                let counts: serde_json::Map<String, serde_json::Value> = counts.collect();
                Some(format!("{{\"channels\":{}}}", serde_json::Value::Object(counts)))
            }
            Order::History { channel, since } => {
                let right = self.data.rulebook.server_right(channel);
                if !self.keeps_history(right.rule()) {
                    return Some(wrong("the channel has no history; set `history`"));
                }
                let times = (context.now.monotonic_ms(), 0);
                let right = right.to_subscribe();
                match self.local.channels().poll(&right, *since, process, times) {
                    Ok(Some(messages)) => Some(String::from_utf8_lossy(&messages).into_owned()),
                    Ok(None) => None,
                    Err(refusal) => Some(wrong(&refusal.to_string())),
                }
            }
            Order::Dismiss { user, channel } => {
                // The program gets its answer once all schedulers have disconnected the user: its later messages no
                // longer reach the user.
                let question = SubscriberQuery::Dismiss(Arc::clone(user), channel.clone());
                self.local.channels().survey(process, &question)?;
                Some("{}".to_owned())
            }
            Order::Wrong(problem) => Some(wrong(problem)),
        }
    }

    fn publish_of_program(
        &mut self,
        channel: &str,
        offer: &Offer,
        context: &AnswerContext<'_>,
    ) -> Option<String> {
        let outcome = self.local.channels().outcome(context.id);
        let result = match outcome {
            PublishOutcome::Awaited => return None,
            PublishOutcome::Known(result) => result,
            PublishOutcome::None => {
                let publisher = Publisher { process: context.id, told: PublishReceipt::ByResuming };
                let (offer, now_ms) = (offer.clone(), context.now.monotonic_ms());
                let right = self.data.rulebook.server_right(channel);
                let right = right.to_publish();
                let done = self.publish_in_order(&right, offer, Some(publisher), now_ms);
                match done {
                    Ok(None) => return None,
                    Ok(Some(published)) => Ok(published),
                    Err(refusal) => Err::<_, ChannelRefusal>(refusal),
                }
            }
        };
        Some(match result {
            Ok(published) => published_object(published),
            Err(refusal) => wrong(&refusal.to_string()),
        })
    }
}

fn wrong(problem: &str) -> String {
    format!("{{\"error\":{}}}", serde_json::Value::String(problem.to_owned()))
}
