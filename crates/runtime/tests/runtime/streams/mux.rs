//! A service that carries the streams of the multiplexing protocol. Windows are small in both directions.

use std::any::Any;
use std::collections::BTreeMap;
use std::rc::Rc;

use runtime::output::{FileRegion, Output, SharedBytes};
use runtime::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, SchedulerCommand, Service,
    ServiceContext,
};
use runtime::slots::ProcessId;
use runtime::streams::{Ending, OutputEnd, StreamId, StreamOffer};
use sys::socket::Peer;
use world::World;

use crate::streams::protocol::{
    Act, DATA, END, FRAME_BYTES, GREETING, HEAD, INPUT_WINDOW, LARGE, OPEN, OUTPUT_WINDOW, PANIC,
    REFUSED, RESET, SHARED, WINDOW, WORK_TICKS, act_of, first_frame, frame,
};

/// A stream as its carrier keeps it.
struct Held {
    id: StreamId,
    /// Bytes that the client still takes.
    window: usize,
    /// Bytes of input that were handed and not consumed.
    unread: usize,
}

/// The state of a carrier.
#[derive(Default)]
pub(crate) struct Carrier {
    streams: BTreeMap<u16, Held>,
    numbers: BTreeMap<StreamId, u16>,
}

/// The state of a stream.
pub(crate) struct Talk {
    act: Act,
    said: bool,
    has_collected: bool,
}

pub(crate) enum Process {
    Carrier(Box<Carrier>),
    Stream(Box<Talk>),
}

/// Carries streams.
#[derive(Default)]
pub(crate) struct Mux {
    parked: Vec<ProcessId>,
    /// Processes that wait for a file, and since when. They are resumed later, when it may be there.
    cold: Vec<(u64, ProcessId)>,
    /// The file of [`Act::File`].
    pub(crate) file: Option<FileRegion>,
    posts: Vec<(ProcessId, Rc<[u8]>)>,
    pub(crate) streams_begun: u64,
    pub(crate) streams_closed: Vec<CloseReason>,
    /// How often carriers were told.
    pub(crate) told: u64,
    /// The processes of streams, in the order in which they began.
    pub(crate) ids: Vec<ProcessId>,
    /// At the end of this turn the scheduler begins to drain.
    pub(crate) drains: bool,
    /// Processes that were told of it.
    pub(crate) draining: u64,
    /// Streams that were told of the end of their input while they did not read.
    pub(crate) finished_unread: u64,
    /// Every event of a stream takes [`WORK_TICKS`] of this world's time.
    pub(crate) works_in: Option<World>,
    /// The last refusal to open a stream.
    pub(crate) not_opened: Option<runtime::streams::NotOpened>,
}

impl Carrier {
    fn take_frame(
        &mut self,
        (kind, number, content): (u8, u16, &[u8]),
        mux: &mut Mux,
        context: &mut Context<'_, ()>,
    ) {
        let mut streams = context.streams();
        if kind == OPEN {
            match streams.open(Box::new(number), number.into()) {
                Ok(id) => {
                    self.streams.insert(number, Held { id, window: OUTPUT_WINDOW, unread: 0 });
                    self.numbers.insert(id, number);
                }
                Err(why) => {
                    mux.not_opened = Some(why);
                    frame(REFUSED, number, b"", context.output.buffer());
                }
            }
            return;
        }
        let Some(held) = self.streams.get_mut(&number) else { return };
        match kind {
            DATA => {
                if streams.hand(held.id, content).is_ok() {
                    held.unread += content.len();
                    assert!(held.unread <= INPUT_WINDOW, "the client keeps to its window");
                }
            }
            END => streams.end_input(held.id),
            RESET => {
                streams.reset(held.id);
                self.forget(number);
            }
            WINDOW => {
                held.window += usize::from(u16::from_be_bytes([content[0], content[1]]));
                streams.put_back(held.id);
            }
            PANIC => std::panic::resume_unwind(Box::new("a carrier panics")),
            kind => panic!("a frame of kind {kind}"),
        }
    }

    fn forget(&mut self, number: u16) {
        if let Some(held) = self.streams.remove(&number) {
            self.numbers.remove(&held.id);
        }
    }

    /// Takes what streams have, one unit each in turn, and parks when the output is full.
    fn pump(&mut self, context: &mut Context<'_, ()>) -> Next {
        while !context.output_is_full()
            && let Some(id) = context.streams().next_ready()
        {
            let number = self.numbers[&id];
            self.pump_one(number, context);
        }
        if context.output_is_full() { Next::Park } else { Next::Read }
    }

