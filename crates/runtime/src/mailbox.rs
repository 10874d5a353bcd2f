//! Mailboxes: how endpoints communicate. One bounded ring per ordered pair, one wake-up per
//! sleeper.
//!
//! Owns the rings and the wake descriptors of one endpoint. Messages are visible when they are
//! sent; wake-ups wait for [`Mailbox::flush`] at the end of the turn, so many messages cost one,
//! and only a sleeping endpoint is woken. Never blocks: a full ring returns the message.

use std::io;
use std::sync::Arc;

use sys::ring::{Consumer, Producer, ring};
use sys::wake::{SleepMark, WakeSource, Waker};

use crate::limits::{ENDPOINTS, MAILBOX_MESSAGES};

/// One member of the mesh, a scheduler or a helper thread, by its number in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint(pub u16);

impl Endpoint {
    fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The role of an endpoint. Helpers talk to schedulers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Talks to every endpoint.
    Scheduler,
    /// Talks to schedulers.
    Helper,
}

/// How sleeping endpoints are woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waking {
    /// Through a wake descriptor for each.
    Descriptors,
    /// Not at all: the program that drives the endpoints visits each of them (the simulator).
    Driven,
}

metric::counted! {
    /// The counters of an endpoint.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct MailCounters {
        /// Messages sent to other threads.
        pub sent: u64 = Counter(Count, "mail.sent", "mail_sent"),
        /// Messages received from other threads.
        pub received: u64 = Counter(Count, "mail.received", "mail_received"),
        /// Messages for which another thread had no room.
        pub full: u64 = Counter(Count, "mail.full", "mail_full"),
        /// Times another thread was woken.
        pub wakes_issued: u64 = Counter(Count, "mail.wakes_issued", "mail_wakes_issued"),
        /// Times another thread was awake already.
        pub wakes_coalesced: u64 = Counter(Count, "mail.wakes_coalesced", "mail_wakes_coalesced"),
        /// Most messages taken in one turn.
        pub taken_max: u64 = Gauge(Count, "mail.taken_max", "mail_taken_max"),
    }
}

struct Neighbour<M> {
    role: Role,
    outgoing: Option<Producer<M>>,
    incoming: Option<Consumer<M>>,
    mark: Arc<SleepMark>,
    waker: Option<Waker>,
    /// Something was sent since the last flush.
    touched: bool,
}

/// The mailbox of one endpoint.
///
/// ```
/// use runtime::mailbox::{Endpoint, Role, Waking, mesh};
///
/// let seats = mesh::<&str>(&[Role::Scheduler, Role::Scheduler], Waking::Driven)?;
/// let mut mailboxes = seats.into_iter().map(|seat| seat.mailbox);
/// let (mut one, mut other) = (mailboxes.next().unwrap(), mailboxes.next().unwrap());
/// assert_eq!(one.send(Endpoint(1), "hello"), Ok(()));
/// assert_eq!(other.take(&mut 0), Some((Endpoint(0), "hello")));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Mailbox<M> {
    endpoint: Endpoint,
    neighbours: Vec<Neighbour<M>>,
    any_touched: bool,
    own_mark: Arc<SleepMark>,
    counters: MailCounters,
}

/// One endpoint's part of a mesh, for the thread that will own it.
pub struct Seat<M> {
    /// Its mailbox.
    pub mailbox: Mailbox<M>,
    /// What wakes it; `None` if the mesh is driven.
    pub wake: Option<WakeSource>,
}

