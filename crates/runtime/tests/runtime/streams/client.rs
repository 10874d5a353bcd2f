//! A client of the multiplexing protocol, and the world it is in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use runtime::output::{FileName, FileRegion};
use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
use runtime::service::CloseReason;
use runtime::stats::KINDS_MAX;
use sys::file::{Directory, Symlinks};
use sys::socket::ListenAddress;
use world::{ClientId, Faults, Sim, World};

use crate::streams::mux::Mux;
use crate::streams::protocol::{
    DATA, END, HEAD, INPUT_WINDOW, OPEN, OUTPUT_WINDOW, REFUSED, RESET, WINDOW, first_frame, frame,
};

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

/// The fate of a stream, as far as a client has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Nothing,
    End,
    Reset,
    Refused,
}

/// A stream as the client sees it.
pub(crate) struct Dialog {
    /// Text that is not sent yet; `None` after its end was sent.
    unsaid: Option<Vec<u8>>,
    window: usize,
    pub(crate) head: Vec<u8>,
    pub(crate) heard: Vec<u8>,
    pub(crate) seen: Seen,
    /// Bytes for which no new window was granted.
    owed: usize,
    /// Bytes that the server has consumed.
    pub(crate) consumed: usize,
}

pub(crate) struct Client {
    pub(crate) id: ClientId,
    received: Vec<u8>,
    pub(crate) dialogs: BTreeMap<u16, Dialog>,
}

impl Client {
    pub(crate) fn open(&mut self, world: &World, number: u16, text: &[u8]) {
        let mut wire = Vec::new();
        frame(OPEN, number, b"", &mut wire);
        world.client_send(self.id, &wire);
        let dialog = Dialog {
            unsaid: Some(text.to_vec()),
            window: INPUT_WINDOW,
            head: Vec::new(),
            heard: Vec::new(),
            seen: Seen::Nothing,
            owed: 0,
            consumed: 0,
        };
        self.dialogs.insert(number, dialog);
    }

    /// Reads what arrived, opens windows and sends as much as they allow, in pieces of at most `piece` bytes.
    pub(crate) fn step(&mut self, world: &World, piece: usize) {
        self.received.extend(world.client_received(self.id));
        let received = std::mem::take(&mut self.received);
        let mut rest = received.as_slice();
        while let Some((kind, number, content, length)) = first_frame(rest) {
            self.take_frame(kind, number, content);
            rest = &rest[length..];
        }
        self.received = rest.to_vec();
        let mut wire = Vec::new();
        for (number, dialog) in &mut self.dialogs {
            dialog.say(*number, piece, &mut wire);
        }
        world.client_send(self.id, &wire);
    }

    pub(crate) fn reset(&mut self, world: &World, number: u16) {
        let mut wire = Vec::new();
        frame(RESET, number, b"", &mut wire);
        world.client_send(self.id, &wire);
        self.dialogs.remove(&number);
    }

    fn take_frame(&mut self, kind: u8, number: u16, content: &[u8]) {
        // The server may have sent something before it got a reset.
        let Some(dialog) = self.dialogs.get_mut(&number) else { return };
        assert_eq!(dialog.seen, Seen::Nothing, "nothing comes after the end of stream {number}");
        match kind {
            HEAD => {
                assert!(dialog.heard.is_empty(), "the head comes first");
                dialog.head.extend_from_slice(content);
            }
            DATA => {
                dialog.heard.extend_from_slice(content);
                dialog.owed += content.len();
                assert!(dialog.owed <= OUTPUT_WINDOW, "the server keeps to its window");
            }
            WINDOW => {
                let credit = usize::from(u16::from_be_bytes([content[0], content[1]]));
                dialog.window += credit;
                dialog.consumed += credit;
                assert!(dialog.window <= INPUT_WINDOW, "no more than was sent");
            }
            END => dialog.seen = Seen::End,
            RESET => dialog.seen = Seen::Reset,
            REFUSED => dialog.seen = Seen::Refused,
            kind => panic!("a frame of kind {kind}"),
        }
    }
}