    fn pump_one(&mut self, number: u16, context: &mut Context<'_, ()>) {
        let held = self.streams.get_mut(&number).unwrap();
        let consumed = context.streams().take_consumed(held.id);
        if consumed > 0 {
            held.unread -= consumed;
            let credit = u16::try_from(consumed).unwrap().to_be_bytes();
            frame(WINDOW, number, &credit, context.output.buffer());
        }
        let waiting = context.streams().waiting(held.id, held.window.min(FRAME_BYTES));
        let then = match waiting {
            StreamOffer::Nothing | StreamOffer::Body { bytes: 0, .. } => return,
            StreamOffer::Head { then } => {
                let put = |head: &[u8], output: &mut Output| {
                    frame(HEAD, number, head, output.buffer());
                };
                context.streams().with_head(held.id, put).expect("a head waits");
                then
            }
            StreamOffer::Body { bytes, then } => {
                held.window -= bytes;
                let wire = context.output.buffer();
                wire.push(DATA);
                wire.extend_from_slice(&number.to_be_bytes());
                wire.extend_from_slice(&u16::try_from(bytes).unwrap().to_be_bytes());
                context.streams().take(held.id, bytes);
                then
            }
            StreamOffer::Ended(ending) => {
                let kind = match ending {
                    Ending::Finished => END,
                    Ending::Aborted(_) => RESET,
                    Ending::Refused => REFUSED,
                };
                frame(kind, number, b"", context.output.buffer());
                return self.forget(number);
            }
        };
        if then == OutputEnd::Ends {
            frame(END, number, b"", context.output.buffer());
            self.forget(number);
        }
    }
}

impl Talk {
    fn on_input(&mut self, input: &[u8], mux: &mut Mux, context: &mut Context<'_, ()>) -> Progress {
        let all = |next| Progress { consumed: input.len(), next };
        match self.act {
            Act::Echo => {
                context.output.put(&input.to_ascii_uppercase());
                all(Next::Read)
            }
            Act::Collect if !self.has_collected => {
                self.said = true;
                context.set_deadline_after_ms(100);
                Progress { consumed: 0, next: Next::Collect }
            }
            Act::Collect => {
                context.output.put(&input.to_ascii_uppercase());
                all(Next::Read)
            }
            Act::ParkedEcho => {
                let consumed = input.len().div_ceil(2);
                context.output.put(&input[..consumed].to_ascii_uppercase());
                mux.parked.push(context.id);
                Progress { consumed, next: Next::Park }
            }
            Act::PostedEcho => {
                mux.posts.push((context.id, input.to_ascii_uppercase().into()));
                all(Next::Read)
            }
            Act::Linger => {
                context.output.put(b"NO");
                Progress { consumed: 0, next: Next::Linger }
            }
            Act::Late | Act::Large | Act::File | Act::Panic | Act::Abort => all(Next::Read),
            Act::Refuse | Act::HeadAlone => all(Next::Finish),
        }
    }

    fn on_event(&mut self, event: Event, mux: &Mux, context: &mut Context<'_, ()>) -> Next {
        match (event, self.act) {
            (Event::InputEnded, Act::Echo | Act::ParkedEcho | Act::Linger | Act::Collect) => {
                Next::Finish
            }
            (Event::DeadlineReached, Act::Collect) => {
                self.has_collected = true;
                Next::Read
            }
            (_, Act::Collect) if self.said && !self.has_collected => Next::Collect,
            (Event::PeerFinished, Act::ParkedEcho) => Next::Park,
            // Output that was posted in this turn is not sent yet.
            (Event::InputEnded, Act::PostedEcho) => {
                context.set_deadline_after_ms(100);
                Next::Read
            }
            (Event::DeadlineReached, Act::PostedEcho) => Next::Finish,
            (Event::InputEnded, Act::Large) => {
                context.output.put(&[b'L'; LARGE - SHARED]);
                let bytes = vec![b'L'; SHARED].into();
                context.output.put_shared(SharedBytes { bytes, start: 0, end: SHARED });
                self.said = true;
                Next::Park
            }
            (Event::InputEnded, Act::File) => {
                context.output.put_file(mux.file.clone().unwrap());
                context.output.put(b"after the file");
                assert!(context.output_is_full(), "a file at a time");
                Next::Finish
            }
            (Event::OutputDrained, Act::Large) if self.said => Next::Finish,
            (Event::InputEnded, Act::Late) => {
                context.set_deadline_after_ms(500);
                self.said = true;
                Next::Park
            }
            (Event::DeadlineReached, Act::Late) => {
                context.output.put(b"LATE");
                Next::Finish
            }
            // Without a line on standard error for each of thousands.
            (Event::InputEnded, Act::Panic) => {
                std::panic::resume_unwind(Box::new("a stream panics"))
            }
            (Event::InputEnded, Act::Abort) => Next::Abort,
            (_, Act::HeadAlone) => Next::Finish,
            (Event::Resumed, _) => Next::Read,
            (
                Event::OutputDrained | Event::PeerFinished | Event::Draining,
                Act::Late | Act::Large,
            ) if self.said => Next::Park,
            (Event::DeadlineReached, _) => Next::Abort,
            _ => Next::Read,
        }
    }
}

