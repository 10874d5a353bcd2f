//! A whole server in a simulated world: schedulers and helpers, run one by one in seeded order.
//!
//! Owns the order in which they run and the time. As a kernel would, it runs a scheduler only if
//! an event came for it or its own next time has come: one that forgets what it had to do hangs here. Does not
//! know the expected answers: the clients do.

use std::collections::VecDeque;
use std::net::SocketAddr;

use runtime::mailbox::{Endpoint, EndpointRole, Mailbox, Waking, mesh};
use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
use runtime::service::{CloseReason, Service};
use sys::pollset::{ListenOptions, Silence, Speaks};
use sys::socket::ListenAddress;
use world::{Faults, Random, Sim, World};

use crate::client::Client;

/// Turns of one world above which it counts as spinning.
///
/// Consequence: the test fails and names the seed.
const TURNS_MAXIMUM: u64 = 400_000;

/// Virtual time of one world above which it counts as hanging: longer than every deadline of the server.
const SPAN_MAXIMUM_NS: u64 = 900 * SECOND_NS;

pub(crate) const SECOND_NS: u64 = 1_000_000_000;
pub(crate) const MILLISECOND_NS: u64 = 1_000_000;

/// The address of the server in every world.
pub(crate) fn address() -> ListenAddress {
    ListenAddress::Tcp(SocketAddr::from(([10, 0, 0, 1], 80)))
}

/// The work of a helper on a message; `None` loses it.
pub(crate) type Errand<M> = Box<dyn FnMut(M) -> Option<M>>;

/// A helper thread's work, done by the test.
struct Helper<M> {
    mailbox: Mailbox<M>,
    errand: Errand<M>,
    latency_ns_maximum: u64,
    /// Answers and the times at which they are returned.
    held: VecDeque<(u64, Endpoint, M)>,
}

/// Whether all run in this pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    SomeAreLate,
    AllInTime,
}

/// The settings of a stage.
pub(crate) struct Setting {
    pub(crate) seed: u64,
    pub(crate) faults: Faults,
    pub(crate) schedulers: usize,
    pub(crate) scheduler: SchedulerSettings,
    pub(crate) first: Speaks,
    pub(crate) helper_latency_ns_maximum: u64,
}

impl Setting {
    /// One scheduler in a world without faults.
    pub(crate) fn quiet(seed: u64) -> Self {
        Self {
            seed,
            faults: Faults::none(),
            schedulers: 1,
            scheduler: SchedulerSettings { connections: 1000, ..SchedulerSettings::default() },
            first: Speaks::Either,
            helper_latency_ns_maximum: 0,
        }
    }
}

/// A server and its world.
pub(crate) struct Stage<S: Service> {
    pub(crate) world: World,
    pub(crate) random: Random,
    pub(crate) schedulers: Vec<Scheduler<Sim, S>>,
    helpers: Vec<Helper<S::Message>>,
    control: Mailbox<S::Message>,
    /// Listeners of each scheduler.
    listeners: usize,
    pub(crate) turns: u64,
    began_ns: u64,
}

impl<S: Service> Stage<S> {
    /// A server of services made by `make`; each gets the endpoints of its helpers.
    pub(crate) fn new(
        setting: &Setting,
        errands: Vec<Errand<S::Message>>,
        mut make: impl FnMut(usize, &[Endpoint]) -> S,
    ) -> Self {
        let world = World::new(setting.seed, setting.faults.clone());
        let mut roles = vec![EndpointRole::Scheduler; setting.schedulers];
        roles.resize(setting.schedulers + errands.len() + 1, EndpointRole::Helper);
        let seats = mesh(&roles, Waking::Driven).unwrap();
        let mut mailboxes: VecDeque<_> = seats.into_iter().map(|seat| seat.mailbox).collect();
        let endpoint = |number: usize| Endpoint(u16::try_from(number).unwrap());
        let helping: Vec<Endpoint> =
            (0..errands.len()).map(|number| endpoint(setting.schedulers + number)).collect();
        let listen = ListenOptions {
            address: address(),
            backlog: 1000,
            first: setting.first,
            silent: Silence::Trusted,
        };
        let schedulers = (0..setting.schedulers).map(|number| {
            let service = make(number, &helping);
            let mailbox = mailboxes.pop_front().unwrap();
            let pollset = world.pollset(number);
            let mut scheduler = Scheduler::new(pollset, service, mailbox, setting.scheduler);
            scheduler.listen(&listen).unwrap();
            scheduler
        });
        let schedulers: Vec<_> = schedulers.collect();
        let helpers = errands.into_iter().map(|errand| Helper {
            mailbox: mailboxes.pop_front().unwrap(),
            errand,
            latency_ns_maximum: setting.helper_latency_ns_maximum,
            held: VecDeque::new(),
        });
        let helpers: Vec<_> = helpers.collect();
        Self {
            began_ns: world.now_ns(),
            random: Random::new(!setting.seed),
            control: mailboxes.pop_front().unwrap(),
            listeners: 1,
            turns: 0,
            world,
            schedulers,
            helpers,
        }
    }

