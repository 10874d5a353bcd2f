//! A fan: processes of one scheduler that all receive the same bytes.
//!
//! Owns the list of members and the messages of this turn. They are concatenated once, so sixteen
//! messages are one piece of each receiver's write. Never reads the bytes.

use std::rc::Rc;

use crate::limits::FAN_KEPT_BYTES;
use crate::post::Refused;
use crate::service::ServiceContext;
use crate::slots::ProcessId;

/// A member's place in the fan. The member keeps it and gives it back when it leaves.
///
/// See [`Fan`] for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FanSeat(u32);

/// Processes of one scheduler that receive the same bytes.
///
/// A service calls [`join`](Self::join) when it accepts a process and [`leave`](Self::leave) when a process closes,
/// appends to [`buffer`](Self::buffer) while it runs, and calls [`send`](Self::send) at the end of the turn. See
/// `examples/chat.rs`.
///
/// ```
/// use runtime::Peer;
/// use runtime::fan::{Fan, FanSeat};
/// use runtime::service::{
///     CloseReason, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
/// };
/// use world::Stage;
///
/// /// Everybody hears everybody.
/// #[derive(Default)]
/// struct Room(Fan);
///
/// impl Service for Room {
///     type Process = FanSeat;
///     type Message = ();
///     const KINDS: &'static [&'static str] = &["room"];
///
///     fn kind(_: &FanSeat) -> usize {
///         0
///     }
///
///     fn is_idle(_: &FanSeat) -> bool {
///         true
///     }
///
///     fn on_accept(&mut self, _: ListenerIndex, _: Peer, context: &mut Context<'_, ()>) -> Option<FanSeat> {
///         Some(self.0.join(context.id))
///     }
///
///     fn on_input(&mut self, _: &mut FanSeat, input: &[u8], _: &mut Context<'_, ()>) -> Progress {
///         self.0.buffer().extend_from_slice(input);
///         Progress { consumed: input.len(), next: Next::Read }
///     }
///
///     fn on_event(&mut self, _: &mut FanSeat, _: Event, _: &mut Context<'_, ()>) -> Next {
///         Next::Finish
///     }
///
///     fn on_close(&mut self, seat: FanSeat, _: CloseReason) {
///         self.0.leave(seat);
///     }
///
///     fn on_turn_end(&mut self, context: &mut ServiceContext<'_, ()>) {
///         // Nobody may be behind by more than a megabyte.
///         self.0.send(context, 1 << 20, |_context, _process, _why| {});
///     }
/// }
///
/// let mut stage = Stage::new(1, Room::default);
/// let (one, other) = (stage.connect(), stage.connect());
/// stage.send(one, b"hello");
/// assert_eq!((stage.received(one), stage.received(other)), ("hello".to_owned(), "hello".to_owned()));
/// ```
#[derive(Debug, Default)]
pub struct Fan {
    seats: Vec<Option<ProcessId>>,
    free: Vec<FanSeat>,
    bytes: Vec<u8>,
}

impl Fan {
    /// Adds the process: from now on it receives all messages.
    pub fn join(&mut self, process: ProcessId) -> FanSeat {
        if let Some(seat) = self.free.pop() {
            self.seats[seat.0 as usize] = Some(process);
            return seat;
        }
        let seat = FanSeat(u32::try_from(self.seats.len()).expect("slots are numbered in u32"));
        self.seats.push(Some(process));
        seat
    }

    /// Removes the process in this seat: it receives nothing more, including messages of this turn.
    pub fn leave(&mut self, seat: FanSeat) {
        if self.seats[seat.0 as usize].take().is_some() {
            self.free.push(seat);
        }
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.seats.len() - self.free.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The buffer of bytes that all members receive at the end of this turn.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Ends a turn: queues the buffer for every member. Calls back for each member that did not get it, because the
    /// process has ended or more than `bound` bytes wait for its peer. Call it in
    /// [`Service::on_turn_end`](crate::service::Service::on_turn_end).
    pub fn send<M>(
        &mut self,
        context: &mut ServiceContext<'_, M>,
        bound: usize,
        mut refused: impl FnMut(&mut ServiceContext<'_, M>, ProcessId, Refused),
    ) {
        if self.bytes.is_empty() {
            return;
        }
        let bytes: Rc<[u8]> = self.bytes.as_slice().into();
        self.bytes.clear();
        self.bytes.shrink_to(FAN_KEPT_BYTES);
        for process in self.seats.iter().flatten() {
            if let Err(why) = context.queue(*process, &bytes, bound) {
                refused(context, *process, why);
            }
        }
    }
}
