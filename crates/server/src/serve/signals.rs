//! The main thread while the server runs: it waits for signals and acts on them.
//!
//! Owns reload, drain and log reopening, and when pages are read again. Touches no connection.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use acme::StartError;
use runtime::clock::{milliseconds, nanoseconds};
use runtime::diagnostic::{self, Level};

use runtime::helper::HelperThread;
use runtime::launch::Launched;
use runtime::mailbox::Endpoint;
use sys::clock::monotonic_ns;
use sys::signal::{Inbox, Signal, SignalArrival, SignalSet};

use super::certificates::Certificates;
use super::error::ServeError;
use super::live_pages::LivePages;
use super::maintenance::MaintenanceFile;
use super::memory::Memory;
use super::notify::{self, State};
use super::orders::Orders;
use super::post::Post;
use super::watch::Watch;
use crate::dump;
use crate::events::{Kind, Trouble};
use crate::limits;
use crate::load::ConfigSource;
use crate::message::{
    ReloadReport, ToCacheDisk, ToControl, ToLogWriter, ToScheduler, ToStoreWriter,
};
use crate::message_level::{form_of, level_of};
use crate::site_data::SiteData;
use pages::PageSet;
use store::Store;

/// The writer of the store. Plain data.
pub(crate) struct StoreHelper {
    pub(crate) endpoint: Endpoint,
    pub(crate) writer: HelperThread,
    pub(crate) store: Store,
}

/// When a dump is written, and where.
pub(super) struct Dumps {
    socket: Option<PathBuf>,
    /// Panics that were seen.
    panics: u64,
    /// When a dump may be written for another one.
    again_ns: u64,
}

impl Dumps {
    /// Dumps of the server that answers at this socket.
    pub(super) fn of(socket: Option<PathBuf>) -> Self {
        Self { socket, panics: runtime::panic::count(), again_ns: 0 }
    }

    /// Looks whether something has panicked.
    fn look(&mut self) {
        let panics = runtime::panic::count();
        if panics == self.panics || monotonic_ns() < self.again_ns {
            return;
        }
        self.panics = panics;
        self.again_ns = monotonic_ns() + nanoseconds(limits::DUMP_REST);
        self.write("a panic");
    }

    fn write(&self, reason: &str) {
        let Some(socket) = &self.socket else { return };
        match dump::write(reason, socket) {
            Ok(path) => diagnostic::write(
                Level::Info,
                format_args!("{reason}: the state of the server is in `{}`", path.display()),
            ),
            Err(error) => {
                diagnostic::write(Level::Error, format_args!("{reason}: no dump: {error}"));
            }
        }
    }
}

/// Threads other than the schedulers. Plain data.
pub(crate) struct Helpers {
    pub(crate) store: Option<StoreHelper>,
    /// The disks of caches.
    pub(crate) cache_disk: Option<(Endpoint, HelperThread)>,
    /// The log writer.
    pub(crate) log: Option<(Endpoint, HelperThread)>,
}

/// The parts of a running server that a reload replaces. Plain data.
pub(crate) struct Live {
    pub(crate) data: Arc<SiteData>,
    pub(crate) pages: LivePages,
    pub(crate) certificates: Certificates,
    pub(crate) orders: Orders,
}

/// Waits for signals until the server has drained.
pub(super) fn run(
    source: &ConfigSource,
    mut live: Live,
    mut post: Post,
    (launched, mut watch): (Launched, Watch),
    control: Option<Launched>,
    helpers: Helpers,
    mut dumps: Dumps,
) -> Result<(), ServeError> {
    let mut reloads = ReloadReport::default();
    let inbox = Inbox::new(SignalSet::all()).map_err(ServeError::Signals)?;
    let mut memory = Memory::begin();
    live.pages.begin(&live.data, &mut post);
    let mut maintenance = MaintenanceFile::default();
    maintenance.look(&live.data, &mut post);
    notify::tell(State::Ready);
    loop {
        let due_in =
            live.pages.due_in().map_or(limits::TURN_LOOK, |due| due.min(limits::TURN_LOOK));
        let arrival = inbox.wait(live.pages.descriptor(), Some(due_in));
        for trouble in watch.look(live.pages.sets()) {
            post.tell_control(ToControl::Trouble(Box::new(trouble)));
        }
        memory.look(&mut post);
        live.certificates.look(&live.data, &mut post);
        live.orders.look(&live.data, &mut live.certificates, &mut post);
        maintenance.look(&live.data, &mut post);
        dumps.look();
        let signal = match arrival.map_err(ServeError::Signals)? {
            SignalArrival::Signal(signal) => signal,
            SignalArrival::Readable | SignalArrival::Nothing => {
                live.pages.look();
                // Also when changes keep coming and there is always something to read.
                if live.pages.due_in().is_some_and(|left| left.is_zero()) {
                    live.pages.read_again(&live.data, &mut post);
                }
                continue;
            }
        };
        diagnostic::write(Level::Debug, format_args!("signal: {signal:?}"));
        match signal {
            Signal::Terminate | Signal::Interrupt => break,
            Signal::Quit => {
                dumps.write("QUIT");
                break;
            }
            Signal::Hangup => {
                notify::tell(State::Reloading);
                reload(source, &mut live, &mut reloads, &mut post);
                notify::tell(State::Ready);
            }
            Signal::User1 => {
                if let Some((writer, _)) = &helpers.log {
                    post.send(*writer, ToLogWriter::Reopen);
                }
            }
            Signal::User2 => {}
        }
    }
    notify::tell(State::Stopping);
    live.orders.end();
    drain((&live.data, live.pages.sets()), &mut post, (launched, watch), control, helpers)
}

