//! The plan for the body of a request, before any of it is read.
//!
//! Owns whether it is taken, and how much of it at most. Never reads it.

use runtime::service::Context;
use wire::http::head::Framing;

use crate::application::{Application, BodyPolicy};
use crate::asked::{Asked, Way};
use crate::shared::Http;

/// The plan for a body that was announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyPlan {
    /// It is left unread; the answer comes at once.
    Leave,
    /// It is not needed: it is read so that the connection can go on behind it. One that turns out to be longer is
    /// left unread from there, as with `Leave`.
    Discard {
        /// Maximum number of bytes.
        limit: u64,
    },
    /// It is refused, because it is too large.
    TooLarge,
    /// It is kept until it is complete.
    Collect {
        /// Maximum number of bytes.
        limit: u64,
    },
    /// The same, once the application lets it come.
    Admit {
        /// Maximum number of bytes.
        limit: u64,
    },
    /// It goes to the application as it arrives.
    HandOver {
        /// Maximum number of bytes.
        limit: u64,
    },
}

impl BodyPlan {
    /// The maximum number of bytes that are read.
    pub(crate) fn limit(self) -> u64 {
        match self {
            Self::Leave | Self::TooLarge => 0,
            Self::Discard { limit }
            | Self::Collect { limit }
            | Self::Admit { limit }
            | Self::HandOver { limit } => limit,
        }
    }

    /// The length above which a body is refused.
    pub(crate) fn refused_above(self) -> u64 {
        if matches!(self, Self::Discard { .. }) { u64::MAX } else { self.limit() }
    }
}

impl<A: Application> Http<A> {
    /// Decides what is done with the body that a head announces.
    pub(crate) fn plan_body(
        &mut self,
        asked: &Asked<'_>,
        context: &mut Context<'_, A::Message>,
    ) -> BodyPlan {
        let (head, request) = (asked.head(), asked.request());
        let policy =
            self.ask(context, |application, context| application.body_policy(request, context));
        let plan = match policy {
            BodyPolicy::Collect { limit } => BodyPlan::Collect { limit },
            BodyPolicy::Admit { limit } => BodyPlan::Admit { limit },
            BodyPolicy::Stream { limit } => BodyPlan::HandOver { limit },
            // Other requests come on other streams, so the rest of this one need not be read.
            BodyPolicy::Ignore if asked.way() == Way::Stream || head.expects_continue => {
                // RFC 9110 section 10.1.1: a final answer instead of 100.
                return BodyPlan::Leave;
            }
            BodyPolicy::Ignore => {
                let limit = self.settings().unread_body_size;
                let is_longer = matches!(head.framing, Framing::Length(size) if size > limit);
                return if is_longer { BodyPlan::Leave } else { BodyPlan::Discard { limit } };
            }
        };
        match head.framing {
            Framing::Length(size) if size > plan.limit() => BodyPlan::TooLarge,
            Framing::None | Framing::Length(_) | Framing::Chunked => plan,
        }
    }
}
