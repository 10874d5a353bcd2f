//! The body of a request on its way to a server.
//!
//! Owns how far it is handed on, and what a server may say before it has ended. Never answers.

use client::{Client, News};
use http::Intake;
use runtime::slots::ProcessId;

use super::carried::{Handed, Refused, Stage};
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
                let parcel = upload.parcel.clone();
                self.dispatch(process, client, now_ns, || Ok(parcel))
            }
            (_, stage) => stage,
        }
    }

    pub(in crate::site) fn take_piece(
        &mut self,
        process: ProcessId,
        piece: &[u8],
        client: &mut Client,
        now_ns: u64,
    ) -> Intake {
        if let (_, Some(carried)) = self.parts(process)
            && let Some(upload) = &mut carried.upload
        {
            upload.add(piece);
        }
        loop {
            let stage = self.send_upload(process, client, now_ns);
            let (_, Some(carried)) = self.parts(process) else { return Intake::Enough };
            let (Stage::Sent, Some(id)) = (stage, carried.exchange) else {
                return stage.intake();
            };
            let handed = carried.hand_on(client, now_ns);
            if carried.early.back().is_some_and(|head| head.status >= 200) {
                // The answer waits until the body has ended.
                return if handed == Handed::All { Intake::More } else { Intake::Pause };
            }
            match client.next(id, 0, now_ns) {
                None if handed == Handed::All => return Intake::More,
                None => return Intake::Pause,
                Some(News::Interim(head)) => carried.early.push_back(head),
                Some(News::Head(head)) => {
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
                Some(News::Room | News::Body(_) | News::Trailers(_)) => {}
                // Without a head there is no end.
                Some(News::End) => return Intake::Enough,
                Some(News::Failed(failure)) => match self.after_failure(process, failure, now_ns) {
                    Then::Again => self.begin_again(process),
                    Then::Refuse(_) => return Intake::Enough,
                },
            }
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
