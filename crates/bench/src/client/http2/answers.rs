//! The meaning of HTTP/2's frames for the request of their stream.
//!
//! Owns the steps from heads and content to an answered or failed request, as `answer` does for HTTP/1.1. An answer
//! that breaks a rule fails alone, with a reset of its stream.

use wire::h2::{ErrorCode, ResponseFields, TrailerFields, write_reset};

use super::Reading;
use crate::client::LoadClient;
use crate::client::connection::Phase;
use crate::client::streams::{Block, Broken};
use crate::tally::{Answering, FailureKind};

impl LoadClient {
    /// A head, interim or final, or trailers.
    pub(super) fn take_head(&mut self, at: &mut Reading<'_>, block: &Block) -> Result<(), Broken> {
        let Block { stream: number, end_stream, fragment } = block;
        let (mut response, mut trailers) = (ResponseFields::new(), TrailerFields::of_answer());
        let has_head = at.streams.get(*number).is_some_and(|stream| stream.has_head());
        at.streams.decode(fragment, |name, value| {
            if has_head {
                trailers.note(name, value);
            } else {
                response.note(name, value);
            }
        })?;
        let Some(stream) = at.streams.get(*number) else { return Ok(()) };
        let read = if has_head {
            trailers.finish().map_err(|reason| format!("wrong trailers: {}", reason.text()))
        } else {
            let head = response.finish().map_err(|wrong| wrong.to_string());
            head.map(|head| stream.take_head(&head))
        };
        let read = read.and_then(|()| match stream.has_head() {
            false if *end_stream => Err("an interim head ends the stream".to_owned()),
            _ if has_head && !end_stream => Err("trailers do not end the stream".to_owned()),
            _ => Ok(()),
        });
        match read {
            Ok(()) if *end_stream => self.take_end_of_stream(at, *number),
            Ok(()) => {}
            Err(wrong) => self.refuse_answer(at, *number, &wrong),
        }
        Ok(())
    }

    /// A piece of content.
    pub(super) fn take_content(
        &mut self,
        at: &mut Reading<'_>,
        number: u32,
        content: &[u8],
        end_stream: bool,
    ) {
        let check = &self.work.plan().check.body;
        // It may have been given up while this was on its way.
        let Some(stream) = at.streams.get(number) else { return };
        let taken = stream.add_content(content, check);
        match taken {
            Ok(()) if end_stream => self.take_end_of_stream(at, number),
            Ok(()) => {}
            Err(wrong) => self.refuse_answer(at, number, &wrong),
        }
    }

    /// An answer is whole: counts it.
    fn take_end_of_stream(&mut self, at: &mut Reading<'_>, number: u32) {
        let Some(stream) = at.streams.get(number) else { return };
        if let Err(wrong) = stream.check_length() {
            return self.refuse_answer(at, number, &wrong);
        }
        let check = &self.work.plan().check;
        let is_right = stream.has_expected_content(check);
        let has_status = stream.has_expected_status(check);
        if stream.is_sending() {
            // The server does not need the rest of the request (RFC 9113, 8.1).
            write_reset(number, ErrorCode::NoError, at.out);
        }
        let Some(pending) = at.streams.end(number) else { return };
        let now_ns = self.now_ns;
        if !has_status {
            self.tally.fail_sent(FailureKind::Status, pending.sent_ns, now_ns);
        } else if !is_right {
            self.tally.fail_sent(FailureKind::Check, pending.sent_ns, now_ns);
        } else if now_ns <= self.window.end_ns {
            let (due_ns, sent_ns) = (pending.due_ns, pending.sent_ns);
            self.tally.answer(Answering { due_ns, sent_ns, answered_ns: now_ns });
        }
        self.count_answer(at.connection);
    }

    /// An answer breaks a rule.
    fn refuse_answer(&mut self, at: &mut Reading<'_>, number: u32, wrong: &str) {
        self.note_end(format!("an answer was wrong: {wrong}"));
        write_reset(number, ErrorCode::ProtocolError, at.out);
        self.fail_stream(at, number, FailureKind::Garbage);
    }

    /// The server ends a stream before its answer is whole.
    pub(super) fn take_reset(&mut self, at: &mut Reading<'_>, number: u32, code: ErrorCode) {
        if at.streams.get(number).is_some() {
            self.note_end(format!("RST_STREAM {code}"));
            self.fail_stream(at, number, FailureKind::Reset);
        }
    }

    /// The request of a stream has failed.
    pub(super) fn fail_stream(&mut self, at: &mut Reading<'_>, number: u32, kind: FailureKind) {
        if let Some(pending) = at.streams.end(number) {
            at.connection.idle_since(self.now_ns);
            self.tally.fail_sent(kind, pending.sent_ns, self.now_ns);
        }
    }

    /// The server has not begun a request: another connection will carry it.
    pub(super) fn send_again(&mut self, at: &mut Reading<'_>, number: u32) {
        let Some(pending) = at.streams.end(number) else { return };
        self.tally.streams.get_or_insert_default().repeated += 1;
        let peer = self.peer_of(at.connection);
        match &mut self.pacer {
            None => self.tally.unask(pending.sent_ns, self.now_ns),
            Some(pacer) => pacer.give_back(peer, pending.due_ns),
        }
        debug_assert_ne!(at.connection.phase(), Phase::Open, "it would be sent here again");
    }
}