/// Makes the mailboxes of all endpoints and their wake descriptors, before the descriptor tables are separated.
pub fn mesh<M: Send>(roles: &[Role], waking: Waking) -> io::Result<Vec<Seat<M>>> {
    if roles.len() > ENDPOINTS {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} endpoints asked for, {ENDPOINTS} is the limit", roles.len()),
        ));
    }
    let marks: Vec<Arc<SleepMark>> = roles.iter().map(|_| Arc::new(SleepMark::new())).collect();
    let mut wakers = Vec::with_capacity(roles.len());
    let mut sources = Vec::with_capacity(roles.len());
    for _ in roles {
        match waking {
            Waking::Driven => {
                wakers.push(None);
                sources.push(None);
            }
            Waking::Descriptors => {
                let (waker, source) = sys::wake::wake_pair()?;
                wakers.push(Some(waker));
                sources.push(Some(source));
            }
        }
    }
    let mut rows: Vec<Vec<Neighbour<M>>> = roles
        .iter()
        .map(|_| {
            let neighbour =
                |((role, mark), waker): ((&Role, &Arc<SleepMark>), &Option<Waker>)| Neighbour {
                    role: *role,
                    outgoing: None,
                    incoming: None,
                    mark: Arc::clone(mark),
                    waker: waker.clone(),
                    touched: false,
                };
            roles.iter().zip(&marks).zip(&wakers).map(neighbour).collect()
        })
        .collect();
    for (from, from_role) in roles.iter().enumerate() {
        for (to, to_role) in roles.iter().enumerate() {
            if from != to && (*from_role == Role::Scheduler || *to_role == Role::Scheduler) {
                let (producer, consumer) = ring(MAILBOX_MESSAGES);
                rows[from][to].outgoing = Some(producer);
                rows[to][from].incoming = Some(consumer);
            }
        }
    }
    let mailbox = |(index, (neighbours, source))| {
        let own_mark = Arc::clone(&marks[index]);
        let endpoint = Endpoint(u16::try_from(index).expect("ENDPOINTS fits u16"));
        let counters = MailCounters::default();
        let mailbox = Mailbox { endpoint, neighbours, any_touched: false, own_mark, counters };
        Seat { mailbox, wake: source }
    };
    Ok(rows.into_iter().zip(sources).enumerate().map(mailbox).collect())
}

impl<M: Send> Mailbox<M> {
    /// The endpoint that owns this mailbox.
    pub fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    /// The schedulers it can send to: all others.
    pub fn schedulers(&self) -> impl Iterator<Item = Endpoint> {
        let reached = self.neighbours.iter().enumerate().filter(|(_, neighbour)| {
            neighbour.role == Role::Scheduler && neighbour.outgoing.is_some()
        });
        reached.filter_map(|(index, _)| u16::try_from(index).ok().map(Endpoint))
    }

    /// The counters.
    pub fn counters(&self) -> MailCounters {
        self.counters
    }

    /// The waker of each endpoint of the mesh.
    pub(crate) fn wakers(&self) -> impl Iterator<Item = Waker> {
        self.neighbours.iter().filter_map(|neighbour| neighbour.waker.clone())
    }

    /// Converts a part into a message and sends it, for a sender that does not know the whole message type; returns a refused part as [`send`](Self::send) does.
    pub fn send_part<P>(&mut self, to: Endpoint, part: P) -> Result<(), P>
    where
        M: From<P> + TryInto<P>,
    {
        match self.send(to, part.into()) {
            Ok(()) => Ok(()),
            // The message was made from a part, so it converts back.
            Err(message) => message.try_into().map_or(Ok(()), Err),
        }
    }

    /// Sends a message. Gives it back if the ring is full or there is no ring to that endpoint.
    pub fn send(&mut self, to: Endpoint, message: M) -> Result<(), M> {
        let Some(neighbour) = self.neighbours.get_mut(to.index()) else { return Err(message) };
        let Some(outgoing) = &mut neighbour.outgoing else { return Err(message) };
        match outgoing.push(message) {
            Ok(()) => {
                neighbour.touched = true;
                self.any_touched = true;
                self.counters.sent += 1;
                Ok(())
            }
            Err(message) => {
                self.counters.full += 1;
                Err(message)
            }
        }
    }

    /// Wakes those endpoints that sleep and have got a message.
    #[inline]
    pub fn flush(&mut self) {
        if self.any_touched {
            self.wake_touched();
        }
    }

