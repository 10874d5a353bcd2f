//! Two schedulers of one server, each on its thread, one at a time: for finding the cache lines they share.
//!
//!     cargo xtask bench sharing
//!
//! runs this under valgrind's lackey, which writes down every load and store, and looks for lines that one
//! scheduler stores to and the other touches. The two share what schedulers of a real server share: the compiled
//! site, settings, mailboxes, a file helper and a log writer (both played by the main thread). Each is made on its
//! own thread, so that stacks, thread-locals and heap arenas are as far apart as they are in the server. Threads
//! hand over to each other through pipes: nobody spins while another one turns.
//!
//! Before and after every stretch of turns a scheduler stores to a mark of its own, whose addresses are printed
//! with what else a reader of the trace needs; then a line on standard input is waited for. With the argument
//! `shared-counter` both count requests in one place, which a reader of the trace has to find.
#![expect(clippy::print_stdout, reason = "where things are is what it says")]

mod feed;

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use runtime::mailbox::{Endpoint, Mailbox, Role, Waking, mesh};
use runtime::scheduler::{Scheduler, Settings as SchedulerSettings, Waiting};
use server::conn::Connections;
use server::message::{FoundFile, LookUp, Message, ToFileHelper, ToScheduler};
use server::site::{Helpers, Site, SiteData};
use sys::pollset::{ListenOptions, Speaks};
use sys::socket::ListenAddress;

use config::{Config, Overrides};
use feed::{Feed, Line};
use files::job::Absence;
use files::{Content, Found};
use http::{AccessLog, LogFormat};