    /// Every scheduler listens at another address, too.
    pub(crate) fn listen_also(&mut self, address: ListenAddress) {
        let listen = ListenOptions {
            address,
            backlog: 1000,
            first: Speaks::Either,
            silent: Silence::Trusted,
        };
        for scheduler in &mut self.schedulers {
            scheduler.listen(&listen).unwrap();
        }
        self.listeners += 1;
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.world.now_ns()
    }

    /// Sends from the main thread to every scheduler.
    pub(crate) fn tell_all(&mut self, message: impl Fn() -> S::Message) {
        for number in 0..self.schedulers.len() {
            self.tell(number, message());
        }
    }

    /// Sends from the main thread to one scheduler.
    pub(crate) fn tell(&mut self, number: usize, message: S::Message) {
        let to = Endpoint(u16::try_from(number).unwrap());
        assert!(self.control.send(to, message).is_ok(), "a few orders fit");
    }

    /// Takes what was sent to the main thread.
    pub(crate) fn mail_to_control(&mut self) -> Vec<S::Message> {
        std::iter::from_fn(|| self.control.take().map(|(_, message)| message)).collect()
    }

    /// One round: all that have something to do run, in any order. Returns whether any had.
    pub(crate) fn round(&mut self, clients: &mut [Client]) -> bool {
        self.pass(clients, Pass::SomeAreLate) || self.pass(clients, Pass::AllInTime)
    }

    fn pass(&mut self, clients: &mut [Client], pass: Pass) -> bool {
        let now_ns = self.now_ns();
        let mut any = false;
        let parties = self.schedulers.len() + self.helpers.len() + clients.len();
        let mut order: Vec<usize> = (0..parties).collect();
        self.random.shuffle(&mut order);
        for party in order {
            // Sometimes a thread does not get the core.
            if pass == Pass::SomeAreLate && self.random.below(5) == 0 {
                continue;
            }
            let Some(other) = party.checked_sub(self.schedulers.len()) else {
                if self.is_due(party, now_ns) {
                    any = true;
                    self.turn(party);
                }
                continue;
            };
            any |= match other.checked_sub(self.helpers.len()) {
                None => self.help(other),
                Some(client) => clients[client].step(&self.world),
            };
        }
        any
    }

    /// A drained scheduler still receives mail, as in a launch, where it runs until all are drained.
    fn is_due(&self, number: usize, now_ns: u64) -> bool {
        let scheduler = &self.schedulers[number];
        let has_own_work = || {
            self.world.is_ready(number)
                || scheduler.next_due_ns().is_some_and(|due_ns| due_ns <= now_ns)
        };
        scheduler.has_mail() || !scheduler.is_finished() && has_own_work()
    }

    fn turn(&mut self, number: usize) {
        self.turns += 1;
        assert!(self.turns < TURNS_MAXIMUM, "it spins: {TURNS_MAXIMUM} turns");
        self.schedulers[number].turn(TurnWait::Forbidden).unwrap();
    }

    /// One helper takes a message or returns answers.
    fn help(&mut self, number: usize) -> bool {
        let now_ns = self.now_ns();
        let helper = &mut self.helpers[number];
        let taken = helper.mailbox.take();
        let took = taken.is_some();
        if let Some((sender, message)) = taken
            && let Some(answer) = (helper.errand)(message)
        {
            let latency_ns = self.random.below(helper.latency_ns_maximum + 1);
            helper.held.push_back((now_ns + latency_ns, sender, answer));
        }
        let mut sent = false;
        while helper.held.front().is_some_and(|(due_ns, ..)| *due_ns <= now_ns) {
            let Some((due_ns, to, answer)) = helper.held.pop_front() else { break };
            if let Err(answer) = helper.mailbox.send(to, answer) {
                helper.held.push_front((due_ns, to, answer));
                break;
            }
            sent = true;
        }
        took || sent
    }

