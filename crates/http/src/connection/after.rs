//! The step after an answer: the next request on the connection, a wait, or the end.
//!
//! Owns how long a connection stays idle. Never answers.

use runtime::clock::milliseconds;
use runtime::service::{Context, Next, Progress};

use super::received::InputUse;
use super::{Connection, Phase};
use crate::application::Application;
use crate::asked::Asked;
use crate::limits;
use crate::shared::Http;

impl Connection {
    /// The step after an answer: the next request, the end, or a wait.
    #[inline(always)]
    pub(super) fn after_answer<A: Application>(
        &mut self,
        http: &mut Http<A>,
        next: Next,
        asked: &Asked<'_>,
        used: InputUse,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        match next {
            Next::Read => self.after_complete_answer(used.consumed),
            Next::Park => {
                self.keep_unanswered(http, asked, context);
                Progress { consumed: used.consumed, next }
            }
            next => self.after_last_answer(next, used),
        }
    }

    /// The step after an answer on a connection that stays open.
    #[inline(always)]
    pub(super) fn after_complete_answer(&mut self, consumed: usize) -> Progress {
        self.requests += 1;
        self.phase = Phase::Idle;
        Progress { consumed, next: Next::Read }
    }

    /// The step after the last answer of a connection.
    pub(super) fn after_last_answer(&mut self, next: Next, used: InputUse) -> Progress {
        self.phase = Phase::Over;
        let consumed = used.consumed;
        match next {
            // If bytes stayed unread, closing would send a reset, and the reply could be lost.
            Next::Finish if used.leaves_some() => Progress { consumed, next: Next::Linger },
            Next::Linger | Next::Abort => Progress { consumed: used.available, next },
            next => Progress { consumed, next },
        }
    }

    /// An idle connection waits for the next request, as long as it may.
    #[inline]
    pub(super) fn await_request<A: Application>(
        &self,
        http: &Http<A>,
        context: &mut Context<'_, A::Message>,
    ) {
        if context.is_draining() {
            // Its last answer did not announce the end. The next one can, if it is requested soon.
            context.set_deadline_after_ms(milliseconds(limits::DRAIN_IDLE_GRACE));
            return;
        }
        match http.settings().keep_alive_ms {
            Some(milliseconds) => context.set_deadline_after_ms(milliseconds),
            None => context.clear_deadline(),
        }
    }
}
