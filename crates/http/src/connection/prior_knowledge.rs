//! A connection whose client speaks HTTP/2: it was agreed on in the handshake (RFC 9113, 3.2), or the client knows it
//! (3.3).
//!
//! Owns the change to HTTP/2. Never reads a frame.

use runtime::service::{Context, Next, Progress};
use wire::h2::PREFACE;
use wire::http::url::Scheme;

use super::{Connection, NEEDS_MORE, Phase};
use crate::application::Application;
use crate::h2::{HTTP2_PROTOCOL, Http2Connection};
use crate::settings::PriorKnowledge;
use crate::shared::Http;

impl Connection {
    /// The handshake is over. Behind a PROXY header, which comes first, the preface says the same later.
    pub(super) fn after_handshake<M>(&mut self, context: &mut Context<'_, M>) -> Next {
        if self.phase != Phase::Idle || !has_agreed(context) {
            return Next::Read;
        }
        self.phase = Phase::Http2;
        Next::Changed
    }

    /// Input that is no request of HTTP/1: perhaps it is the preface of HTTP/2, or its beginning.
    #[cold]
    pub(super) fn take_preface<A: Application>(
        &mut self,
        http: &Http<A>,
        input: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Option<Progress> {
        let seen = input.len().min(PREFACE.len());
        if self.requests > 0 || input.get(..seen) != PREFACE.get(..seen) {
            return None;
        }
        let is_served = match self.scheme {
            Scheme::Https => has_agreed(context),
            Scheme::Http => http.prior_knowledge(self.listener) == PriorKnowledge::Served,
        };
        if !is_served {
            return None;
        }
        if seen < PREFACE.len() {
            self.phase = Phase::Head(seen as u32);
            return Some(NEEDS_MORE);
        }
        self.phase = Phase::Http2;
        Some(Progress { consumed: 0, next: Next::Changed })
    }

    /// The connection of HTTP/2 that this has become, if its client speaks that. Its input begins with the preface.
    pub fn to_http2<A: Application>(
        &self,
        http: &Http<A>,
        context: &mut Context<'_, A::Message>,
    ) -> Option<Http2Connection> {
        if self.phase != Phase::Http2 {
            return None;
        }
        let secured = context.agreed();
        let come = (self.arrival, self.listener);
        Some(Http2Connection::begin(come, secured, http.settings(), context))
    }
}

/// Whether HTTP/2 was agreed on in the handshake.
fn has_agreed<M>(context: &mut Context<'_, M>) -> bool {
    let agreed = context.agreed();
    agreed.and_then(|agreed| agreed.protocol.clone()).as_deref() == Some(HTTP2_PROTOCOL)
}