    /// The time of the next event.
    fn next_ns(&self, clients: &[Client]) -> Option<u64> {
        let schedulers = self.schedulers.iter().filter(|scheduler| !scheduler.is_finished());
        let schedulers = schedulers.filter_map(Scheduler::next_due_ns);
        let helpers = self.helpers.iter().filter_map(|helper| helper.held.front());
        let helpers = helpers.map(|(due_ns, ..)| *due_ns);
        let clients = clients.iter().filter_map(Client::next_due_ns);
        self.world.next_event_ns().into_iter().chain(schedulers).chain(helpers).chain(clients).min()
    }

    /// Runs all until the condition holds. `false`: nothing was left to do before that.
    pub(crate) fn run_until(
        &mut self,
        clients: &mut [Client],
        mut condition: impl FnMut(&mut Self, &[Client]) -> bool,
    ) -> bool {
        loop {
            let any = self.round(clients);
            if condition(self, clients) {
                return true;
            }
            let now_ns = self.now_ns();
            let span_ns = now_ns - self.began_ns;
            assert!(
                span_ns < SPAN_MAXIMUM_NS,
                "it hangs: {} s, {} turns, {} processes{}",
                span_ns / SECOND_NS,
                self.turns,
                self.processes(),
                waiting(clients)
            );
            if any {
                // Work takes time.
                let nanoseconds = self.random.below(50_000);
                self.world.advance(nanoseconds);
                continue;
            }
            match self.next_ns(clients) {
                Some(next_ns) => self.world.advance(next_ns.saturating_sub(now_ns)),
                None => return false,
            }
        }
    }

    /// Runs the server until this time; the caller runs the clients.
    pub(crate) fn run_to(&mut self, until_ns: u64) {
        while self.now_ns() < until_ns {
            let left_ns = until_ns - self.now_ns();
            let step_ns = if self.round(&mut []) {
                self.random.below(50_000)
            } else {
                self.next_ns(&[]).map_or(left_ns, |next_ns| next_ns.saturating_sub(self.now_ns()))
            };
            self.world.advance(step_ns.min(left_ns));
        }
    }

    /// Processes of all schedulers.
    pub(crate) fn processes(&self) -> usize {
        self.schedulers.iter().map(Scheduler::processes).sum()
    }

    /// Connections that ended for this reason.
    pub(crate) fn closed(&self, reason: CloseReason) -> u64 {
        let of = |scheduler: &Scheduler<Sim, S>| scheduler.stats().closed[reason as usize];
        self.schedulers.iter().map(of).sum()
    }

    /// A sum over all schedulers.
    pub(crate) fn sum(&self, of: impl Fn(&Scheduler<Sim, S>) -> u64) -> u64 {
        self.schedulers.iter().map(of).sum()
    }

    /// After the last connection ended nothing of any is left.
    pub(crate) fn assert_nothing_is_left(&self) {
        for (number, scheduler) in self.schedulers.iter().enumerate() {
            let stats = scheduler.stats();
            assert_eq!(scheduler.processes(), 0, "scheduler {number}");
            let living: u64 = stats.processes.iter().sum();
            assert_eq!(living, 0, "scheduler {number}: kinds");
            assert_eq!(stats.buffered_bytes, 0, "scheduler {number}: buffers");
            let closed: u64 = stats.closed.iter().sum();
            let begun = stats.accepts - stats.accepts_refused + stats.streams + stats.connects;
            assert_eq!(begun, closed, "scheduler {number}: whoever began was closed");
            if !scheduler.is_finished() {
                let open = self.world.open_descriptors(number);
                assert_eq!(open, self.listeners, "the listeners alone");
            }
        }
    }
}

/// Clients that have not ended, for the reader of a failure.
pub(crate) fn waiting(clients: &[Client]) -> String {
    let waiting = clients.iter().filter(|client| !client.is_over());
    waiting.map(|client| format!("\n{client:?}")).collect()
}
