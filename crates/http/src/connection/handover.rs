//! A body that the application receives as it arrives.
//!
//! Owns when it gets more: as long as it wants. A connection whose application pauses does not
//! read, so the kernel slows the sender down; at most the rest of one receive is kept.

use runtime::service::{Context, Next, Progress};
use wire::http::body::{BodyDecoder, Piece};
use wire::http::head;

use super::{Connection, Phase};
use crate::application::{Application, Intake};
use crate::pending::{BodyRest, Delivery, Pending};
use crate::shared::Http;

impl Connection {
    /// A head arrived whose body is handed over; the head takes `length` bytes of the input.
    pub(super) fn begin_handover<A: Application>(
        &mut self,
        http: &mut Http<A>,
        request: &head::Request<'_, '_>,
        decoder: BodyDecoder,
        (input, length): (&[u8], usize),
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let (head, body) = input.split_at(length);
        let intake = http.begin_body(&self.asked(request, &[]).request, context);
        self.pending = Some(Box::new(Pending {
            decoder: Some(decoder),
            delivery: Delivery::HandedOver,
            ..Pending::new(head, context.id, context.now)
        }));
        self.phase = Phase::Body;
        if request.expects_continue && body.is_empty() && intake != Intake::Enough {
            context.output.put(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        let step = match intake {
            // An empty body has ended before any byte arrives.
            Intake::More => self.hand_over_body(http, body, context),
            Intake::Pause => self.pause_body(http, 0, context),
            Intake::Enough => self.leave_rest(http, 0, body.len(), context),
        };
        Progress { consumed: length + step.consumed, ..step }
    }

    /// Hands body bytes over until the application stops or the body ends.
    pub(super) fn hand_over_body<A: Application>(
        &mut self,
        http: &mut Http<A>,
        input: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let Some(pending) = &mut self.pending else {
            return Progress { consumed: 0, next: Next::Abort };
        };
        if pending.is_paused() {
            return Progress { consumed: 0, next: Next::Park };
        }
        let mut consumed = 0;
        let mut intake = Intake::More;
        let ended = loop {
            match pending.next_piece(input, &mut consumed) {
                Ok(Piece::Data(data)) => intake = http.hand_over(data, context),
                Ok(Piece::NeedMore) => break Ok(false),
                Ok(Piece::End) => break Ok(true),
                Err(refusal) => break Err(refusal),
            }
            if intake != Intake::More {
                break Ok(false);
            }
        };
        pending.received += consumed as u64;
        match intake {
            Intake::More => self.after_body_bytes(http, ended, consumed, input.len(), context),
            Intake::Pause => self.pause_body(http, consumed, context),
            Intake::Enough => self.leave_rest(http, consumed, input.len(), context),
        }
    }

    /// The application pauses.
    fn pause_body<A: Application>(
        &mut self,
        http: &Http<A>,
        consumed: usize,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        if let Some(pending) = &mut self.pending {
            pending.delivery = Delivery::Paused { since_ns: context.now.monotonic_ns };
        }
        // This time is not the sender's fault, so the deadline for an answer applies.
        context.set_deadline_after_ms(http.settings().answer_deadline_ms);
        Progress { consumed, next: Next::Park }
    }

    /// The application stops reading: it is asked for its answer, after which the connection ends.
    fn leave_rest<A: Application>(
        &mut self,
        http: &mut Http<A>,
        consumed: usize,
        available: usize,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        if let Some(pending) = &mut self.pending {
            pending.decoder = None;
            pending.rest = BodyRest::Unread;
        }
        self.ask_pending(http, consumed, available, context)
    }

    /// The process was resumed: asks whether the application wants more.
    pub(super) fn resume_body<A: Application>(
        &mut self,
        http: &mut Http<A>,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        let step = match http.hand_over(&[], context) {
            Intake::Pause => return Next::Park,
            Intake::Enough => self.leave_rest(http, 0, 0, context),
            Intake::More => {
                if let Some(pending) = &mut self.pending {
                    pending.end_pause(context.now.monotonic_ns);
                }
                self.hand_over_body(http, &[], context)
            }
        };
        step.next
    }

    /// Whether the application paused the body.
    pub(super) fn is_paused(&self) -> bool {
        let is_paused = self.pending.as_ref().is_some_and(|pending| pending.is_paused());
        is_paused && self.phase == Phase::Body
    }

    /// A body that is being handed over ends before it is complete.
    pub(super) fn leave_body<A: Application>(&self, http: &mut Http<A>) {
        if let Some(pending) = &self.pending
            && self.phase == Phase::Body
            && pending.is_handed_over()
        {
            http.application_mut().on_gone(pending.process);
        }
    }
}
