//! What an event of an outgoing connection means for its fetch.
//!
//! Owns this choice. Never changes a fetch itself: the client does.

use runtime::service::{CloseReason, Context, Event, Next, Progress};

use super::client::Client;
use super::failure::Failure;
use super::outbound::{End, Outbound};

impl Outbound {
    /// Input has arrived.
    pub fn on_input<M>(
        &mut self,
        client: &mut Client,
        input: &[u8],
        context: &mut Context<'_, M>,
    ) -> Progress {
        let Some(number) = self.fetch else {
            // Input without a request: the next answer on this connection could not be trusted.
            client.forget_idle(self);
            return Progress { consumed: input.len(), next: Next::Abort };
        };
        client.take_input(number, self, input, context)
    }

    /// Another event.
    pub fn on_event<M>(
        &mut self,
        client: &mut Client,
        event: Event,
        context: &mut Context<'_, M>,
    ) -> Next {
        match event {
            Event::Connected => client.send(self, context),
            Event::ConnectFailed(kind) => {
                if let Some(number) = self.fetch.take() {
                    client.connect_failed(number, Failure::of_connecting(kind));
                }
                Next::Abort
            }
            Event::Resumed => {
                if self.fetch.is_none() {
                    self.fetch = client.assigned_to(self.id);
                }
                client.send(self, context)
            }
            Event::OutputDrained => client.send_more(self, context),
            Event::InputEnded => {
                client.forget_idle(self);
                if let Some(number) = self.fetch.take() {
                    client.ended(number, self, End::Orderly);
                }
                Next::Finish
            }
            Event::DeadlineReached | Event::Draining if self.fetch.is_none() => {
                client.forget_idle(self);
                Next::Finish
            }
            // The time for this address is over. An established connection has no such deadline.
            Event::DeadlineReached => {
                if let Some(number) = self.fetch.take() {
                    client.connect_failed(number, Failure::Timeout);
                }
                Next::Abort
            }
            Event::Draining | Event::PeerFinished => {
                self.fetch.map_or(Next::Read, |number| client.appetite(number))
            }
            // Only accepted connections get this.
            Event::Overloaded => Next::Abort,
        }
    }

    /// The connection has ended.
    pub fn on_close(mut self, client: &mut Client, reason: CloseReason) {
        client.forget_idle(&self);
        let fetch = self.fetch.take().or_else(|| client.assigned_to(self.id));
        let Some(number) = fetch else { return };
        match reason {
            CloseReason::Stopped => client.fail(number, Failure::Stopping),
            CloseReason::InboxFull => client.fail(number, Failure::HeadTooLong),
            _ => client.ended(number, &self, End::Broken),
        }
    }
}
