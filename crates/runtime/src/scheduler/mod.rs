//! The scheduler: one thread, one pollset, its processes, and the turn.
//!
//! Owns everything one core needs and shares none of it. A turn, in this order and nothing else:
//! wait -> clock -> mailboxes in -> timers -> resumed processes -> events -> streams and their carriers
//! -> run queue -> end of turn -> connections begun -> mailboxes out, sleepers woken. The output of a
//! process is sent in one write after its own run and those of a few others (`group.rs`), together with
//! what messages queued for it before.

mod accept;
mod carry;
mod collect;
mod connect;
mod context;
mod deadline;
mod discard;
mod drain;
mod end;
mod eviction;
mod executor;
mod handshakes;
mod holders;
mod layers;
mod memory;
mod obey;
mod queues;
mod refused_output;
mod run;
mod settings;
mod sleep;
mod transmit;
mod visit;
mod walk;

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use sys::pollset::{ListenOptions, Pollset, Ready, Token};

use crate::account::{self, TimeAccount, change_to, charged_to};
use crate::limits;
use crate::mailbox::{Endpoint, Mailbox};
use crate::process::{Flags, Table};
use crate::pulse::Pulse;
use crate::service::{ClockUse, Connect, ListenerIndex, SchedulerCommand, Service};
use crate::slots::{ProcessId, Slots};
use crate::stats::{KINDS_MAX, Stats};
use crate::timer::Wheel;

pub use settings::{Punctuality, SchedulerSettings, TurnWait};

use accept::Gate;
use eviction::Idlers;
use executor::Executor;
use queues::Queue;