fn orders_refused(error: StartError) -> String {
    format!(
        "certificates cannot be ordered: {error}; a directory that the server did not have at the start \
         needs a restart"
    )
}

/// A directory of a cache that is not there any more, without which no scheduler could open what it serves from.
fn missing_cache(data: &SiteData) -> Option<String> {
    let missing = data.cache_directories.iter().find(|directory| !directory.is_dir())?;
    let missing = missing.display();
    Some(format!("`directory` of `cache`: `{missing}` is gone; restart, which makes it again"))
}

/// Reloads the configuration. If it has errors it is refused, and the old one stays.
fn reload(
    source: &ConfigSource,
    Live { data, pages, certificates, orders }: &mut Live,
    reloads: &mut ReloadReport,
    post: &mut Post,
) {
    reloads.number += 1;
    reloads.problems.clear();
    match source.load_after(certificates.current(), data.generation + 1, pages.before(data)) {
        Ok(new) => {
            let fixed: Vec<String> = config::needs_restart(&data.config, &new.config)
                .iter()
                .map(|key| format!("`{key}` cannot change while the server runs; restart it"))
                .chain(orders.prepare(&new).err().map(orders_refused))
                .chain(missing_cache(&new))
                .collect();
            if fixed.is_empty() {
                *data = Arc::new(new);
                diagnostic::set_least(level_of(data.config.log.level));
                diagnostic::set_form(form_of(data.config.log.messages));
                for scheduler in post.schedulers() {
                    post.send(scheduler, ToScheduler::Reload(Arc::clone(data)));
                }
                post.tell_control(ToControl::Configured(Arc::clone(data)));
                pages.adopt(data, post);
                certificates.adopt(data, post);
                orders.adopt(data, certificates, post);
                diagnostic::write(
                    Level::Info,
                    format_args!("reloaded: configuration {} is in force", data.generation),
                );
            }
            reloads.problems = fixed;
        }
        Err(error) => {
            reloads.problems = error.to_string().lines().map(str::to_owned).collect();
            if error.is_permission() {
                let hint = "a directory that was not served at the start is closed by the sandbox: restart";
                reloads.problems.push(hint.to_owned());
            }
        }
    }
    for problem in &reloads.problems {
        diagnostic::write(
            Level::Error,
            format_args!("reload refused, the old configuration stays: {problem}"),
        );
    }
    if !reloads.problems.is_empty() {
        let text = "a reload was refused, the old configuration stays";
        let refused = Trouble::new(Kind::ReloadRefused, "", text).because(reloads.problems.clone());
        post.tell_control(ToControl::Trouble(Box::new(refused)));
    }
    post.tell_control(ToControl::Reloaded(Arc::new(reloads.clone())));
}

fn drain(
    (data, sets): (&SiteData, &[Arc<PageSet>]),
    post: &mut Post,
    (launched, mut watch): (Launched, Watch),
    control: Option<Launched>,
    helpers: Helpers,
) -> Result<(), ServeError> {
    let deadline_ms = milliseconds(data.config.drain_deadline);
    diagnostic::write(
        Level::Info,
        format_args!("draining: running requests have {:?} to finish", data.config.drain_deadline),
    );
    post.tell_control(ToControl::Draining);
    let idle_grace_ms = milliseconds(http::limits::DRAIN_IDLE_GRACE);
    for scheduler in post.schedulers() {
        post.send(scheduler, ToScheduler::Drain { deadline_ms, idle_grace_ms });
    }
    let ended = join(launched, (&mut watch, sets), data.config.drain_deadline);
    post.tell_control(ToControl::Stop);
    if let Some(control) = control {
        end_control(control)?;
    }
    if let Some((endpoint, helper)) = helpers.cache_disk {
        post.send(endpoint, ToCacheDisk::Stop);
        // Anything not stored by then is not stored.
        if helper.wait(limits::THREAD_END_WAIT) {
            let panicked = |_| ServeError::Thread(io::Error::other("the disks of caches panicked"));
            helper.join().map_err(panicked)?;
        }
    }
    if let Some(helper) = helpers.store {
        post.send(helper.endpoint, ToStoreWriter::Stop);
        end_store(helper)?;
    }
    if let Some((endpoint, writer)) = helpers.log {
        post.send(endpoint, ToLogWriter::Stop);
        end_log(writer)?;
    }
    ended
}

