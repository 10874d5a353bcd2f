//! The body of a request that is passed on, as it arrives.
//!
//! Owns that a server gets it piece by piece, and that the client is slowed down to what the server takes. A server
//! that refuses a request before the end of its body is heard at once.

use std::rc::Rc;

use client::OutgoingBody;
use config::route::FoundRoute;
use config::{ProxiedBodies, RouteAction};
use http::{BodyPolicy, Intake, Request};
use wire::http::head::Framing;

use crate::message::AnswerContext;
use crate::site::Site;
use crate::site::head_judgement::HeadJudgement;
use crate::site::outgoing::proxy::Carried;
use crate::site::outgoing::proxy::carried::{Idempotence, Parcel};
use crate::site::outgoing::proxy::introduction;
use crate::site::outgoing::proxy::request_head::{head_of, target_of_request};
use crate::site::route::Kept;

impl Site {
    /// How to handle the body of a request that is passed on; `None`: it is not.
    pub(in crate::site) fn proxied_body_policy(
        &self,
        found: &FoundRoute<'_>,
        judged: HeadJudgement,
    ) -> Option<BodyPolicy> {
        let Ok(RouteAction::Proxy(route)) = found.action else { return None };
        let limit = found.terms.body_size;
        Some(match judged {
            HeadJudgement::Refused => BodyPolicy::Ignore,
            // A server gets no byte of a request that may still be refused: its body waits here, up to the limit.
            HeadJudgement::Open => BodyPolicy::Collect { limit },
            HeadJudgement::LetIn => match self.outgoing.proxies.bodies_of(&route.upstream) {
                ProxiedBodies::Buffered => BodyPolicy::Collect { limit },
                ProxiedBodies::Streamed => BodyPolicy::Stream { limit },
            },
        })
    }

    /// The body of a request begins to arrive. `None`: it is not passed on.
    pub(in crate::site) fn begin_proxied_body(
        &mut self,
        request: &Request<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Option<Intake> {
        let data = Rc::clone(&self.data);
        let mut kept = context.take_kept::<Kept>()?;
        let found = kept.route(&data);
        let Ok(RouteAction::Proxy(route)) = found.action else {
            drop(found);
            context.keep(kept);
            return None;
        };
        let target = target_of_request(request, (&found.path, found.rest));
        let head = head_of(request, kept.place(), &target, route);
        let length = match request.head.framing {
            Framing::Length(length) => Some(length),
            Framing::None | Framing::Chunked => None,
        };
        let wish = self.outgoing.proxies.wish_of(&route.upstream, request, &found.path);
        let now_ns = context.now.monotonic_ns;
        let idempotence = Idempotence::of(request.method());
        let client = introduction::client_of(request, &self.data);
        let (method, body) = (request.method().as_str(), OutgoingBody::Streamed(length));
        let parcel = head.map(|head| Parcel { method, head, body, upgrade: None });
        let carried = Carried::of(wish, client, idempotence, now_ns);
        let carried = carried.with_body(parcel, &route.request_headers, &request.head.fields);
        drop(found);
        kept.pass_on();
        context.keep(kept);
        self.outgoing.proxies.insert(context.id, carried);
        let stage =
            self.outgoing.proxies.send_upload(context.id, self.outgoing.client.exchanges(), now_ns);
        Some(stage.intake())
    }

    /// The next piece of the body, or the request was called.
    pub(in crate::site) fn take_proxied_body(
        &mut self,
        piece: &[u8],
        context: &AnswerContext<'_>,
    ) -> Intake {
        let intake = self.outgoing.proxies.take_piece(
            context.id,
            piece,
            self.outgoing.client.exchanges(),
            context.now.monotonic_ns,
        );
        if intake == Intake::Enough {
            self.outgoing.proxies.cut_upload(context.id);
        }
        intake
    }
}
