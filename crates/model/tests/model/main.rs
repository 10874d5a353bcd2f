//! Every interleaving of endpoints that send, answer and sleep: no wake-up is lost, and what was sent first is taken
//! first.
//!
//! A wake-up that is lost leaves a thread in a wait that nothing ends, which loom reports as a
//! deadlock. `LOOM_MAX_PREEMPTIONS` sets how often a thread may be interrupted where it could have
//! gone on; without a bound loom would try every order of steps that do not touch each other.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

use std::mem::ManuallyDrop;

use loom::thread;
use model::WakeSource;
use model::mailbox::{Endpoint, EndpointRole, Mailbox, MailboxSeat, Waking, mesh};

/// Interruptions of each execution, unless the environment sets them: a model of two threads takes a second, one of
/// three as long.
const OF_TWO: usize = 2;
const OF_THREE: usize = 1;

fn explore(interruptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(interruptions));
    builder.check(model);
}

/// An endpoint that turns like a scheduler or rests like a helper thread.
struct Actor {
    role: EndpointRole,
    /// Never dropped: the last steps of a ring would be steps of the model.
    mailbox: ManuallyDrop<Mailbox<u32>>,
    wake: WakeSource,
}

impl Actor {
    /// As `Epoll::wait`: it drains before it returns, while the mark may still be raised.
    fn poll(wake: &WakeSource) {
        wake.drain();
    }

    /// The steps of a scheduler between two turns, or of a helper between two messages.
    fn wait(&mut self) {
        let Self { mailbox, wake, .. } = self;
        match self.role {
            EndpointRole::Scheduler if mailbox.has_messages() => Self::poll(wake),
            EndpointRole::Scheduler => {
                let slept = mailbox.sleep(|| {
                    wake.wait();
                    wake.drain();
                });
                if slept.is_none() {
                    Self::poll(wake);
                }
            }
            EndpointRole::Helper => {
                mailbox.sleep(|| wake.wait());
                wake.drain();
            }
        }
    }

    /// Turns until this many messages were taken.
    fn take(&mut self, messages: usize) -> Vec<u32> {
        let mut taken = Vec::new();
        loop {
            while let Some((_, message)) = self.mailbox.take() {
                taken.push(message);
                if taken.len() == messages {
                    return taken;
                }
            }
            self.wait();
        }
    }

    fn send(&mut self, to: u16, message: u32) {
        self.mailbox.send(Endpoint(to), message).unwrap();
    }
}

fn actors<const COUNT: usize>(roles: [EndpointRole; COUNT]) -> [Actor; COUNT] {
    let seats = mesh(&roles, Waking::Descriptors).unwrap().into_iter().zip(roles);
    let actor = |(MailboxSeat { mailbox, wake }, role)| Actor {
        role,
        mailbox: ManuallyDrop::new(mailbox),
        wake: wake.unwrap(),
    };
    let actors: Vec<_> = seats.map(actor).collect();
    actors.try_into().unwrap_or_else(|_| panic!("one for each role"))
}

/// One asks, the other answers, and each sleeps until it has what it waits for.
fn ask_and_answer(roles: [EndpointRole; 2], rounds: u32) {
    explore(OF_TWO, move || {
        let [mut asking, mut answering] = actors(roles);
        let answers = thread::spawn(move || {
            for _ in 0..rounds {
                let question = answering.take(1)[0];
                answering.send(0, question + 1);
            }
            answering.mailbox.flush();
        });
        for round in 0..rounds {
            asking.send(1, round);
            assert_eq!(asking.take(1), [round + 1]);
        }
        answers.join().unwrap();
    });
}

#[test]
fn a_scheduler_gets_the_answer_of_another() {
    ask_and_answer([EndpointRole::Scheduler, EndpointRole::Scheduler], 1);
}

#[test]
fn a_scheduler_gets_two_answers_of_another() {
    ask_and_answer([EndpointRole::Scheduler, EndpointRole::Scheduler], 2);
}

#[test]
fn a_scheduler_gets_the_answer_of_a_helper() {
    ask_and_answer([EndpointRole::Scheduler, EndpointRole::Helper], 2);
}

#[test]
fn both_ask_and_both_answer() {
    explore(OF_TWO, || {
        let [mut one, mut other] = actors([EndpointRole::Scheduler, EndpointRole::Scheduler]);
        let thread = thread::spawn(move || {
            other.send(0, 1);
            other.take(1);
            other.send(0, 2);
            other.mailbox.flush();
        });
        one.send(1, 1);
        assert_eq!(one.take(2), [1, 2]);
        thread.join().unwrap();
    });
}

#[test]
fn two_senders_wake_one_sleeper() {
    explore(OF_THREE, || {
        let [mut sleeper, mut first, mut second] =
            actors([EndpointRole::Scheduler, EndpointRole::Scheduler, EndpointRole::Helper]);
        let threads = [
            thread::spawn(move || {
                first.send(0, 1);
                first.mailbox.flush();
            }),
            thread::spawn(move || {
                second.send(0, 2);
                second.mailbox.flush();
            }),
        ];
        let mut taken = sleeper.take(2);
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// The first tells the third, then the second; the second tells the third.
#[test]
fn nothing_arrives_after_its_consequences() {
    for sleeper in [0, 1, 2] {
        explore(OF_THREE, move || {
            let actors =
                actors([EndpointRole::Scheduler, EndpointRole::Scheduler, EndpointRole::Scheduler]);
            let mut actors = actors.map(Some);
            let mut take = |number: usize| actors[number].take().unwrap();
            let (mut receiver, mut first, mut second) =
                (take(sleeper), take((sleeper + 1) % 3), take((sleeper + 2) % 3));
            let to = u16::try_from(sleeper).unwrap();
            let next = second.mailbox.endpoint().0;
            let threads = [
                thread::spawn(move || {
                    first.send(to, 1);
                    first.send(next, 1);
                    first.mailbox.flush();
                }),
                thread::spawn(move || {
                    second.take(1);
                    second.send(to, 2);
                    second.mailbox.flush();
                }),
            ];
            assert_eq!(receiver.take(2), [1, 2]);
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }
}
