//! Mailboxes between real threads: nothing is lost or out of order, and wake-ups are few.

use std::thread;

use runtime::limits::MAILBOX_MESSAGES;
use runtime::mailbox::{Endpoint, EndpointRole, MailCounters, MailboxSeat, Waking, mesh};

const SENDERS: usize = 3;
const MESSAGES: u64 = 20_000;

/// Sends numbered messages as fast as they are taken; retries if the ring is full.
fn send(seat: MailboxSeat<(usize, u64)>, number: usize) -> MailCounters {
    let MailboxSeat { mut mailbox, wake } = seat;
    let mut pending = 0;
    while pending < MESSAGES {
        match mailbox.send(Endpoint(0), (number, pending)) {
            Ok(()) => {
                pending += 1;
                // Turns of different lengths.
                if pending.is_multiple_of(1 + pending % 13) {
                    mailbox.flush();
                }
            }
            Err(returned) => {
                assert_eq!(returned, (number, pending), "the message comes back");
                mailbox.flush();
                thread::yield_now();
            }
        }
    }
    mailbox.flush();
    // Kept open until the receiver is done, for its last message.
    let wake = wake.unwrap();
    while !mailbox.has_messages() {
        mailbox.sleep(|| wake.wait(None));
        wake.drain();
    }
    mailbox.counters()
}

#[test]
fn many_threads_to_one_that_sleeps() {
    let mut roles = vec![EndpointRole::Scheduler];
    roles.resize(1 + SENDERS, EndpointRole::Helper);
    let mut seats = mesh(&roles, Waking::Descriptors).unwrap().into_iter();
    let MailboxSeat { mut mailbox, wake } = seats.next().unwrap();
    let wake = wake.unwrap();
    let senders = seats.enumerate().map(|(number, seat)| thread::spawn(move || send(seat, number)));
    let senders: Vec<_> = senders.collect();
    let mut next = [0; SENDERS];
    let mut raised = 0;
    loop {
        while let Some((sender, (number, message))) = mailbox.take() {
            assert_eq!(usize::from(sender.0), number + 1, "the sender is named");
            assert_eq!(message, next[number], "in order, none lost, none twice");
            next[number] += 1;
        }
        if next == [MESSAGES; SENDERS] {
            break;
        }
        // The mark may be taken between raising it and finding a message nevertheless: that is a wake-up, too.
        raised += 1;
        mailbox.sleep(|| wake.wait(None));
        wake.drain();
    }
    for sender in 0..SENDERS {
        let to = Endpoint(u16::try_from(sender + 1).unwrap());
        mailbox.send(to, (0, 0)).unwrap();
    }
    mailbox.flush();
    let counters = senders.into_iter().map(|sender| sender.join().unwrap());
    let counters: Vec<MailCounters> = counters.collect();
    let issued: u64 = counters.iter().map(|counters| counters.wakes_issued).sum();
    assert!(issued <= raised, "at most one wake-up each time: {issued} for {raised}");
    assert!(counters.iter().all(|counters| counters.sent == MESSAGES));
    assert_eq!(mailbox.counters().received, SENDERS as u64 * MESSAGES);
}

#[test]
fn a_full_ring_holds_nobody_else_up() {
    let roles = [EndpointRole::Scheduler, EndpointRole::Scheduler, EndpointRole::Scheduler];
    let mut boxes: Vec<_> =
        mesh(&roles, Waking::Driven).unwrap().into_iter().map(|seat| seat.mailbox).collect();
    let [first, second, third] = boxes.as_mut_slice() else { panic!("three") };
    for number in 0..MAILBOX_MESSAGES as u32 {
        first.send(Endpoint(2), number).unwrap();
    }
    assert_eq!(first.send(Endpoint(2), 7), Err(7), "the ring of this pair is full");
    assert_eq!(first.counters().full, 1);
    first.send(Endpoint(1), 8).unwrap();
    second.send(Endpoint(2), 9).unwrap();
    assert_eq!(third.take(), Some((Endpoint(0), 0)));
    first.send(Endpoint(2), 7).unwrap();
    let taken = std::iter::from_fn(|| third.take()).collect::<Vec<_>>();
    assert_eq!(taken.len(), MAILBOX_MESSAGES + 1);
    let last_sent = [(Endpoint(1), 9), (Endpoint(0), 7)];
    assert_eq!(taken.get(MAILBOX_MESSAGES - 1..), Some(&last_sent[..]));
}