/// Waits for the control scheduler, whose only clients are of this host.
fn end_control(control: Launched) -> Result<(), ServeError> {
    if !control.wait(limits::THREAD_END_WAIT) {
        let line = format_args!("the control scheduler does not end: ended without it");
        diagnostic::write(Level::Warn, line);
        return Ok(());
    }
    control.join().map(drop).map_err(ServeError::Pollset)
}

/// Waits for the log writer. It gives up a reader in time, but may wait for a disk.
fn end_log(writer: HelperThread) -> Result<(), ServeError> {
    if !writer.wait(limits::THREAD_END_WAIT.saturating_add(limits::LOG_END_MAX)) {
        let line = "the access log does not take its last lines: ended without them";
        diagnostic::write(Level::Error, format_args!("{line}"));
        return Ok(());
    }
    let panicked = |_| ServeError::Thread(io::Error::other("the log writer panicked"));
    writer.join().map_err(panicked)
}

/// Waits for the writer of the store. If the writer waits for another program, or much too long for the disk, the
/// server ends without it: the connections of clients without an answer are closed by then.
fn end_store(StoreHelper { writer, store, .. }: StoreHelper) -> Result<(), ServeError> {
    let began_ns = monotonic_ns();
    let is_late = |most| monotonic_ns() >= began_ns.saturating_add(nanoseconds(most));
    while !writer.wait(limits::STORE_END_LOOK) {
        let reason = if store.waits_for_another_program() && is_late(limits::STORE_END_WAIT) {
            Some(
                "another program still writes into the store: ended without waiting for it; nothing that \
                 was answered is lost",
            )
        } else {
            is_late(limits::STORE_DISK_WAIT).then_some(
                "the disk does not take the last writes of the store: ended without waiting for it; what it \
                 has not taken is lost if the power fails",
            )
        };
        if let Some(reason) = reason {
            diagnostic::write(Level::Warn, format_args!("{reason}"));
            return Ok(());
        }
    }
    let panicked = |_| ServeError::Thread(io::Error::other("the writer of the store panicked"));
    writer.join().map_err(panicked)
}

/// Waits for the schedulers until the drain deadline. A scheduler that is then stuck in a turn is abandoned, and ends
/// with the process.
fn join(
    launched: Launched,
    (watch, sets): (&mut Watch, &[Arc<PageSet>]),
    deadline: Duration,
) -> Result<(), ServeError> {
    let most_ns = nanoseconds(deadline.saturating_add(limits::TURN_MAX));
    let late_ns = monotonic_ns().saturating_add(most_ns);
    while !launched.wait(limits::TURN_LOOK) {
        // Whoever waits for the end is told what is stuck when it is given up.
        let _told_then = watch.look(sets);
        let mut stuck = watch.stuck(sets);
        if monotonic_ns() >= late_ns.saturating_add(nanoseconds(limits::TURN_MAX)) {
            stuck.push("its connections were not closed at the end of the drain".to_owned());
        }
        if monotonic_ns() >= late_ns && !stuck.is_empty() {
            return Err(ServeError::Stuck(stuck));
        }
    }
    launched.join().map(drop).map_err(ServeError::Pollset)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    /// A control socket in a directory that has answered every question with its path.
    fn control_socket(directory: &std::path::Path) -> PathBuf {
        let path = directory.join("control.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let _detached = thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                let mut request = String::new();
                stream.read_line(&mut request).unwrap();
                let asked = request.split(' ').nth(1).unwrap();
                let answer =
                    format!("HTTP/1.1 200 OK\r\n\r\n{{\"list\":{{}},\"asked\":\"{asked}\"}}");
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        });
        path
    }

    #[test]
    fn a_panic_leaves_a_whole_dump_for_its_owner_and_many_leave_one() {
        let name = format!("velodrome-panic-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        runtime::panic::report_with_backtrace();
        let mut dumps = Dumps::of(Some(control_socket(&directory)));
        dumps.look();
        let file = directory.join("control.dump.json");
        assert!(!file.exists(), "nothing has panicked");
        let panic = || thread::spawn(|| panic!("induced by a test")).join().unwrap_err();
        panic();
        dumps.look();
        let told: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(told["reason"], "a panic");
        for part in ["status", "stats", "memory", "upstreams", "cache", "events"] {
            assert_eq!(told[part]["asked"], format!("/{part}"));
        }
        let lists = told["lists"].as_object().unwrap();
        assert_eq!(lists.len(), live::List::ALL.len());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::remove_file(&file).unwrap();
        panic();
        dumps.look();
        assert!(!file.exists(), "another one so soon has none");
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
