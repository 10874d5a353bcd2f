//! Checks the replies of a store.
//!
//! Owns the steps from received bytes to an answered or failed request, as `answer` does for HTTP.

use runtime::service::{Next, Progress};

use super::LoadClient;
use super::connection::{LoadConnection, Phase};
use super::pending::Pending;
use super::replies::{Judgement, Reply};
use crate::client::Context;
use crate::plan::{AnswerBody, StorePlan};
use crate::tally::{Answering, FailureKind};

impl LoadClient {
    /// Takes input: as many replies as there are, then sends further requests.
    pub(super) fn take_replies(
        &mut self,
        connection: &mut LoadConnection,
        input: &[u8],
        store: StorePlan,
        context: &mut Context<'_>,
    ) -> Progress {
        let now_ns = context.now.monotonic_ns;
        let mut consumed = 0;
        while consumed < input.len() {
            let Some(pending) = connection.oldest().copied() else {
                self.hear_unasked((input.len() - consumed) as u64, now_ns);
                connection.give_up();
                return Progress { consumed: input.len(), next: Next::Abort };
            };
            let Ok((count, reply)) = connection.read_reply(&input[consumed..], store, pending.key)
            else {
                self.fail_all(connection, FailureKind::Garbage, FailureKind::Reset, now_ns);
                return Progress { consumed: input.len(), next: Next::Abort };
            };
            consumed += count;
            self.tally.bytes_in += count as u64;
            let Some(reply) = reply else { break };
            let _settled = connection.pop();
            self.judge_reply(pending, reply, now_ns);
            self.count_answer(connection);
            if connection.phase() == Phase::LastSent && connection.in_flight() == 0 {
                connection.give_up();
                return Progress { consumed: input.len(), next: Next::Finish };
            }
        }
        self.fill(connection, context);
        Progress { consumed, next: Next::Read }
    }

    fn judge_reply(&mut self, pending: Pending, reply: Reply, now_ns: u64) {
        let asked = self.work.plan.targets[pending.target as usize].answer_body;
        let failure = match (reply, asked) {
            (Reply::Value(Judgement::Right) | Reply::Missing, AnswerBody::AsFramed)
            | (Reply::Stored, AnswerBody::Never) => None,
            (Reply::Refused, _) => Some(FailureKind::Status),
            _ => Some(FailureKind::Check),
        };
        if let Some(kind) = failure {
            self.tally.fail_sent(kind, pending.sent_ns, now_ns);
            return;
        }
        if now_ns > self.window.end_ns {
            return;
        }
        match reply {
            Reply::Value(_) => self.tally.values.found += 1,
            Reply::Missing => self.tally.values.missing += 1,
            Reply::Stored | Reply::Refused => {}
        }
        let (due_ns, sent_ns) = (pending.due_ns, pending.sent_ns);
        self.tally.answer(Answering { due_ns, sent_ns, answered_ns: now_ns });
    }
}
