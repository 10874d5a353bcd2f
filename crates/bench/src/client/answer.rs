//! Reads answers and checks them.
//!
//! Owns the steps from received bytes to an answered or failed request. The plan's check says what
//! is expected.

use runtime::service::{Next, Progress};
use wire::http::received::AfterStep;

use super::LoadClient;
use super::connection::{LoadConnection, Phase};
use crate::client::Context;
use crate::plan::BodyCheck;
use crate::tally::{Answering, FailureKind};

impl LoadClient {
    /// Takes input: as many answers as there are, then sends further requests.
    #[inline]
    pub(super) fn take_input(
        &mut self,
        connection: &mut LoadConnection,
        input: &[u8],
        context: &mut Context<'_>,
    ) -> Progress {
        if let Some(store) = self.work.plan.store {
            return self.take_replies(connection, input, store, context);
        }
        if connection.has_streams() {
            return self.take_frames(connection, input, context);
        }
        let now_ns = context.now.monotonic_ns;
        let mut consumed = 0;
        while consumed < input.len() {
            if connection.in_flight() == 0 {
                // Input without a request: the next answer on this connection could not be trusted.
                self.hear_unasked((input.len() - consumed) as u64, now_ns);
                connection.give_up();
                return Progress { consumed: input.len(), next: Next::Abort };
            }
            let Ok(step) = connection.read(&input[consumed..]) else {
                self.fail_all(connection, FailureKind::Garbage, FailureKind::Reset, now_ns);
                return Progress { consumed: input.len(), next: Next::Abort };
            };
            consumed += step.consumed;
            self.tally.bytes_in += step.consumed as u64;
            let is_whole =
                step.then == AfterStep::Finish && connection.body_bytes() == step.body.len() as u64;
            let body = self.judge_body(connection, step.body, is_whole);
            match step.then {
                AfterStep::ReadRest => {}
                AfterStep::Wait => break,
                AfterStep::Finish => {
                    if self.settle(connection, body, now_ns) == Afterwards::Close {
                        if consumed < input.len() {
                            self.hear_unasked((input.len() - consumed) as u64, now_ns);
                        }
                        return Progress { consumed: input.len(), next: Next::Finish };
                    }
                }
            }
        }
        self.fill(connection, context);
        Progress { consumed, next: Next::Read }
    }

    /// Bytes came after the end of the last answer.
    pub(super) fn hear_unasked(&mut self, count: u64, now_ns: u64) {
        self.tally.bytes_in += count;
        self.tally.hear_unasked(now_ns);
    }

    /// Checks a piece of a body. `Some` at its end: whether it is correct.
    #[inline]
    fn judge_body(
        &self,
        connection: &mut LoadConnection,
        piece: &[u8],
        is_whole: bool,
    ) -> Option<BodyVerdict> {
        let check = &self.work.plan.check.body;
        if matches!(check, BodyCheck::Any) {
            return Some(BodyVerdict::Right);
        }
        if is_whole {
            return Some(BodyVerdict::of(check.accepts(piece)));
        }
        if !piece.is_empty() {
            connection.check_piece(check, piece);
        }
        None
    }

    /// An answer is complete: counts it, and prepares for the next one.
    #[inline]
    fn settle(
        &mut self,
        connection: &mut LoadConnection,
        body: Option<BodyVerdict>,
        now_ns: u64,
    ) -> Afterwards {
        let Some(pending) = connection.pop() else { return Afterwards::Close };
        let check = &self.work.plan.check;
        let status = connection.status();
        let body = body.unwrap_or_else(|| BodyVerdict::of(connection.check_body(&check.body)));
        let length_is_right = check.length.is_none_or(|length| length == connection.body_bytes());
        if !check.status.contains(status) {
            self.tally.fail_sent(FailureKind::Status, pending.sent_ns, now_ns);
        } else if !length_is_right || body == BodyVerdict::Wrong {
            self.tally.fail_sent(FailureKind::Check, pending.sent_ns, now_ns);
        } else if now_ns <= self.window.end_ns {
            let (due_ns, sent_ns) = (pending.due_ns, pending.sent_ns);
            self.tally.answer(Answering { due_ns, sent_ns, answered_ns: now_ns });
        }
        self.count_answer(connection);
        let persists = connection.is_persistent();
        let next = connection.oldest().map(|pending| pending.target as usize);
        if let Some(target) = next {
            connection.expect(self.work.plan.targets[target].answer_body);
        }
        if !persists || (connection.phase() == Phase::LastSent && next.is_none()) {
            self.fail_all(connection, FailureKind::Reset, FailureKind::Reset, now_ns);
            return Afterwards::Close;
        }
        Afterwards::GoOn
    }

    /// The server ended its output: the end of the last answer, or of the connection.
    pub(super) fn take_end(&mut self, connection: &mut LoadConnection, now_ns: u64) -> Next {
        let may_last = !connection.has_streams() && connection.in_flight() > 0;
        if may_last && connection.ends_answer() {
            let _over = self.settle(connection, None, now_ns);
        }
        self.fail_all(connection, FailureKind::Reset, FailureKind::Reset, now_ns);
        Next::Finish
    }
}

/// Whether a body is as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyVerdict {
    Right,
    Wrong,
}

impl BodyVerdict {
    fn of(is_right: bool) -> Self {
        if is_right { Self::Right } else { Self::Wrong }
    }
}

/// The consequence of an answer for its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Afterwards {
    GoOn,
    Close,
}
