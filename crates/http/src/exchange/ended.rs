//! A request that ends before the application has answered it: it is refused, its answer is cut, or its client leaves.
//!
//! Owns what such an end means: the application hears of it once and says what it knows, and the request is counted and
//! has its line in the log like any other. Never writes an answer itself.

use runtime::service::{CloseReason, Context, Next};
use wire::http::method::Method;
use wire::http::status::Status;

use super::{Exchange, State};
use crate::application::Application;
use crate::refused::Refused;
use crate::sent::SentAnswer;
use crate::shared::{Http, NO_ANSWER};
use crate::unanswered::Ended;

/// The status of a request whose client has left before its answer was begun, in the log and the counters: nginx's.
const CLIENT_LEFT: Status = match Status::from_code(499) {
    Some(status) => status,
    None => Status::BAD_REQUEST,
};

impl Exchange {
    /// Ends a request that cannot be answered: it is refused, or its answer is cut if it was begun.
    pub(crate) fn end<A: Application>(
        mut self,
        http: &mut Http<A>,
        status: Status,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        http.lend_kept(self.kept.take());
        if let Some(begun) = self.begun {
            self.end_unanswered(http, begun.status());
            return begun.cut();
        }
        let head = self.head.request();
        let request = self.request(&head);
        http.refuse(Refused::asked(status, self.way, &request), context);
        Next::Linger
    }

    /// The process has ended: [`runtime::service::Service::on_close`].
    pub(crate) fn on_close<A: Application>(mut self, http: &mut Http<A>, reason: CloseReason) {
        if self.state == State::Over {
            // A panic after the answer.
            http.on_panic(reason);
            return;
        }
        http.lend_kept(self.kept.take());
        let status = match (self.begun, reason) {
            (Some(begun), _) => begun.status(),
            (None, CloseReason::Panicked) => Status::INTERNAL_SERVER_ERROR,
            (None, CloseReason::PeerEnded | CloseReason::Failed | CloseReason::Finished) => {
                CLIENT_LEFT
            }
            // The server has ended it.
            (
                None,
                CloseReason::Aborted
                | CloseReason::SlowReader
                | CloseReason::OutboxFull
                | CloseReason::InboxFull
                | CloseReason::Evicted
                | CloseReason::Stopped,
            ) => NO_ANSWER,
        };
        self.end_unanswered(http, status);
    }

    /// Tells the application, and keeps what the log has to get: not every caller knows the time.
    fn end_unanswered<A: Application>(&self, http: &mut Http<A>, status: Status) {
        let head = self.head.request();
        let (request, sent) = (self.request(&head), self.sent());
        http.tell_unanswered(self.process, &request, sent);
        http.tell_slow_end(&request, self.process, status);
        http.stats_mut().count(status);
        if let Some(notes) = http.take_notes_of_line() {
            let first_ns = self.begun.map(|begun| begun.first_ns());
            let sent = SentAnswer { status, body_bytes: sent };
            http.note_ended(Ended::new(&request, sent, first_ns, notes));
        }
    }

    /// Bytes of the body of its answer that were written.
    fn sent(&self) -> u64 {
        let is_head = self.head.request().method == Method::Head;
        self.begun.filter(|_| !is_head).map_or(0, |begun| begun.body_bytes())
    }
}
