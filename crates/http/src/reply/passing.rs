//! Answers of other servers, passed on in parts as they arrive.
//!
//! Owns the steps of such an answer: interim heads, the head, parts of the body ([`Reply::part`]), trailers. Never
//! decides which fields are passed on.

use wire::http::fields::FieldList;
use wire::http::head::Fields;
use wire::http::status::Status;

use super::Reply;
use crate::encoder::PassedHead;
use crate::framing::StreamFraming;

impl Reply<'_> {
    /// Whether what carries the request can change to another protocol: see
    /// [`switch_protocols`](Self::switch_protocols).
    pub fn can_change(&self) -> bool {
        self.encoder().can_change()
    }

    /// Passes on an interim head (RFC 9110 section 15.2) before the answer has begun.
    pub fn interim(&mut self, status: Status, fields: Fields<'_, '_>) {
        self.encoder.interim(status, fields, self.parts, self.output);
    }

    /// Begins the head of the answer. Fields, [`Reply::end_head`] and parts follow, then
    /// [`Answer::Part`](crate::Answer::Part) or [`Answer::Done`](crate::Answer::Done). The fields must not say a
    /// length, a coding of the transfer or what becomes of the connection: this does.
    ///
    /// Returns whether trailers can stand behind the body, or could if the method were GET.
    pub fn pass_on(&mut self, head: &PassedHead) -> bool {
        self.note_begun(head.status);
        let framing = self.encoder.begin_passed(head, self.parts, self.output);
        self.continue_later(if self.sends_body() { framing } else { StreamFraming::Omitted });
        framing.takes_trailers()
    }

    /// Ends the parts with trailers, before [`Answer::Done`](crate::Answer::Done). Clients of HTTP/1.0 get none, and
    /// only if the length was not said.
    pub fn end_with(&mut self, trailers: &FieldList) {
        if let Some(framing) = self.framing() {
            self.end_body(framing, trailers);
            // The end is written.
            self.continue_later(StreamFraming::Omitted);
        }
    }
}
