//! The input of a session: commands, one after the other.
//!
//! Owns when the next one runs: not before the client has its turn, and not while it does not read its replies.

use runtime::clock::Now;
use runtime::output::Output;
use runtime::service::{Context, Next, Progress};
use wire::resp::{CommandLimits, Parser, RespCommand, write_error};

use super::after_exec;
use super::client::{self, ReplyMode};
use super::pending_reply::Quiet;
use super::{After, Environment, Session, dispatch};
use crate::limits::LONG_COMMAND;
use crate::pace::Entry;
use crate::stats::Counter;

impl Session {
    /// Runs the commands in the input.
    pub fn on_input<M>(
        &mut self,
        env: &mut Environment<'_>,
        input: &[u8],
        context: &mut Context<'_, M>,
    ) -> Progress {
        if env.clients.pace.enter(self.process) == Entry::Closed {
            env.clients.counts.count(Counter::Rests);
            return Progress { consumed: 0, next: Next::Park };
        }
        if let Some(store) = &env.store {
            // The client may have heard of a commit since the turn began.
            store.turn_store().renew();
        }
        let before = self.pending.kept();
        let mut parser = std::mem::take(&mut env.clients.parser);
        let progress = self.run_commands(&mut parser, env, input, context);
        env.clients.parser = parser;
        env.clients.pace.end_run();
        env.clients.keep(before, self.pending.kept());
        progress
    }

    fn run_commands<M>(
        &mut self,
        parser: &mut Parser,
        env: &mut Environment<'_>,
        input: &[u8],
        context: &mut Context<'_, M>,
    ) -> Progress {
        let mut consumed = 0;
        loop {
            let limits = if self.must_authenticate() {
                CommandLimits::of_strangers()
            } else {
                CommandLimits::default()
            };
            if context.output_is_full() || self.pending.has_to_drain() {
                // A client that does not read its messages must not keep others from a long reply.
                env.clients.end_work(self.process);
                return Progress { consumed, next: self.after_full() };
            }
            if self.pending.is_executing() {
                if !after_exec::go_on(self, env, context) {
                    return Progress { consumed, next: self.until_resumed(context) };
                }
                // The client may have to receive its replies first.
                continue;
            }
            let command = match parser.parse(&input[consumed..], &limits) {
                Ok(Some(command)) => command,
                Ok(None) => return Progress { consumed, next: Next::Read },
                Err(problem) => {
                    write_error(context.output.buffer(), &problem.text());
                    return Progress { consumed: input.len(), next: Next::Linger };
                }
            };
            let length = command.length;
            if length >= LONG_COMMAND {
                env.clients.pace.note_read();
            }
            match self.run(&command, env, context) {
                After::More => {
                    consumed += length;
                    if consumed < input.len() && env.clients.pace.is_over() {
                        env.clients.rest(self.process);
                        return Progress { consumed, next: Next::Park };
                    }
                }
                After::Wait => return Progress { consumed, next: Next::Park },
                After::End => return Progress { consumed: input.len(), next: Next::Linger },
            }
        }
    }

    /// The next step of the process while its output is full. Many client libraries write a whole pipeline before they
    /// read the first reply, so its commands are collected. They take less memory than their replies.
    pub(super) fn after_full(&self) -> Next {
        if self.must_authenticate() { Next::Park } else { Next::Collect }
    }

    /// The next step of the process while commands of a transaction wait.
    pub(super) fn until_resumed<M>(&self, context: &Context<'_, M>) -> Next {
        let is_full = context.output_is_full() || self.pending.has_to_drain();
        if is_full { self.after_full() } else { Next::Park }
    }

    fn run<M>(
        &mut self,
        command: &RespCommand<'_>,
        env: &mut Environment<'_>,
        context: &mut Context<'_, M>,
    ) -> After {
        if command.is_empty() {
            return After::More;
        }
        let after = if self.reply_mode == ReplyMode::On || client::is_about_replies(command) {
            dispatch::run(self, command, env, context.output, context.now)
        } else {
            self.run_silently(command, env, context.now)
        };
        if std::mem::take(&mut self.has_new_rights) && !context.is_draining() {
            self.set_deadline(context);
        }
        if after != After::Wait {
            env.clients.counts.count(Counter::Commands);
            env.clients.end_work(self.process);
        }
        after
    }

    /// Runs a command whose reply the client does not want.
    fn run_silently(
        &mut self,
        command: &RespCommand<'_>,
        env: &mut Environment<'_>,
        now: Now,
    ) -> After {
        self.pending.set_quiet(Quiet::Yes);
        let after = dispatch::run(self, command, env, &mut Output::default(), now);
        self.pending.set_quiet(Quiet::No);
        if after != After::Wait && self.reply_mode == ReplyMode::SkipNext {
            self.reply_mode = ReplyMode::On;
        }
        after
    }
}
