//! Orders of an operator that every scheduler, or the server, has to carry out.
//!
//! Owns their words, and that all schedulers get them.

use http::{Answer, Reply, Request};
use proxy::Readiness;
use sys::signal::{Signal, send_to_self};
use wire::http::status::Status;

use super::Admin;
use crate::cache_order::CacheOrder;
use crate::message::{AnswerContext, ToScheduler};
use crate::upstream_report::UpstreamOrder;

impl Admin {
    /// Passes on an order about a server of an upstream: `drain UPSTREAM SERVER` or `up UPSTREAM SERVER`.
    pub(super) fn order(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let words = str::from_utf8(request.body).unwrap_or_default();
        let words: Vec<&str> = words.split(' ').collect();
        let known = |upstream: &str, server: &str| {
            let reports = self.round.answered().flat_map(|report| &report.upstreams);
            let mut named = reports.filter(|report| report.name == upstream);
            named.any(|report| report.servers.iter().any(|known| known.address == server))
        };
        let order = match words[..] {
            ["drain", upstream, server] => Some((upstream, server, Readiness::Drained)),
            ["up", upstream, server] => Some((upstream, server, Readiness::Ready)),
            _ => None,
        };
        let Some((upstream, server, readiness)) = order.filter(|it| known(it.0, it.1)) else {
            reply.empty(Status::NOT_FOUND);
            return Answer::Done;
        };
        let order = Box::new(UpstreamOrder {
            upstream: upstream.to_owned(),
            server: server.to_owned(),
            readiness,
        });
        self.tell_all(|| ToScheduler::Upstream(order.clone()), reply, context)
    }

    /// Tells all schedulers. Some may not have room; asked again, all have it.
    fn tell_all(
        &mut self,
        message: impl Fn() -> ToScheduler,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let mut sent = true;
        for endpoint in self.peers.endpoints() {
            sent &= context.mail.send_part(endpoint, message()).is_ok();
        }
        // The state that was just asked for is another one now.
        self.round.forget();
        reply.empty(if sent { Status::OK } else { Status::SERVICE_UNAVAILABLE });
        Answer::Done
    }

    /// Has all schedulers forget stored answers.
    pub(super) fn purge(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let text = str::from_utf8(request.body).unwrap_or_default();
        let Ok(pattern) = cache::PurgePattern::parse(text) else {
            reply.empty(Status::BAD_REQUEST);
            return Answer::Done;
        };
        let message = || ToScheduler::Cache(Box::new(CacheOrder::Purge(pattern.clone())));
        self.tell_all(message, reply, context)
    }
}

/// Has the main thread end the server.
pub(super) fn drain(reply: &mut Reply<'_>) -> Answer {
    let status = match send_to_self(Signal::Terminate) {
        Ok(()) => Status::ACCEPTED,
        Err(_) => Status::INTERNAL_SERVER_ERROR,
    };
    reply.empty(status);
    Answer::Done
}