/// One scheduler.
pub struct Scheduler<P: Pollset, S: Service> {
    table: Table<P::Socket, S::Process>,
    executor: Executor<P, S>,
    wheel: Wheel,
    gates: Vec<Gate<P::Listener>>,
    /// A listener may be paused.
    has_paused: bool,
    idlers: Idlers,
    /// When all processes may be looked at again for those that hold most memory.
    sweeps_ns: u64,
    commands: Vec<SchedulerCommand>,
    /// Connections to begin.
    connects: VecDeque<Connect>,
    /// The work of the service at the end of the turn may need another call of it before the scheduler sleeps.
    recalled: bool,
    /// The service has ended the turn: what it learns from now on waits for the next one.
    is_settled: bool,
    /// The last turn had something to do.
    busy: bool,
    /// Since when the current wait lasts, which may have been a sleep.
    waits_since_ns: Option<u64>,
    /// When the service wants a turn even if nothing happens.
    alarm_ns: Option<u64>,
    pulse: Arc<Pulse>,
}

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// A scheduler without listeners.
    pub fn new(
        pollset: P,
        service: S,
        mailbox: Mailbox<S::Message>,
        settings: SchedulerSettings,
    ) -> Self {
        assert!(S::KINDS.len() <= KINDS_MAX, "a service names at most {KINDS_MAX} kinds");
        Self {
            table: Slots::new(settings.connections),
            executor: Executor::new(pollset, service, mailbox, settings),
            wheel: Wheel::new(),
            gates: Vec::new(),
            has_paused: false,
            idlers: Idlers::new(),
            sweeps_ns: 0,
            commands: Vec::new(),
            connects: VecDeque::new(),
            recalled: false,
            is_settled: false,
            busy: true,
            waits_since_ns: None,
            alarm_ns: None,
            pulse: Arc::default(),
        }
    }

    /// Opens the next listener. Listeners are numbered in the order in which they are opened.
    pub fn listen(&mut self, options: &ListenOptions) -> io::Result<&P::Listener> {
        let index = ListenerIndex(u16::try_from(self.gates.len()).expect("a few listeners"));
        let listener = self.executor.pollset.listen(options, index.token())?;
        self.gates.push(Gate::open(listener));
        Ok(self.gates.last().and_then(Gate::listener).expect("just pushed"))
    }

    /// The counters.
    pub fn stats(&self) -> &Stats {
        &self.executor.stats
    }

    /// Its pulse, for other threads to look at.
    pub fn pulse(&self) -> Arc<Pulse> {
        Arc::clone(&self.pulse)
    }

    /// The service.
    pub fn service(&mut self) -> &mut S {
        &mut self.executor.service
    }

    /// The number of processes.
    pub fn processes(&self) -> usize {
        self.table.len()
    }

    /// The number of processes that have more than a slot, such as a transport.
    pub fn extras(&self) -> usize {
        self.executor.extras.len()
    }

    /// Bytes of one slot of the table, whatever its process does.
    pub const fn slot_bytes() -> usize {
        Table::<P::Socket, S::Process>::slot_bytes()
    }

    /// Whether it has been drained, so that there is nothing left to run.
    pub fn is_finished(&self) -> bool {
        self.executor.is_draining() && self.table.is_empty()
    }

    /// Whether a message waits. The next turn takes it.
    pub fn has_mail(&self) -> bool {
        self.executor.mailbox.has_messages()
    }

    /// One turn. Returns whether there was anything to do.
    pub fn turn(&mut self, waiting: TurnWait) -> io::Result<bool> {
        if self.executor.stats.turns == 0 {
            self.begin();
        }
        self.pulse.rest();
        self.executor.sampler.begin_sample(self.executor.stats.turns + 1);
        let count = self.wait(waiting)?;
        (self.recalled, self.is_settled) = (false, false);
        let worked = self.begin_turn();
        self.note_wishes(count);
        // Before the events: work that had to wait for this turn is older than theirs.
        let resumed = self.run_all(Queue::Resumed);
        if count > 0 {
            self.handle_events(count);
        }
        let carried = !self.executor.extras.is_quiet() && self.carry();
        self.executor.queues.end_turn();
        let ran = self.run_all(Queue::Run);
        if self.executor.handshakes.take_room() {
            self.gates.iter_mut().for_each(Gate::note_room);
        }
        self.end_turn();
        self.busy = count > 0 || worked || resumed || carried || ran || self.recalled;
        self.executor.sampler.end_sample();
        if self.busy {
            let Executor { sampler, stats, pollset, .. } = &mut self.executor;
            sampler.end_turn(stats, pollset);
        }
        Ok(self.busy)
    }

    /// Notes the time, and does what comes before the work of processes. Most turns have none of it. Returns whether
    /// there was anything.
    #[inline]
    fn begin_turn(&mut self) -> bool {
        self.executor.clock.read(&mut self.executor.pollset);
        let now = self.executor.clock.now();
        let tick = self.executor.pollset.tick_counter();
        account::begin_turn(now.monotonic_ns, tick);
        self.executor.sampler.begin_turn(tick, now.monotonic_ns);
        self.pulse.begin_turn(now.monotonic_ns);
        self.note_sleep(now.monotonic_ns);
        change_to(TimeAccount::Other);
        self.executor.stats.turns += 1;
        self.executor.sends_left = limits::QUEUED_BYTES_SENT_PER_TURN;
        let messages = self.take_messages();
        let expired = self.wheel.is_due(now.tick())
            && charged_to(TimeAccount::Timers, || self.expire_deadlines());
        if self.has_paused {
            self.reopen_gates();
        }
        self.relieve_memory();
        messages || expired
    }

    /// Called once, before the first turn.
    fn begin(&mut self) {
        self.executor.clock.read(&mut self.executor.pollset);
        self.guarded(|scheduler| {
            let (service, mut context) = scheduler.service_context();
            service.on_start(&mut context);
        });
        self.obey_commands();
    }

    /// Whether there is work that no event will report.
    #[inline]
    fn has_more_to_do(&self) -> bool {
        let is_over = self.executor.queues.is_empty() && self.executor.extras.is_over();
        self.recalled || !is_over || !self.connects.is_empty() || !self.commands.is_empty()
    }

    /// Called once, when the scheduler has finished or given up: the service may send what it still holds.
    pub fn stop(&mut self) {
        self.executor.read_clock_for_run();
        let (service, mut context) = self.service_context();
        service.on_stop(&mut context);
        self.executor.mailbox.flush();
    }

    fn handle_events(&mut self, count: usize) {
        self.executor.stats.events += count as u64;
        self.executor.stats.events_max = self.executor.stats.events_max.max(count as u64);
        let mut index = 0;
        if S::CLOCK == ClockUse::PerTurn {
            self.executor.group.open(count);
        }
        while index < count {
            let batch = catch_unwind(AssertUnwindSafe(|| {
                while index < count {
                    let ready = self.executor.pollset.event(index);
                    index += 1;
                    self.handle_event(ready);
                }
            }));
            if batch.is_err() {
                self.end_panicked();
            }
        }
        self.executor.group.close();
        if !self.executor.group.is_empty() {
            self.send_group();
        }
    }

    /// Sends the output of the processes of a group, in the order in which they ran.
    fn send_group(&mut self) {
        let mut waiting = self.executor.group.take();
        for (id, bytes) in &mut waiting {
            self.visit(*id, |executor, id, process| {
                executor.output.swap_bytes(bytes);
                let lives = executor.transmit_now(id, process);
                executor.output.swap_bytes(bytes);
                lives
            });
            bytes.clear();
        }
        self.executor.group.give_back(waiting);
    }

    #[inline]
    fn handle_event(&mut self, ready: Ready) {
        if ready.token == Token::WAKE {
            return;
        }
        if let Some(listener) = ListenerIndex::of_token(ready.token) {
            // Accepting may close connections to make room, whose answers must have been sent; and one event may accept
            // more than a group holds.
            if !self.executor.group.is_empty() {
                self.send_group();
            }
            self.executor.group.pause();
            self.accept_waiting(listener);
            self.executor.group.go_on();
            return;
        }
        let id = ProcessId::from_bits(ready.token.0);
        if self.executor.group.is_due() || self.executor.group.holds(id) {
            self.send_group();
        }
        let ended = if ready.ended { Flags::ENDED } else { Flags::NONE };
        let ended = if ready.over { ended.and(Flags::OVER) } else { ended };
        self.visit(id, |executor, id, process| {
            if ready.writable {
                executor.on_room(id, process)?;
            }
            if ready.readable {
                process.flags.set(Flags::READABLE.and(ended));
                executor.receive(id, process)?;
            }
            Ok(())
        });
    }

    /// Does something that calls handlers. A handler that panics ends its process and nothing else.
    fn guarded(&mut self, act: impl FnOnce(&mut Self)) {
        if catch_unwind(AssertUnwindSafe(|| act(self))).is_err() {
            self.end_panicked();
        }
    }

    fn take_messages(&mut self) -> bool {
        let Some(first) = self.executor.mailbox.take() else { return false };
        charged_to(TimeAccount::Mail, || self.take_messages_from(first));
        true
    }

    #[inline(never)]
    fn take_messages_from(&mut self, first: (Endpoint, S::Message)) {
        let (mut next, mut taken) = (Some(first), 0);
        while let Some((sender, message)) = next {
            taken += 1;
            self.executor.read_clock_for_run();
            self.guarded(|scheduler| {
                let (service, mut context) = scheduler.service_context();
                service.on_message(sender, message, &mut context);
            });
            let may_go_on = taken < limits::MESSAGES_PER_TURN;
            next = if may_go_on { self.executor.mailbox.take() } else { None };
        }
        self.executor.mailbox.count_taken(taken as u64);
        self.obey_commands();
    }

    fn end_turn(&mut self) {
        self.executor.read_clock_for_run();
        if self.alarm_ns.is_some_and(|alarm_ns| alarm_ns <= self.executor.clock.now().monotonic_ns)
        {
            self.alarm_ns = None;
        }
        change_to(TimeAccount::Handler);
        self.guarded(|scheduler| {
            let (service, mut context) = scheduler.service_context();
            service.on_turn_end(&mut context);
        });
        change_to(TimeAccount::Other);
        self.is_settled = true;
        if !self.commands.is_empty() {
            self.obey_commands();
        }
        if !self.connects.is_empty() {
            self.begin_connects();
        }
        if !self.executor.posted.is_empty() {
            self.send_posted();
        }
        if !self.executor.extras.is_quiet() {
            self.recalled |= self.carry();
        }
        if self.executor.watch.is_some() {
            self.check_watch();
        }
        self.executor.mailbox.flush();
        if self.executor.drain.is_some() {
            self.check_drain();
        }
    }

    /// Sends everything that was posted in this turn, in one write for each process.
    fn send_posted(&mut self) {
        let mut processes = std::mem::take(&mut self.executor.posted.processes);
        for id in processes.drain(..) {
            self.visit(id, Executor::send_posted);
        }
        self.executor.posted.processes = processes;
        self.executor.posted.forget_strings();
    }
}
