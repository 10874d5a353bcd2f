//! Commands of a service outside the run of a process.
//!
//! Owns what each command means. A command that is given while others are obeyed is obeyed in the next
//! turn.

use sys::pollset::Pollset;

use super::Scheduler;
use super::executor::Executor;
use super::queues::Queue;
use crate::process::Flags;
use crate::service::{CloseReason, SchedulerCommand, Service};
use crate::slots::ProcessId;

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Does what the service wants done.
    pub(super) fn obey_commands(&mut self) {
        let mut commands = std::mem::take(&mut self.commands);
        for command in commands.drain(..) {
            match command {
                SchedulerCommand::Resume(id) => self.queue_resumed(id),
                SchedulerCommand::Run(id) => {
                    self.recalled = true;
                    self.guarded(|scheduler| scheduler.visit(id, Executor::run_now));
                }
                SchedulerCommand::Close(id) => self.close(id, CloseReason::Aborted),
                SchedulerCommand::Connect(connect) => self.connects.push_back(connect),
                SchedulerCommand::Walk { from } => self.guarded(|scheduler| scheduler.walk(from)),
                SchedulerCommand::GiveMemoryBack => {
                    self.executor.free_spare();
                    sys::heap::trim_own();
                }
                SchedulerCommand::SetPatience(patience) => {
                    self.executor.settings.set_patience(patience)
                }
                SchedulerCommand::SetConnections(most) => {
                    self.table.set_capacity(most);
                    self.executor.extras.set_capacity(most);
                }
                SchedulerCommand::Drain { deadline_ms, idle_grace_ms } => {
                    self.begin_drain(deadline_ms, idle_grace_ms);
                }
            }
        }
        commands.append(&mut self.commands);
        self.commands = commands;
    }

    fn queue_resumed(&mut self, id: ProcessId) {
        if let Some(process) = self.table.lookup(id)
            && !process.flags.has(Flags::RESUMED)
        {
            process.flags.set(Flags::RESUMED);
            self.executor.queues.push(Queue::Resumed, id, process);
        }
    }
}
