//! A line chat: each line goes to all members, on all schedulers. `cargo run --release --example chat --
//! 127.0.0.1:8080`

use std::sync::Arc;

use velodrome::Peer;
use velodrome::fan::{Fan, FanSeat};
use velodrome::launch::{Speaks, serve};
use velodrome::mailbox::Endpoint;
use velodrome::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, SchedulerCommand, Service,
    ServiceContext,
};

/// A line for the other schedulers.
type Said = Arc<[u8]>;

/// Most bytes that may wait for a member that reads slowly. Beyond: its connection ends.
const BEHIND_BYTES: usize = 1024 * 1024;

/// The members on one scheduler, and the lines not yet sent to the other schedulers.
#[derive(Default)]
pub(crate) struct Chat {
    members: Fan,
    said_here: Vec<u8>,
    unsent: Vec<(Endpoint, Said)>,
}

impl Service for Chat {
    type Process = FanSeat;
    type Message = Said;
    const KINDS: &'static [&'static str] = &["member"];

    fn kind(_: &FanSeat) -> usize {
        0
    }

    fn is_idle(_: &FanSeat) -> bool {
        true
    }

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        _: Peer,
        context: &mut Context<'_, Said>,
    ) -> Option<FanSeat> {
        Some(self.members.join(context.id))
    }

    fn on_input(&mut self, _: &mut FanSeat, input: &[u8], _: &mut Context<'_, Said>) -> Progress {
        let consumed = input.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.said_here.extend_from_slice(&input[..consumed]);
        Progress { consumed, next: Next::Read }
    }

    fn on_event(&mut self, _: &mut FanSeat, event: Event, _: &mut Context<'_, Said>) -> Next {
        if event == Event::InputEnded { Next::Finish } else { Next::Read }
    }

    fn on_close(&mut self, seat: FanSeat, _: CloseReason) {
        self.members.leave(seat);
    }

    /// Members on another scheduler have sent lines.
    fn on_message(&mut self, _: Endpoint, said: Said, _: &mut ServiceContext<'_, Said>) {
        self.members.buffer().extend_from_slice(&said);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, Said>) {
        if !self.said_here.is_empty() {
            let said: Said = self.said_here.as_slice().into();
            self.unsent.extend(context.mail.schedulers().map(|to| (to, Arc::clone(&said))));
            self.members.buffer().append(&mut self.said_here);
        }
        for (to, said) in std::mem::take(&mut self.unsent) {
            if let Err(said) = context.mail.send(to, said) {
                self.unsent.push((to, said));
                context.wake_after_ms(1);
            }
        }
        self.members.send(context, BEHIND_BYTES, |context, member, _| {
            context.command(SchedulerCommand::Close(member));
        });
    }
}

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    serve(&address, Speaks::Either, Chat::default)
}
