//! An answer that comes in the frames of a stream (RFC 9113, 8.1): what may come next, and where it ends.
//!
//! Owns the rules about the order of heads, content and trailers, about lengths, and the window of the stream. Never
//! keeps a byte.

use wire::h2::{AfterFrame, H2ResponseHead, InputWindow};
use wire::limits::RESPONSE_INTERIM_COUNT;

use crate::answer_fault::AnswerFault;
use crate::limits::STREAM_WINDOW_BYTES;
use crate::request::AnswerTo;

/// How far an answer is.
#[derive(Debug)]
pub(crate) struct FramedAnswer {
    answer_to: AnswerTo,
    /// The status of the final head; 0 before it.
    status: u16,
    interim: u8,
    /// Bytes of the body that are still to come, if that is known.
    left: Option<u64>,
    window: InputWindow,
}

impl FramedAnswer {
    pub(crate) fn new(answer_to: AnswerTo) -> Self {
        let window = InputWindow::of(STREAM_WINDOW_BYTES);
        Self { answer_to, status: 0, interim: 0, left: None, window }
    }

    /// The status of the final head, if that has come.
    pub(crate) fn status(&self) -> Option<u16> {
        Some(self.status).filter(|status| *status > 0)
    }

    /// Whether nothing has come.
    pub(crate) fn is_untouched(&self) -> bool {
        self.status == 0 && self.interim == 0
    }

    /// A head has come, interim or final.
    pub(crate) fn take_head(
        &mut self,
        head: H2ResponseHead,
        after: AfterFrame,
    ) -> Result<(), AnswerFault> {
        if head.status < 200 {
            self.interim += 1;
            return match after {
                AfterFrame::Nothing => Err(AnswerFault::InterimEnd),
                AfterFrame::More if self.interim > RESPONSE_INTERIM_COUNT => {
                    Err(AnswerFault::TooManyInterim)
                }
                AfterFrame::More => Ok(()),
            };
        }
        self.status = head.status;
        // Their length is that of an answer to GET (RFC 9110, 8.6).
        let has_none = self.answer_to == AnswerTo::Head || matches!(head.status, 204 | 304);
        self.left = if has_none { Some(0) } else { head.length };
        match after {
            AfterFrame::Nothing => self.end(),
            AfterFrame::More => Ok(()),
        }
    }

    /// Content has come.
    pub(crate) fn take_content(
        &mut self,
        content: usize,
        flow_bytes: u32,
        after: AfterFrame,
    ) -> Result<(), AnswerFault> {
        self.window.take(flow_bytes).map_err(|_| AnswerFault::Window)?;
        if self.status == 0 {
            return Err(AnswerFault::NoHead);
        }
        // Nobody takes the padding.
        self.window.give_back((flow_bytes as usize).saturating_sub(content));
        if let Some(left) = &mut self.left {
            let has_none = self.answer_to == AnswerTo::Head || matches!(self.status, 204 | 304);
            let fault = if has_none { AnswerFault::Content } else { AnswerFault::Length };
            *left = left.checked_sub(content as u64).ok_or(fault)?;
        }
        match after {
            AfterFrame::Nothing => self.end(),
            AfterFrame::More => Ok(()),
        }
    }

    /// The stream ends.
    pub(crate) fn end(&mut self) -> Result<(), AnswerFault> {
        if self.status == 0 {
            return Err(AnswerFault::NoHead);
        }
        if self.left.is_some_and(|left| left > 0) { Err(AnswerFault::Length) } else { Ok(()) }
    }

    /// The requester has taken so many bytes.
    pub(crate) fn give_back(&mut self, bytes: usize) {
        self.window.give_back(bytes);
    }

    /// By how much the window is to be opened, if that is due.
    pub(crate) fn take_increment(&mut self) -> Option<u32> {
        self.window.take_due(STREAM_WINDOW_BYTES)
    }
}
