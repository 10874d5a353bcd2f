//! Connecting: from a service's command to a process with an established connection.
//!
//! Owns the requested connections, and processes until theirs are established. Never waits, and
//! never retries: the service decides what a failure means.

use std::io;

use sys::pollset::{ConnectOptions, Connecting, Pollset, Token};

use super::Scheduler;
use super::executor::{Executor, Lives, ProcessOf};
use crate::account::{TimeAccount, charged_to};
use crate::limits::CONNECTS_PER_TURN;
use crate::process::{Flags, Mode, Process};
use crate::service::{Beginning, CloseReason, Connect, Event, Next, Service};
use crate::slots::ProcessId;

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Begins the requested connections, as many as one turn may.
    pub(super) fn begin_connects(&mut self) {
        for _ in 0..CONNECTS_PER_TURN {
            let Some(connect) = self.connects.pop_front() else { return };
            self.recalled = true;
            self.guarded(|scheduler| scheduler.connect(connect));
        }
    }

    fn connect(&mut self, connect: Connect) {
        let Connect { to, from, ticket } = connect;
        self.executor.read_clock_for_run();
        let id = self.table.next_id();
        // While the scheduler drains, running requests may finish, and may need a connection for that.
        let now_ns = self.executor.clock.now().monotonic_ns;
        let begun = if self.executor.drain.is_some_and(|drain| drain.is_over(now_ns)) {
            Err(io::ErrorKind::Interrupted)
        } else if self.table.is_full() {
            Err(io::ErrorKind::QuotaExceeded)
        } else {
            let options = ConnectOptions { to, from };
            charged_to(TimeAccount::Connect, || {
                self.executor.pollset.connect(&options, Token(id.to_bits()))
            })
        };
        let (begun, outcome) = match begun {
            Ok(begun) => (Some(begun), Ok(())),
            Err(kind) => (None, Err(kind)),
        };
        let (service, mut context) = self.executor.newcomer(id);
        let state = service.on_connect(ticket, outcome, &mut context);
        let deadline = context.deadline;
        self.executor.output.clear();
        let Some(((socket, connecting), state)) = begun.zip(state) else {
            self.executor.stats.connects_refused += 1;
            return;
        };
        self.executor.stats.connects += 1;
        let mut process = Process::new(Some(socket), state);
        process.deadline = deadline;
        process.mode = Mode::Connecting;
        process.last_run = self.executor.clock.now().tick();
        let beginning = Beginning::Connecting { ticket };
        if self.executor.choose_transport(beginning, &mut process).is_err() {
            self.executor.stats.connects_failed += 1;
            return;
        }
        if connecting == Connecting::Pending {
            process.flags.set(Flags::WATCHED);
            process.flags.set(Flags::ROOM_REPORTED);
        }
        if !self.insert(id, process) {
            return;
        }
        self.visit(id, |executor, id, process| match connecting {
            Connecting::Done => executor.on_connected(id, process),
            Connecting::Pending => Ok(()),
        });
    }
}

impl<P: Pollset, S: Service> Executor<P, S> {
    /// The pollset reported a connection that was not yet established.
    pub(super) fn conclude_connect(
        &mut self,
        id: ProcessId,
        process: &mut ProcessOf<P, S>,
    ) -> Lives {
        let Some(socket) = &process.socket else { return Ok(()) };
        match self.pollset.outcome(socket) {
            Ok(Connecting::Pending) => Ok(()),
            Ok(Connecting::Done) => self.on_connected(id, process),
            Err(kind) => {
                // The process ends whatever it wants next.
                self.tell(id, process, Event::ConnectFailed(kind))?;
                Err(CloseReason::Failed)
            }
        }
    }

    fn on_connected(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        process.mode = Mode::Reading;
        process.flags.set(Flags::REACHED);
        self.spin.note_run(id.index());
        // Told first: computing the first message of a handshake takes as long as a connect on this host.
        self.tell(id, process, Event::Connected)?;
        if process.extra.is_some() {
            self.begin_handshake(id, process)?;
        }
        self.after_run(id, process)
    }

    /// A process ran before its connection was established: it keeps waiting or gives up. Its output cannot be sent
    /// anywhere.
    pub(super) fn finish_connecting_run(&mut self, next: Next) -> Lives {
        self.output.clear();
        match next {
            Next::Read | Next::Changed | Next::Again | Next::Park | Next::Collect => Ok(()),
            Next::Finish | Next::Linger | Next::Abort => Err(CloseReason::Finished),
        }
    }
}
