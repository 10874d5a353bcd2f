//! The thread that has the directories of all caches.
//!
//! Owns that nobody else writes there, and that a scheduler's orders are carried out in their order. One thread, so
//! that two schedulers never have to agree on a file.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ahash::HashMap;
use runtime::diagnostic::{self, Level};
use runtime::helper::{HelperHandler, Onward, send_patiently};
use runtime::mailbox::Endpoint;

use super::place::Place;
use crate::disk_order::{DiskAnswer, DiskFound, DiskOrder, DiskOrders, DiskReport, Loss};
use crate::message::{Mailbox, Message, ToCacheDisk, ToControl, ToScheduler};

/// The thread.
pub(crate) struct CacheDisk {
    places: HashMap<Arc<Path>, Place>,
}

impl CacheDisk {
    /// Opens the directories.
    pub(crate) fn new(directories: &[Arc<Path>]) -> Self {
        let mut places = HashMap::default();
        for directory in directories {
            match Place::open(directory) {
                Ok(place) => {
                    places.insert(Arc::clone(directory), place);
                }
                // It was opened at the start.
                Err(error) => diagnostic::write(
                    Level::Error,
                    format_args!(
                        "the cache in `{}` stores nothing on its disk: {error}",
                        directory.display()
                    ),
                ),
            }
        }
        Self { places }
    }

    fn carry_out(&mut self, from: Endpoint, orders: DiskOrders) -> Vec<DiskAnswer> {
        let DiskOrders { now, orders } = orders;
        let mut answers = Vec::new();
        for (directory, order) in orders {
            if let DiskOrder::Purge(pattern) = &order {
                self.places.values_mut().for_each(|place| place.purge(pattern));
                continue;
            }
            let Some(place) = self.places.get_mut(&directory) else {
                answers.extend(without_place(&order));
                continue;
            };
            match order {
                DiskOrder::Look { look, key, text, request, most } => {
                    let found = place.look((&key, text), &request, (most, now));
                    answers.push(DiskAnswer::Looked(look, found));
                }
                DiskOrder::Begin { save, record, is_long } => {
                    answers.extend(place.begin((from, save), &record, (is_long, now)));
                }
                DiskOrder::Write(save, bytes) => answers.push(place.write((from, save), &bytes)),
                DiskOrder::End(save) => answers.push(place.end((from, save))),
                DiskOrder::Abort(save) => place.abort((from, save)),
                DiskOrder::Refresh(name, record) => place.refresh(&name, &record),
                DiskOrder::Forget(text) => place.forget(text),
                DiskOrder::Limit(bytes, files) => place.limit(bytes, files),
                DiskOrder::Purge(_) => {}
            }
        }
        answers
    }

    fn report(&self) -> DiskReport {
        let mut sum = DiskReport::default();
        for one in self.places.values().map(Place::report) {
            sum.bytes += one.bytes;
            sum.files += one.files;
            sum.evictions += one.evictions;
            sum.damaged += one.damaged;
        }
        sum
    }
}

fn without_place(order: &DiskOrder) -> Option<DiskAnswer> {
    match order {
        DiskOrder::Look { look, .. } => Some(DiskAnswer::Looked(*look, DiskFound::Nothing)),
        DiskOrder::Begin { save, .. } | DiskOrder::Write(save, _) | DiskOrder::End(save) => {
            Some(DiskAnswer::Lost(*save, Loss::Failed))
        }
        _ => None,
    }
}

impl HelperHandler<Message> for CacheDisk {
    fn on_message(&mut self, from: Endpoint, message: Message, mailbox: &mut Mailbox) -> Onward {
        let Message::CacheDisk(message) = message else { return Onward::Wait };
        let answer = match message {
            ToCacheDisk::Orders(orders) => {
                ToScheduler::CacheDisk(Box::new(self.carry_out(from, *orders))).into()
            }
            ToCacheDisk::AskReport => ToControl::CacheDisk(self.report()).into(),
            ToCacheDisk::Stop => return Onward::Stop,
        };
        // A scheduler has at most two unanswered messages, so its mailbox has room.
        let _nobody_turns = send_patiently(mailbox, from, answer);
        Onward::Wait
    }

    fn on_rest(&mut self, _mailbox: &mut Mailbox) -> Option<Duration> {
        let mut goes_on = false;
        for place in self.places.values_mut() {
            goes_on |= place.sweep();
        }
        goes_on.then_some(Duration::ZERO)
    }
}
