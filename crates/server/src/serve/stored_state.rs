//! The state of orders in the store: accounts, keys and certificates as records of a database that no client can name.
//!
//! Owns a seat among the threads of the server. From there the control thread of `acme` sends changes to the writer, as
//! schedulers do, and waits for the answer, as only it may; it reads from snapshots of its own.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use acme::RecordKeeper;
use runtime::helper::send_patiently;
use runtime::mailbox::{Endpoint, MailboxSeat};
use store::{Database, DatabaseChange, Executed, Order, StepOutcome, Store, StoreFailure, Value};

use crate::limits::ORDERS_STATE_WAIT;
use crate::message::{Message, OrderedBy, StoreOrders, ToScheduler, ToStoreWriter};

/// The name of the database. The configuration refuses names that begin with a dot, and `Store::databases` does not
/// have it.
pub(super) const DATABASE: &str = ".acme";

/// The state. Clones share it.
#[derive(Clone)]
pub(super) struct StoredState {
    store: Store,
    database: Database,
    writer: Endpoint,
    #[expect(
        clippy::disallowed_types,
        reason = "after a reload a control thread may end while the next one works; both may block"
    )]
    desk: Arc<std::sync::Mutex<Desk>>,
}

/// The seat, and the number of the last order.
struct Desk {
    seat: MailboxSeat<Message>,
    last: u64,
}

impl StoredState {
    /// The state in this store, if the store was opened for it.
    #[expect(clippy::disallowed_types, reason = "as above")]
    pub(super) fn of(store: &Store, writer: Endpoint, seat: MailboxSeat<Message>) -> Option<Self> {
        let desk = Arc::new(std::sync::Mutex::new(Desk { seat, last: 0 }));
        Some(Self { store: store.clone(), database: store.own_database(DATABASE)?, writer, desk })
    }

    /// Has a change made, and waits until it is.
    fn change(&self, change: DatabaseChange) -> io::Result<()> {
        let order = Order::of(self.database, change);
        // A thread that panicked has sent its order or not; the next one has another number.
        let mut desk = self.desk.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match desk.execute(self.writer, order)? {
            Executed::Done(outcomes) => {
                let misuse = outcomes.into_iter().find_map(|outcome| match outcome {
                    StepOutcome::Misuse(misuse) => Some(io::Error::other(misuse.to_string())),
                    _ => None,
                });
                misuse.map_or(Ok(()), Err)
            }
            Executed::Refused => Err(io::Error::other("the store refused it")),
        }
    }
}

impl Desk {
    fn execute(&mut self, writer: Endpoint, order: Order) -> io::Result<Executed> {
        let late = || {
            let text = format!("the store does not answer within {ORDERS_STATE_WAIT:?}");
            io::Error::new(io::ErrorKind::TimedOut, text)
        };
        self.last += 1;
        let waiting = vec![OrderedBy::State(self.last)];
        // None of these records expires.
        let orders = Box::new(StoreOrders { now_ms: 0, waiting, orders: vec![order] });
        let MailboxSeat { mailbox, wake } = &mut self.seat;
        let wake = wake.as_ref().expect("the mesh of a server has wake descriptors");
        send_patiently(mailbox, writer, ToStoreWriter::Orders(orders).into())
            .map_err(|_| late())?;
        let until = now() + ORDERS_STATE_WAIT;
        loop {
            while let Some((_, message)) = mailbox.take() {
                // An answer to an earlier order came too late for it.
                if let Some(executed) = answer_to(self.last, message) {
                    return executed.map_err(|failure| error_of(&failure));
                }
            }
            let left = until.saturating_duration_since(now());
            if left == Duration::ZERO {
                return Err(late());
            }
            if mailbox.sleep(|| wake.wait(Some(left))).is_some() {
                wake.drain();
            }
        }
    }
}

fn answer_to(number: u64, message: Message) -> Option<Result<Executed, StoreFailure>> {
    let Message::Scheduler(ToScheduler::Stored(stored)) = message else { return None };
    let of_it = |(by, _): &(OrderedBy, _)| *by == OrderedBy::State(number);
    stored.into_iter().find(of_it).map(|(_, executed)| executed)
}

fn error_of(failure: &StoreFailure) -> io::Error {
    let kind = match failure {
        StoreFailure::Full | StoreFailure::DiskFull | StoreFailure::LargerThanStore => {
            io::ErrorKind::StorageFull
        }
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, failure.to_string())
}

#[expect(clippy::disallowed_methods, reason = "the control thread of acme has no turn")]
fn now() -> Instant {
    Instant::now()
}

impl RecordKeeper for StoredState {
    fn read(&self, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let failed = |failure: StoreFailure| error_of(&failure);
        let snapshot = self.store.snapshot().map_err(failed)?;
        let record = snapshot.get(self.database, name.as_bytes(), 0).map_err(failed)?;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Ok(record.map(|record| record.bytes[..record.bytes.len().min(most)].to_vec()))
    }

    fn has(&self, name: &str) -> io::Result<bool> {
        Ok(self.read(name, 0)?.is_some())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.change(DatabaseChange::put(name.as_bytes(), Value::bytes(bytes)))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change(DatabaseChange::Delete(vec![name.as_bytes().into()]))
    }
}

impl fmt::Debug for StoredState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("StoredState").field("store", &self.store).finish_non_exhaustive()
    }
}
