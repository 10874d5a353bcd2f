//! Posting: a process, or the handler of a message, appends bytes to the output of other processes.
//! Broadcasts use it.
//!
//! Owns how bytes get into the output queue of a process that is not running, and the limit of that
//! queue. Posted bytes are sent at the end of the turn in one write, or earlier together with the
//! process's own output.

use std::rc::Rc;

use crate::outbox::{Outbox, SpareOutboxes};
use crate::posted::{PostNumber, Posted};
use crate::process::{Flags, Mode, Process};
use crate::slots::{ProcessId, Slots};

/// Why bytes were not queued.
///
/// Returned by [`ServiceContext::queue`](crate::service::ServiceContext::queue) and
/// [`Fan::send`](crate::fan::Fan::send).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The process has ended or is about to end.
    Gone,
    /// With these bytes, more than the bound would wait for the peer.
    Behind,
}

/// The part of a process that posting may change.
pub(crate) struct Lane<'a> {
    outbox: &'a mut Option<Box<Outbox>>,
    lone_post: &'a mut Option<PostNumber>,
    flags: &'a mut Flags,
}

/// A table of processes, independent of the types of sockets and states, which contexts of a service do not know.
pub(crate) trait Lanes {
    /// The lane of a process that accepts output; `None` if it has ended or is about to end.
    fn lane(&mut self, id: ProcessId) -> Option<Lane<'_>>;
}

impl<K, T> Lanes for Slots<Process<K, T>> {
    fn lane(&mut self, id: ProcessId) -> Option<Lane<'_>> {
        let process = self.lookup(id)?;
        match process.mode {
            Mode::Reading | Mode::Parked | Mode::Collecting => Some(Lane {
                outbox: &mut process.outbox,
                lone_post: &mut process.lone_post,
                flags: &mut process.flags,
            }),
            Mode::Connecting | Mode::Finishing | Mode::Lingering | Mode::Discarding => None,
        }
    }
}

/// The means by which a service posts.
pub(crate) struct Post<'a> {
    pub(crate) lanes: &'a mut dyn Lanes,
    pub(crate) spare_outboxes: &'a mut SpareOutboxes,
    pub(crate) posted: &'a mut Posted,
}

impl Post<'_> {
    pub(crate) fn queue(
        &mut self,
        to: ProcessId,
        bytes: &Rc<[u8]>,
        bound: usize,
    ) -> Result<(), Refused> {
        let Lane { outbox, lone_post, flags } = self.lanes.lane(to).ok_or(Refused::Gone)?;
        let nothing_waits = outbox.is_none() && lone_post.is_none();
        if nothing_waits && let Some(number) = self.posted.number(bytes) {
            *lone_post = Some(number);
        } else {
            let outbox = outbox.get_or_insert_with(|| self.spare_outboxes.take());
            if let Some(number) = lone_post.take() {
                outbox.post(self.posted.string(number));
            }
            if !nothing_waits && outbox.queued_bytes() + bytes.len() > bound {
                return Err(Refused::Behind);
            }
            outbox.post(bytes);
        }
        if !flags.has(Flags::POSTED) {
            flags.set(Flags::POSTED);
            self.posted.processes.push(to);
        }
        Ok(())
    }
}
