//! A file helper: the thread on which lookups, reads and compression may wait for the disk.
//!
//! Owns its own view of the roots. Returns bytes and facts, never a descriptor.

use std::sync::Arc;

use files::Warmed;
use files::absence::FileFailure;
use files::disk::Disk;
use files::job::{LookupResult, PathContent};
use runtime::helper::{HelperHandler, Onward, send_patiently};
use runtime::mailbox::Endpoint;

use crate::message::{FoundFile, LookUp, Mailbox, Message, ToFileHelper, ToScheduler, WarmFor};
use crate::site_data::SiteData;

/// One file helper.
pub struct FileHelper {
    disk: Option<(Arc<SiteData>, Disk)>,
}

impl FileHelper {
    /// A helper that opens the roots of a site when it gets the first job for them.
    pub fn new() -> Self {
        Self { disk: None }
    }

    /// The opened roots of this site.
    fn disk_of(&mut self, site: &Arc<SiteData>) -> Option<&mut Disk> {
        let known = self.disk.as_ref().is_some_and(|(of, _)| Arc::ptr_eq(of, site));
        if !known {
            self.disk = Disk::open(&site.all_roots()).ok().map(|disk| (Arc::clone(site), disk));
        }
        self.disk.as_mut().map(|(_, disk)| disk)
    }

    /// The result of a job or of reading a region; `None` for a message that is not for file helpers.
    pub fn answer(&mut self, message: Message) -> Option<Message> {
        let Message::FileHelper(order) = message else { return None };
        Some(self.carry_out(order).into())
    }

    fn carry_out(&mut self, order: ToFileHelper) -> ToScheduler {
        match order {
            ToFileHelper::LookUp(look_up) => {
                let LookUp { site, job } = *look_up;
                let found = match self.disk_of(&site) {
                    Some(disk) => disk.look_up(&job),
                    None => LookupResult::Content(PathContent::Failed(FileFailure::Storage)),
                };
                ToScheduler::Found(Box::new(FoundFile { site, job, found }))
            }
            ToFileHelper::Warm(warm_for) => {
                let WarmFor { site, process, warm } = *warm_for;
                let warmed = match self.disk_of(&site) {
                    Some(disk) => disk.warm(&warm),
                    None => Warmed::Failed(FileFailure::Storage),
                };
                ToScheduler::Warmed(process, warmed)
            }
        }
    }
}

impl Default for FileHelper {
    fn default() -> Self {
        Self::new()
    }
}

impl HelperHandler<Message> for FileHelper {
    fn on_message(&mut self, from: Endpoint, message: Message, mailbox: &mut Mailbox) -> Onward {
        let Some(answer) = self.answer(message) else { return Onward::Wait };
        // If it is given back there is no receiver: a request that waits for it reaches its answer deadline.
        let _nobody_turns = send_patiently(mailbox, from, answer);
        Onward::Wait
    }
}