impl Dialog {
    fn say(&mut self, number: u16, piece: usize, wire: &mut Vec<u8>) {
        if self.seen != Seen::Nothing {
            return;
        }
        // Not each time, so that windows close.
        if self.owed > OUTPUT_WINDOW / 2 {
            let credit = u16::try_from(std::mem::take(&mut self.owed)).unwrap().to_be_bytes();
            frame(WINDOW, number, &credit, wire);
        }
        let Some(unsaid) = &mut self.unsaid else { return };
        let count = unsaid.len().min(self.window).min(piece);
        if count > 0 {
            frame(DATA, number, &unsaid[..count], wire);
            unsaid.drain(..count);
            self.window -= count;
        }
        if unsaid.is_empty() {
            frame(END, number, b"", wire);
            self.unsaid = None;
        }
    }
}

pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) scheduler: Scheduler<Sim, Mux>,
}

impl Stage {
    pub(crate) fn new(seed: u64, faults: Faults) -> Self {
        Self::with(
            seed,
            faults,
            SchedulerSettings { connections: 1_000, ..SchedulerSettings::default() },
        )
    }

    pub(crate) fn with(seed: u64, faults: Faults, settings: SchedulerSettings) -> Self {
        let world = World::new(seed, faults);
        let mut scheduler = world.scheduler(Mux::default(), settings, &[address()]);
        scheduler.service().file = Some(file("file-of-streams", &file_bytes()));
        Self { world, scheduler }
    }

    pub(crate) fn client(&self) -> Option<Client> {
        let id = self.world.connect(&address())?;
        Some(Client { id, received: Vec::new(), dialogs: BTreeMap::new() })
    }

    pub(crate) fn turn(&mut self) {
        self.scheduler.turn(TurnWait::Forbidden).unwrap();
    }

    pub(crate) fn rest(&mut self) {
        self.world.settle(&mut self.scheduler);
    }

    /// Lets both sides talk for a while.
    pub(crate) fn talk(&mut self, client: &mut Client, rounds: usize) {
        for _ in 0..rounds {
            self.rest();
            client.step(&self.world, 100);
            self.world.advance(10_000_000);
        }
        self.rest();
        client.step(&self.world, 100);
    }

    pub(crate) fn closed(&self, reason: CloseReason) -> u64 {
        self.scheduler.stats().closed[reason as usize]
    }

    pub(crate) fn assert_nothing_is_left(&mut self) {
        assert_eq!((self.scheduler.processes(), self.scheduler.extras()), (0, 0));
        let stats = self.scheduler.stats();
        assert_eq!((stats.buffered_bytes, stats.processes), (0, [0; KINDS_MAX]));
        let service = self.scheduler.service();
        assert_eq!(service.streams_closed.len() as u64, service.streams_begun, "each ends once");
    }
}

/// The content of the file.
pub(crate) fn file_bytes() -> Vec<u8> {
    (0..5_000).map(|at| b'0' + (at % 10) as u8).collect()
}

fn file(name: &str, bytes: &[u8]) -> FileRegion {
    let path = Path::new(FOLDER).join(name);
    // Tests run at the same time: the file is never seen half written.
    if std::fs::read(&path).ok().as_deref() != Some(bytes) {
        let new = path.with_extension(format!("{:?}", std::thread::current().id()));
        std::fs::write(&new, bytes).unwrap();
        std::fs::rename(&new, &path).unwrap();
    }
    region(name, bytes.len() as u64)
}

/// A file that the kernel has only on the disk, and its path.
pub(crate) fn unread_file(bytes: &[u8]) -> (FileRegion, PathBuf) {
    let path = Path::new(FOLDER).join("unread-file-of-streams");
    std::fs::write(&path, bytes).unwrap();
    let file = std::fs::OpenOptions::new().read(true).open(&path).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    (region("unread-file-of-streams", bytes.len() as u64), path)
}

fn region(name: &str, length: u64) -> FileRegion {
    let root = Directory::open(Path::new(FOLDER)).unwrap();
    let file = root.open_beneath(Path::new(name), Symlinks::Refuse).unwrap();
    let name = FileName { root: 0, relative: name.into() };
    FileRegion { file: Rc::new(file), name, offset: 0, length }
}

fn address() -> ListenAddress {
    ListenAddress::Tcp(([10, 0, 0, 1], 80).into())
}