    fn wake_touched(&mut self) {
        self.any_touched = false;
        for neighbour in &mut self.neighbours {
            if !std::mem::take(&mut neighbour.touched) {
                continue;
            }
            if neighbour.mark.is_asleep_then_take() {
                self.counters.wakes_issued += 1;
                if let Some(waker) = &neighbour.waker {
                    waker.wake();
                }
            } else {
                self.counters.wakes_coalesced += 1;
            }
        }
    }

    /// Takes one message. Endpoints are visited from number `from` on, and `from` is set to the sender's number.
    pub fn take(&mut self, from: &mut usize) -> Option<(Endpoint, M)> {
        while let Some(neighbour) = self.neighbours.get_mut(*from) {
            if let Some(message) = neighbour.incoming.as_mut().and_then(Consumer::pop) {
                self.counters.received += 1;
                let sender = Endpoint(u16::try_from(*from).expect("ENDPOINTS fits u16"));
                return Some((sender, message));
            }
            *from += 1;
        }
        None
    }

    /// Records how many messages one turn took.
    pub(crate) fn count_taken(&mut self, taken: u64) {
        self.counters.taken_max = self.counters.taken_max.max(taken);
    }

    /// Whether a message waits.
    #[inline]
    pub fn has_messages(&self) -> bool {
        self.neighbours.iter().any(|neighbour| {
            neighbour.incoming.as_ref().is_some_and(|incoming| !incoming.is_empty())
        })
    }

    /// Announces that this endpoint is about to sleep. `false`: a message has arrived, so do not.
    pub fn prepare_to_sleep(&mut self) -> bool {
        self.own_mark.raise();
        if self.has_messages() {
            self.own_mark.lower();
            return false;
        }
        true
    }

    /// Announces that this endpoint is awake.
    pub fn wake_up(&mut self) {
        self.own_mark.lower();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Vec<Mailbox<u32>> {
        let roles = [Role::Scheduler, Role::Helper, Role::Helper];
        mesh(&roles, Waking::Driven).unwrap().into_iter().map(|seat| seat.mailbox).collect()
    }

    #[test]
    fn messages_arrive_in_order_and_name_their_sender() {
        let mut boxes = three();
        for number in 0..5 {
            boxes[1].send(Endpoint(0), number).unwrap();
        }
        boxes[2].send(Endpoint(0), 100).unwrap();
        let mut from = 0;
        let mut got = Vec::new();
        while let Some((sender, message)) = boxes[0].take(&mut from) {
            got.push((sender.0, message));
        }
        assert_eq!(got, vec![(1, 0), (1, 1), (1, 2), (1, 3), (1, 4), (2, 100)]);
    }

    #[test]
    fn a_full_ring_gives_the_message_back_and_is_counted() {
        let mut boxes = three();
        for number in 0..MAILBOX_MESSAGES as u32 {
            boxes[1].send(Endpoint(0), number).unwrap();
        }
        assert_eq!(boxes[1].send(Endpoint(0), 7), Err(7));
        assert_eq!(boxes[1].counters().full, 1);
    }

    #[test]
    fn helpers_have_no_ring_between_them() {
        let mut boxes = three();
        assert_eq!(boxes[1].send(Endpoint(2), 1), Err(1));
        assert_eq!(boxes[1].send(Endpoint(9), 1), Err(1));
    }

    #[test]
    fn many_messages_to_a_sleeper_cost_one_wake_up() {
        let mut boxes = three();
        assert!(boxes[0].prepare_to_sleep());
        for round in 0..3 {
            boxes[1].send(Endpoint(0), round).unwrap();
            boxes[1].send(Endpoint(0), round).unwrap();
            boxes[1].flush();
        }
        let counters = boxes[1].counters();
        assert_eq!((counters.wakes_issued, counters.wakes_coalesced), (1, 2));
        boxes[0].wake_up();
        assert!(!boxes[0].prepare_to_sleep(), "messages wait");
    }
}
