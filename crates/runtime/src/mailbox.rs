//! Mailboxes: how endpoints communicate. One bounded ring per ordered pair, one wake-up per
//! sleeper.
//!
//! Owns the rings and the wake descriptors of one endpoint. Messages are visible when they are
//! sent; wake-ups wait for [`Mailbox::flush`] at the end of the turn, so many messages cost one,
//! and only a sleeping endpoint is woken. Never blocks: a full ring returns the message.
//!
//! Messages from different endpoints are taken in the order in which they were sent: a message that
//! was sent before another, as far as anybody can tell, is taken before it. So what one scheduler
//! tells another never arrives after its consequences. `incoming` has the reason.

use std::io;
use std::sync::Arc;

use crate::incoming::{Incoming, Stamped};
use crate::limits::{ENDPOINTS, MAILBOX_MESSAGES};
use crate::threads::{
    AtomicU64, Ordering, Producer, SleepMark, WakeSource, Waker, ring, wake_pair,
};

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
pub enum EndpointRole {
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
    role: EndpointRole,
    outgoing: Option<Producer<Stamped<M>>>,
    incoming: Option<Incoming<M>>,
    mark: Arc<SleepMark>,
    waker: Option<Waker>,
    /// Something was sent since the last flush.
    touched: bool,
}

/// The mailbox of one endpoint.
///
/// ```
/// use runtime::mailbox::{Endpoint, EndpointRole, Waking, mesh};
///
/// let seats = mesh::<&str>(&[EndpointRole::Scheduler, EndpointRole::Scheduler], Waking::Driven)?;
/// let mut mailboxes = seats.into_iter().map(|seat| seat.mailbox);
/// let (mut one, mut other) = (mailboxes.next().unwrap(), mailboxes.next().unwrap());
/// assert_eq!(one.send(Endpoint(1), "hello"), Ok(()));
/// assert_eq!(other.take(), Some((Endpoint(0), "hello")));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Mailbox<M> {
    endpoint: Endpoint,
    neighbours: Vec<Neighbour<M>>,
    any_touched: bool,
    /// Messages that were seen and not taken.
    seen: usize,
    own_mark: Arc<SleepMark>,
    /// The number of the next sending, of all endpoints of the mesh.
    next_stamp: Arc<AtomicU64>,
    counters: MailCounters,
}

/// One endpoint's part of a mesh, for the thread that will own it.
pub struct MailboxSeat<M> {
    /// Its mailbox.
    pub mailbox: Mailbox<M>,
    /// The descriptor that wakes it; `None` if the mesh is driven.
    pub wake: Option<WakeSource>,
}

