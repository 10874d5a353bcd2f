//! Runs the screens on a terminal.
//!
//! Owns the clock, and the threads that wait for the server: a silent server never keeps a key from working. At most
//! one snapshot, one look at a thing, one end and one profile are under way.
#![expect(clippy::disallowed_methods, reason = "the program that has the terminal has the clock")]

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use live::{Info, ServerSnapshot};

use crate::ask::{Ask, AskError, SnapshotRequest, read_info, read_snapshot};
use crate::deed::Deed;
use crate::draw::draw;
use crate::paint::Colours;
use crate::terminal::{Input, Screen};
use crate::view::View;

/// The longest wait for a key, and so the delay of an answer on the screen.
const LOOK: Duration = Duration::from_millis(50);

/// The time between two drawings when nothing comes: the times of silence go on.
const IDLE: Duration = Duration::from_millis(500);

/// Sends a request, and returns the body of the answer.
pub type Asker = dyn Fn(&Ask) -> Result<String, AskError> + Send + Sync;

/// Profiles a process, and returns its hottest frames as text.
pub type Profiler = dyn Fn(u32) -> Result<String, String> + Send + Sync;

/// How a server is asked: both functions may block, and are called on threads of their own.
#[derive(Clone)]
pub struct ServerAccess {
    /// Asks it.
    pub ask: Arc<Asker>,
    /// Profiles it.
    pub profile: Arc<Profiler>,
}

/// A reply from a thread.
enum Reply {
    Snapshot(SnapshotRequest, Result<(Box<ServerSnapshot>, usize), AskError>),
    Info(String, Result<Info, AskError>),
    Ended(String, Result<String, AskError>),
    Profile(Result<String, String>),
}

/// The questions under way.
struct Asking {
    server: ServerAccess,
    sender: Sender<Reply>,
    snapshot_asked: Option<Instant>,
    is_snapshot_due: bool,
    is_info_due: bool,
}

impl Asking {
    /// Calls a function on a thread, and sends what it returns.
    fn spawn(&self, work: impl FnOnce(&ServerAccess) -> Reply + Send + 'static) -> io::Result<()> {
        let (server, sender) = (self.server.clone(), self.sender.clone());
        let begin = move || {
            let reply = work(&server);
            // The program may have ended.
            let _unheard = sender.send(reply);
        };
        thread::Builder::new().name("asking".to_owned()).spawn(begin).map(drop)
    }

    /// Asks for the next figures, if it is time.
    fn go_on(&mut self, view: &mut View, interval: Duration, at: Duration) -> io::Result<()> {
        let is_time = self.snapshot_asked.is_none_or(|asked| asked.elapsed() >= interval);
        if !self.is_snapshot_due || !(view.take_hurry() || is_time) {
            return Ok(());
        }
        self.is_snapshot_due = false;
        self.snapshot_asked = Some(Instant::now());
        view.asked(at);
        let wanted = view.wanted();
        self.spawn(move |server| {
            let answer = (server.ask)(&Ask::Live(wanted.clone()));
            let read = |body: String| {
                read_snapshot(&body).map(|snapshot| (Box::new(snapshot), body.len()))
            };
            Reply::Snapshot(wanted, answer.and_then(read))
        })?;
        if let Some(Ask::Info(id)) = view.wanted_info().filter(|_| self.is_info_due) {
            self.is_info_due = false;
            self.spawn(move |server| {
                let answer = (server.ask)(&Ask::Info(id.clone()));
                Reply::Info(id, answer.and_then(|body| read_info(&body)))
            })?;
        }
        Ok(())
    }

    fn take(&mut self, view: &mut View, reply: Reply, at: Duration) {
        match reply {
            Reply::Snapshot(wanted, answer) => {
                self.is_snapshot_due = true;
                view.answered(wanted, answer.map(|(snapshot, bytes)| (*snapshot, bytes)), at);
            }
            Reply::Info(id, answer) => {
                self.is_info_due = true;
                view.informed(&id, answer);
            }
            Reply::Ended(id, answer) => view.ended(&id, &answer),
            Reply::Profile(answer) => view.profiled(answer),
        }
    }

    fn order(&self, deed: Deed) -> io::Result<()> {
        match deed {
            Deed::Ask(Ask::End(id)) => self.spawn(move |server| {
                let answer = (server.ask)(&Ask::End(id.clone()));
                Reply::Ended(id, answer)
            }),
            Deed::Profile(process) => {
                self.spawn(move |server| Reply::Profile((server.profile)(process)))
            }
            _ => Ok(()),
        }
    }
}

/// Shows the server on the terminal until the user quits.
///
/// # Errors
/// The terminal's, or there can be no thread.
pub fn run(server: ServerAccess, interval: Duration, colours: Colours) -> io::Result<()> {
    let mut screen = Screen::set_up()?;
    let (sender, replies) = channel();
    let mut asking =
        Asking { server, sender, snapshot_asked: None, is_snapshot_due: true, is_info_due: true };
    match until_quit(&mut screen, &mut asking, &replies, interval, View::new(colours))? {
        Some(signal) => screen.die_of(signal),
        None => Ok(()),
    }
}

/// Returns the signal that ended it, if one did.
fn until_quit(
    screen: &mut Screen,
    asking: &mut Asking,
    replies: &Receiver<Reply>,
    interval: Duration,
    mut view: View,
) -> io::Result<Option<i32>> {
    let begun = Instant::now();
    let mut drawn: Option<Instant> = None;
    loop {
        if let Some(signal) = screen.end_asked() {
            return Ok(Some(signal));
        }
        asking.go_on(&mut view, interval, begun.elapsed())?;
        for reply in replies.try_iter() {
            asking.take(&mut view, reply, begun.elapsed());
            drawn = None;
        }
        if drawn.is_none_or(|drawn| drawn.elapsed() >= IDLE) {
            screen.terminal.draw(|frame| draw(&mut view, begun.elapsed(), frame.buffer_mut()))?;
            drawn = Some(Instant::now());
        }
        let key = match screen.next(LOOK)? {
            Input::Nothing => continue,
            Input::Resized => None,
            Input::Key(key) => Some(key),
        };
        drawn = None;
        match key.and_then(|key| view.key(key)) {
            Some(Deed::Quit) => return Ok(None),
            Some(Deed::Suspend) => screen.suspend()?,
            Some(Deed::Redraw) => screen.terminal.clear()?,
            Some(deed) => asking.order(deed)?,
            None => {}
        }
    }
}
