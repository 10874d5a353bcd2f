//! The body of a request on its way to a server.
//!
//! Owns how far it is handed on, and what a server may say before it has ended: a refusal ends the upload, another
//! answer is passed on meanwhile. Never answers.

use client::{Client, Deadline, ExchangeFailure, ExchangeNews, ResponseHead};
use http::{FieldList, Intake, Urgency};
use runtime::slots::ProcessId;

use super::Carried;
use super::carried::{Refused, Stage};
use super::desk::Proxies;
use super::failing::{Answered, Then};

impl Proxies {
    /// Has a server get a request with a body, if it was not refused.
    pub(in crate::site) fn send_upload(
        &mut self,
        process: ProcessId,
        client: &mut Client,
        now_ns: u64,
    ) -> Stage {
        let (_, Some(carried)) = self.parts(process) else {
            return Stage::Refused(Refused::Failed);
        };
        match (&carried.upload, carried.stage) {
            (Some(upload), Stage::InLine) => {
                let parcel = upload.parcel();
                self.dispatch(process, client, now_ns, || Ok(parcel))
            }
            (_, stage) => stage,
        }
    }

    pub(in crate::site) fn take_piece(
        &mut self,
        process: ProcessId,
        mut piece: &[u8],
        client: &mut Client,
        now_ns: u64,
    ) -> Intake {
        loop {
            let stage = self.send_upload(process, client, now_ns);
            let (_, Some(carried)) = self.parts(process) else { return Intake::Enough };
            let (Stage::Sent, Some(id)) = (stage, carried.exchange) else {
                if let Some(upload) = &mut carried.upload {
                    upload.add(piece);
                }
                return stage.intake();
            };
            let is_all = carried.hand_on(std::mem::take(&mut piece), client, now_ns);
            let intake = if is_all { Intake::More } else { Intake::Pause };
            if carried.is_answered() {
                // The rest after the head is passed on as far as the client takes it: see `urgency`.
                client.listen(id);
                return intake;
            }
            match client.next(id, 0, now_ns) {
                None => return intake,
                Some(ExchangeNews::Interim(head)) => carried.early.push_back(head),
                Some(ExchangeNews::Head(head)) => {
                    let status = head.status;
                    if self.after_status(process, status, client, now_ns) == Answered::Again {
                        self.begin_again(process);
                        continue;
                    }
                    let (_, Some(carried)) = self.parts(process) else { return Intake::Enough };
                    carried.early.push_back(head);
                    if status >= 300 {
                        // A refusal: the server does not want the rest.
                        return Intake::Enough;
                    }
                }
                Some(ExchangeNews::Room | ExchangeNews::Body(_) | ExchangeNews::Trailers(_)) => {}
                // Without a head there is no end.
                Some(ExchangeNews::End) => return Intake::Enough,
                Some(ExchangeNews::Failed(failure)) => {
                    match self.after_failure(process, failure, now_ns) {
                        Then::Again => self.begin_again(process),
                        Then::Refuse(_) => return Intake::Enough,
                    }
                }
            }
        }
    }

    /// The rest of the body of a request is not read.
    pub(in crate::site) fn cut_upload(&mut self, process: ProcessId) {
        if let (_, Some(Carried { upload: Some(upload), .. })) = self.parts(process) {
            upload.cut();
        }
    }

    /// The body of a request is complete, and these fields came behind it.
    pub(in crate::site) fn end_upload(
        &mut self,
        process: ProcessId,
        trailers: &FieldList,
        client: &mut Client,
        now_ns: u64,
    ) {
        let (_, Some(carried)) = self.parts(process) else { return };
        if let Some(upload) = &mut carried.upload {
            upload.end(trailers);
            carried.hand_on(&[], client, now_ns);
        }
    }

    /// The news for a client that still sends the body of its request, or has not taken the last part of the
    /// answer.
    pub(in crate::site) fn urgency(&mut self, process: ProcessId, client: &mut Client) -> Urgency {
        let (_, Some(carried)) = self.parts(process) else { return Urgency::Nothing };
        let Some(id) = carried.exchange else { return Urgency::Nothing };
        // A server that lets the request pass has not answered it.
        let may_pass = |head: &ResponseHead| (200..300).contains(&head.status);
        let is_let_pass = carried.question.is_some() && carried.early.front().is_some_and(may_pass);
        if is_let_pass || !carried.is_answered() {
            return Urgency::Nothing;
        }
        client.listen(id);
        match client.failure(id) {
            // The time is over, whatever the client has taken.
            Some(ExchangeFailure::Timeout(Deadline::Whole | Deadline::Requester)) => Urgency::Cut,
            _ => Urgency::Answer,
        }
    }

    /// A request is sent to another server at the next opportunity.
    pub(in crate::site) fn begin_again(&mut self, process: ProcessId) {
        if let (_, Some(carried)) = self.parts(process) {
            carried.stage = Stage::InLine;
        }
    }
}

impl Stage {
    /// The consequence for the body.
    pub(in crate::site) fn intake(self) -> Intake {
        match self {
            Self::Sent => Intake::More,
            Self::InLine => Intake::Pause,
            Self::TooLate | Self::Refused(_) => Intake::Enough,
        }
    }
}