/// Makes the mailboxes of all endpoints and their wake descriptors, before the descriptor tables are separated.
pub fn mesh<M: Send>(roles: &[EndpointRole], waking: Waking) -> io::Result<Vec<MailboxSeat<M>>> {
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
                let (waker, source) = wake_pair()?;
                wakers.push(Some(waker));
                sources.push(Some(source));
            }
        }
    }
    let mut rows: Vec<Vec<Neighbour<M>>> = roles
        .iter()
        .map(|_| {
            let neighbour =
                |((role, mark), waker): ((&EndpointRole, &Arc<SleepMark>), &Option<Waker>)| {
                    Neighbour {
                        role: *role,
                        outgoing: None,
                        incoming: None,
                        mark: Arc::clone(mark),
                        waker: waker.clone(),
                        touched: false,
                    }
                };
            roles.iter().zip(&marks).zip(&wakers).map(neighbour).collect()
        })
        .collect();
    for (from, from_role) in roles.iter().enumerate() {
        for (to, to_role) in roles.iter().enumerate() {
            if from != to
                && (*from_role == EndpointRole::Scheduler || *to_role == EndpointRole::Scheduler)
            {
                let (producer, consumer) = ring(MAILBOX_MESSAGES);
                rows[from][to].outgoing = Some(producer);
                rows[to][from].incoming = Some(Incoming::new(consumer));
            }
        }
    }
    let next_stamp = Arc::new(AtomicU64::new(0));
    let mailbox = |(index, (neighbours, source))| {
        let next_stamp = Arc::clone(&next_stamp);
        let own_mark = Arc::clone(&marks[index]);
        let endpoint = Endpoint(u16::try_from(index).expect("ENDPOINTS fits u16"));
        let counters = MailCounters::default();
        let (any_touched, seen) = (false, 0);
        let mailbox =
            Mailbox { endpoint, neighbours, any_touched, seen, own_mark, next_stamp, counters };
        MailboxSeat { mailbox, wake: source }
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
            neighbour.role == EndpointRole::Scheduler && neighbour.outgoing.is_some()
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

    /// Converts a part into a message and sends it, for a sender that does not know the whole message type; returns a
    /// refused part as [`send`](Self::send) does.
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
        let stamp = self.next_stamp.fetch_add(1, Ordering::AcqRel);
        match outgoing.push(Stamped { stamp, message }) {
            Ok(()) => {
                neighbour.touched = true;
                self.any_touched = true;
                self.counters.sent += 1;
                Ok(())
            }
            Err(returned) => {
                self.counters.full += 1;
                Err(returned.message)
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

    /// Takes the message that was sent first among those that wait.
    #[inline]
    pub fn take(&mut self) -> Option<(Endpoint, M)> {
        if self.seen == 0 {
            self.look();
        }
        if self.seen == 0 { None } else { self.take_seen() }
    }

    #[inline(never)]
    fn take_seen(&mut self) -> Option<(Endpoint, M)> {
        loop {
            let first = self.first()?;
            let incoming = self.neighbours.get_mut(first).and_then(|of| of.incoming.as_mut())?;
            if let Some(message) = incoming.take_sure() {
                self.seen -= 1;
                self.counters.received += 1;
                let sender = Endpoint(u16::try_from(first).expect("ENDPOINTS fits u16"));
                return Some((sender, message));
            }
            // Messages that were sent before this one can be seen by now.
            self.look();
        }
    }

    /// The sender of the message with the smallest stamp among those that were seen.
    fn first(&mut self) -> Option<usize> {
        let mut first: Option<(u64, usize)> = None;
        for (index, neighbour) in self.neighbours.iter_mut().enumerate() {
            if let Some(stamp) = neighbour.incoming.as_mut().and_then(Incoming::stamp)
                && first.is_none_or(|(known, _)| stamp < known)
            {
                first = Some((stamp, index));
            }
        }
        first.map(|(_, index)| index)
    }

    /// Looks into all rings for how many messages wait.
    #[inline]
    fn look(&mut self) {
        let incoming = self.neighbours.iter_mut().filter_map(|of| of.incoming.as_mut());
        self.seen = incoming.map(Incoming::look).sum();
    }

    /// Records how many messages one turn took.
    pub(crate) fn count_taken(&mut self, taken: u64) {
        self.counters.taken_max = self.counters.taken_max.max(taken);
    }

    /// Whether a message waits.
    #[inline]
    pub fn has_messages(&self) -> bool {
        self.neighbours
            .iter()
            .any(|neighbour| neighbour.incoming.as_ref().is_some_and(Incoming::has_messages))
    }

    /// Sleeps in this call of the kernel, which a wake-up ends; `None`: a message has arrived, so it did not. Those who
    /// were sent something are woken first: while this endpoint sleeps, nobody else would do it.
    pub fn sleep<T>(&mut self, wait: impl FnOnce() -> T) -> Option<T> {
        self.flush();
        self.own_mark.raise();
        let slept = if self.has_messages() { None } else { Some(wait()) };
        self.own_mark.lower();
        slept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Vec<Mailbox<u32>> {
        let roles = [EndpointRole::Scheduler, EndpointRole::Helper, EndpointRole::Helper];
        mesh(&roles, Waking::Driven).unwrap().into_iter().map(|seat| seat.mailbox).collect()
    }

    #[test]
    fn messages_arrive_in_order_and_name_their_sender() {
        let mut boxes = three();
        for number in 0..5 {
            boxes[1].send(Endpoint(0), number).unwrap();
        }
        boxes[2].send(Endpoint(0), 100).unwrap();
        let taken = std::iter::from_fn(|| boxes[0].take());
        let got: Vec<_> = taken.map(|(sender, message)| (sender.0, message)).collect();
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
        let [sleeper, sender, _] = boxes.as_mut_slice() else { panic!("three") };
        let slept = sleeper.sleep(|| {
            for round in 0..3 {
                sender.send(Endpoint(0), round).unwrap();
                sender.send(Endpoint(0), round).unwrap();
                sender.flush();
            }
        });
        assert_eq!(slept, Some(()));
        let counters = sender.counters();
        assert_eq!((counters.wakes_issued, counters.wakes_coalesced), (1, 2));
        assert_eq!(sleeper.sleep(|| ()), None, "messages wait");
    }

    #[test]
    fn messages_of_different_senders_are_taken_in_the_order_of_sending() {
        let mut boxes = three();
        for number in 0..9 {
            let sender = 1 + number as usize % 2;
            boxes[sender].send(Endpoint(0), number).unwrap();
        }
        let taken = std::iter::from_fn(|| boxes[0].take());
        let got: Vec<_> = taken.map(|(_, message)| message).collect();
        assert_eq!(got, (0..9).collect::<Vec<_>>());
    }

    #[test]
    fn sender_wakes_receivers_before_it_sleeps() {
        let mut boxes = three();
        let [sleeper, sender, _] = boxes.as_mut_slice() else { panic!("three") };
        let slept = sleeper.sleep(|| {
            sender.send(Endpoint(0), 1).unwrap();
            sender.sleep(|| ());
        });
        assert_eq!((slept, sender.counters().wakes_issued), (Some(()), 1));
    }
}