impl Service for Mux {
    type Process = Process;
    type Message = ();

    const KINDS: &'static [&'static str] = &["carrier", "stream"];

    fn kind(process: &Process) -> usize {
        match process {
            Process::Carrier(_) => 0,
            Process::Stream(_) => 1,
        }
    }

    fn is_idle(_: &Process) -> bool {
        false
    }

    /// Less than the window of a stream, which is closed for none of the input that its carrier has accepted.
    fn inbox_bytes(process: &Process) -> usize {
        [runtime::limits::INBOX_BYTES, INPUT_WINDOW / 10][Self::kind(process)]
    }

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        _: Peer,
        context: &mut Context<'_, ()>,
    ) -> Option<Process> {
        self.not_opened = context.streams().open(Box::new(0_u16), 0).err();
        Some(Process::Carrier(Box::default()))
    }

    fn on_carry(
        &mut self,
        opening: Box<dyn Any>,
        context: &mut Context<'_, ()>,
    ) -> Option<Process> {
        let act = act_of(*opening.downcast().unwrap());
        if act == Act::Refuse {
            context.output.put(b"this reaches nobody");
            return None;
        }
        context.output.put_head(GREETING);
        context.set_deadline_after_ms(60_000);
        self.streams_begun += 1;
        self.ids.push(context.id);
        Some(Process::Stream(Box::new(Talk { act, said: false, has_collected: false })))
    }

    fn on_streams_ready(&mut self, process: &mut Process, context: &mut Context<'_, ()>) -> Next {
        self.told += 1;
        match process {
            Process::Carrier(carrier) => carrier.pump(context),
            Process::Stream(_) => Next::Abort,
        }
    }

    fn on_input(
        &mut self,
        process: &mut Process,
        input: &[u8],
        context: &mut Context<'_, ()>,
    ) -> Progress {
        match process {
            Process::Stream(talk) => talk.on_input(input, self, context),
            Process::Carrier(carrier) => {
                let mut consumed = 0;
                while let Some((kind, number, content, length)) = first_frame(&input[consumed..]) {
                    carrier.take_frame((kind, number, content), self, context);
                    consumed += length;
                }
                Progress { consumed, next: carrier.pump(context) }
            }
        }
    }

    fn on_event(
        &mut self,
        process: &mut Process,
        event: Event,
        context: &mut Context<'_, ()>,
    ) -> Next {
        self.draining += u64::from(event == Event::Draining);
        self.finished_unread += u64::from(event == Event::PeerFinished);
        match process {
            Process::Stream(talk) => {
                assert!(
                    context.streams().open(Box::new(1_u16), 0).is_err(),
                    "a stream carries no streams"
                );
                self.works_in.iter().for_each(|world| world.advance(WORK_TICKS));
                talk.on_event(event, self, context)
            }
            Process::Carrier(_) if event == Event::InputEnded => Next::Finish,
            Process::Carrier(carrier) => carrier.pump(context),
        }
    }

    fn on_cold_file(&mut self, _: &Process, _: &FileRegion, context: &mut Context<'_, ()>) -> bool {
        self.cold.push((context.now.monotonic_ns, context.id));
        true
    }

    fn on_close(&mut self, process: Process, reason: CloseReason) {
        if matches!(process, Process::Stream(_)) {
            self.streams_closed.push(reason);
        }
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, ()>) {
        if std::mem::take(&mut self.drains) {
            context.command(SchedulerCommand::Drain { deadline_ms: 10_000, idle_grace_ms: 0 });
        }
        for id in self.parked.drain(..) {
            context.command(SchedulerCommand::Resume(id));
        }
        let now_ns = context.now.monotonic_ns;
        for (_, id) in self.cold.extract_if(.., |(since_ns, _)| *since_ns < now_ns) {
            context.command(SchedulerCommand::Resume(id));
        }
        for (id, bytes) in self.posts.drain(..) {
            let _gone = context.queue(id, &bytes, usize::MAX);
        }
    }
}