const CONFIG: &str = "
    [[route]]
    path = \"/json\"
    json = { message = \"Hello, World!\" }

    [[route]]
    path = \"/text\"
    respond = { body = \"Hello, World!\" }
";

/// Requests of one pipelined write.
const PIPELINED: usize = 16;

/// Requests of each kind before anything is marked: every buffer has its size then, and one hand-over of log
/// lines to the writer is behind.
const WARM_UP: u8 = 120;

/// Requests of each kind in a stretch: of one scheduler, of the other, and of both in turn.
const MARKED: u8 = 50;

/// Turns of an empty loop that end a thread's slice under valgrind once it has paused: 1,000 blocks are left then.
const SLICE_END: u32 = 1_500;

/// Where a scheduler stores before and after its turns; each alone on its cache line.
#[repr(align(64))]
struct Mark(AtomicU64);

impl Mark {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(&self.0).addr()
    }
}

static BEGIN: [Mark; 2] = [Mark::new(), Mark::new()];
static END: [Mark; 2] = [Mark::new(), Mark::new()];

/// What both count in when told to: the fault that must be found.
static SHARED_COUNTER: Mark = Mark::new();

/// Whether turns stand between stores to the marks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marked {
    No,
    Yes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Counter {
    None,
    Shared,
}

/// What a kind of request is: its bytes, the answers it gets, and whether each has a connection of its own.
struct Kind {
    bytes: Vec<u8>,
    answers: usize,
    connection: Connection,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Connection {
    Kept,
    Each,
}

fn kinds() -> Vec<Kind> {
    let request =
        |path: &str| format!("GET {path} HTTP/1.1\r\nHost: example.test\r\n\r\n").into_bytes();
    let kept = |bytes: Vec<u8>, answers| Kind { bytes, answers, connection: Connection::Kept };
    let close = b"GET /json HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n".to_vec();
    vec![
        kept(request("/json"), 1),
        kept(request("/text"), 1),
        // Not there, as the cache knows after the first.
        kept(request("/absent.html"), 1),
        kept(request("/text").repeat(PIPELINED), PIPELINED),
        Kind { bytes: close, answers: 1, connection: Connection::Each },
    ]
}

/// One scheduler on its thread.
struct Seated {
    number: usize,
    scheduler: Scheduler<Feed, Connections>,
    line: Rc<RefCell<Line>>,
    kinds: Vec<Kind>,
    counter: Counter,
}

impl Seated {
    fn new(
        number: usize,
        data: &Arc<SiteData>,
        helpers: Helpers,
        mailbox: Mailbox<Message>,
        counter: Counter,
    ) -> io::Result<Self> {
        let kinds = kinds();
        let line = Rc::new(RefCell::new(Line::default()));
        let requests = kinds.iter().map(|kind| kind.bytes.clone()).collect();
        let site = Site::open(Arc::clone(data), helpers, number as u128)?;
        let log = Some(AccessLog::new(LogFormat::Combined));
        let service = Connections::new(site, data, log);
        let feed = Feed::new(requests, Rc::clone(&line));
        let settings = SchedulerSettings { connections: 16, ..SchedulerSettings::default() };
        let mut scheduler = Scheduler::new(feed, service, mailbox, settings);
        let address = ListenAddress::Tcp(([10, 0, 0, 1], 80).into());
        scheduler.listen(&ListenOptions { address, backlog: 16, first: Speaks::CLIENT })?;
        line.borrow_mut().connecting = true;
        Ok(Self { number, scheduler, line, kinds, counter })
    }

    fn turn(&mut self) -> io::Result<()> {
        while self.scheduler.turn(Waiting::Forbidden)? {}
        Ok(())
    }

    /// So many requests of a kind; gives how many bytes came back. Marked: between stores to the marks.
    fn ask(&mut self, kind: usize, count: u8, marked: Marked) -> io::Result<usize> {
        self.line.borrow_mut().bytes = 0;
        for _ in 0..count {
            let mut line = self.line.borrow_mut();
            line.asked = Some(kind);
            let each = self.kinds.get(kind).map(|kind| kind.connection);
            line.connecting |= each == Some(Connection::Each);
            drop(line);
            if marked == Marked::Yes {
                begin_slice();
                BEGIN[self.number].0.store(1, Ordering::SeqCst);
            }
            if self.counter == Counter::Shared {
                SHARED_COUNTER.0.fetch_add(1, Ordering::Relaxed);
            }
            let turned = self.turn();
            if marked == Marked::Yes {
                END[self.number].0.store(1, Ordering::SeqCst);
            }
            turned?;
        }
        Ok(self.line.borrow().bytes)
    }
}

/// Begins a new slice of valgrind's time, which outlasts a request: so no other thread's last steps before it
/// waits come between the marks. (A pause leaves a thread 1,000 blocks of its slice.)
fn begin_slice() {
    std::hint::spin_loop();
    for turn in 0..SLICE_END {
        std::hint::black_box(turn);
    }
}

/// The main thread's end of a scheduler's thread.
struct Remote {
    commands: io::PipeWriter,
    answers: io::PipeReader,
    thread: JoinHandle<io::Result<()>>,
    /// What one write of each kind is answered with.
    answer_bytes: Vec<u64>,
}

impl Remote {
    fn start(make: impl FnOnce() -> io::Result<Seated> + Send + 'static) -> io::Result<Self> {
        let (mut command_end, commands) = io::pipe()?;
        let (answers, mut answer_end) = io::pipe()?;
        let thread = std::thread::Builder::new().spawn(move || {
            let mut seated = make()?;
            seated.turn()?;
            answer_end.write_all(&0u64.to_ne_bytes())?;
            let mut command = [0; 3];
            // The end of the pipe is the end of the work.
            while command_end.read_exact(&mut command).is_ok() {
                let [kind, count, marked] = command;
                let marked = if marked == 1 { Marked::Yes } else { Marked::No };
                let bytes = seated.ask(usize::from(kind), count, marked)?;
                answer_end.write_all(&(bytes as u64).to_ne_bytes())?;
            }
            Ok(())
        })?;
        let mut remote = Self { commands, answers, thread, answer_bytes: Vec::new() };
        remote.finished()?;
        Ok(remote)
    }

    fn finished(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.answers.read_exact(&mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    fn ask(&mut self, kind: usize, count: u8, marked: Marked) -> io::Result<u64> {
        let kind = u8::try_from(kind).map_err(io::Error::other)?;
        self.commands.write_all(&[kind, count, u8::from(marked == Marked::Yes)])?;
        self.finished()
    }
}

/// Plays the file helper, for whom no file exists, and the log writer, who throws lines away.
fn help(mailbox: &mut Mailbox<Message>) -> io::Result<()> {
    let mut from = 0;
    while let Some((asker, message)) = mailbox.take(&mut from) {
        if let Message::FileHelper(ToFileHelper::LookUp(look_up)) = message {
            let LookUp { site, job } = *look_up;
            let found = Found::Content(Content::Missing(Absence::NotFound));
            let found = Message::from(ToScheduler::Found(Box::new(FoundFile { site, job, found })));
            mailbox.send(asker, found).map_err(|_| io::Error::other("no room for an answer"))?;
        }
    }
    mailbox.flush();
    Ok(())
}

/// Asks one scheduler, lets the helpers do their part, and checks how much was answered.
fn ask(
    remote: &mut Remote,
    helpers: &mut [Mailbox<Message>],
    kind: usize,
    count: u8,
    marked: Marked,
) -> io::Result<()> {
    let bytes = remote.ask(kind, count, marked)?;
    helpers.iter_mut().try_for_each(help)?;
    let each = remote.answer_bytes.get(kind).copied().unwrap_or(0);
    if each > 0 && bytes == u64::from(count) * each {
        return Ok(());
    }
    Err(io::Error::other(format!("kind {kind}: {bytes} bytes for {count} writes of {each}")))
}

fn region(name: &str, address: usize, bytes: usize) {
    println!("region {address:x} {bytes} {name}");
}

fn say_where(data: &Arc<SiteData>) -> io::Result<()> {
    for (number, (begin, end)) in BEGIN.iter().zip(&END).enumerate() {
        println!("mark {number} {:x} {:x}", begin.address(), end.address());
    }
    region("the counter that is shared on purpose", SHARED_COUNTER.address(), size_of::<Mark>());
    // Two counts stand before what an Arc holds.
    let counts = 2 * size_of::<usize>();
    let site = Arc::as_ptr(data).addr() - counts;
    region("the compiled site, with its reference count", site, size_of::<SiteData>() + counts);
    let settings = Arc::as_ptr(&data.settings).addr() - counts;
    let bytes = size_of::<http::Settings>() + counts;
    region("the settings of connections, with their reference count", settings, bytes);
    for line in std::fs::read_to_string("/proc/self/maps")?.lines() {
        println!("map {line}");
    }
    println!("ready");
    io::stdout().flush()?;
    io::stdin().read_line(&mut String::new())?;
    Ok(())
}

fn main() -> io::Result<()> {
    let counter = match std::env::args().nth(1).as_deref() {
        Some("shared-counter") => Counter::Shared,
        Some(other) => return Err(io::Error::other(format!("`{other}` means nothing"))),
        None => Counter::None,
    };
    let directory = std::env::temp_dir();
    let mut data = Config::from_text(CONFIG, "two_schedulers", &directory, &Overrides::default())
        .and_then(|config| SiteData::compile(config, 1))
        .map_err(|errors| io::Error::other(errors.to_string()))?;
    // Roots are opened by openat2, which valgrind may not have, and here the helper opens no file.
    data.roots.clear();
    let data = Arc::new(data);
    say_where(&data)?;
    let roles = [Role::Scheduler, Role::Scheduler, Role::Helper, Role::Helper];
    let mut mailboxes: Vec<_> =
        mesh(&roles, Waking::Descriptors)?.into_iter().map(|seat| seat.mailbox).collect();
    let mut helpers = mailboxes.split_off(2);
    let mut remotes = Vec::new();
    for (number, mailbox) in mailboxes.into_iter().enumerate() {
        let data = Arc::clone(&data);
        let named = Helpers {
            schedulers: 2,
            files: vec![Endpoint(2)],
            names: Vec::new(),
            uploads: Vec::new(),
            log: Some(Endpoint(3)),
        };
        remotes.push(Remote::start(move || Seated::new(number, &data, named, mailbox, counter))?);
    }
    let kinds = kinds();
    for kind in 0..kinds.len() {
        for remote in &mut remotes {
            warm_up(remote, &mut helpers, kind)?;
        }
    }
    for kind in 0..kinds.len() {
        for remote in &mut remotes {
            ask(remote, &mut helpers, kind, MARKED, Marked::Yes)?;
        }
        for _ in 0..MARKED {
            for remote in &mut remotes {
                ask(remote, &mut helpers, kind, 1, Marked::Yes)?;
            }
        }
    }
    let answers: usize = kinds.iter().map(|kind| kind.answers * 4 * usize::from(MARKED)).sum();
    println!("done {answers}");
    for remote in remotes {
        drop(remote.commands);
        remote.thread.join().map_err(|_| io::Error::other("a scheduler panicked"))??;
    }
    Ok(())
}

/// The first request of a kind may wait for the helper, and is answered after it; the third says how long an
/// answer is.
fn warm_up(remote: &mut Remote, helpers: &mut [Mailbox<Message>], kind: usize) -> io::Result<()> {
    remote.ask(kind, 1, Marked::No)?;
    helpers.iter_mut().try_for_each(help)?;
    remote.ask(kind, 1, Marked::No)?;
    let each = remote.ask(kind, 1, Marked::No)?;
    remote.answer_bytes.push(each);
    ask(remote, helpers, kind, WARM_UP, Marked::No)
}
