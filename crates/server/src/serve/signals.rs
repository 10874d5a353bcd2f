//! What the main thread does while the server runs: it waits for signals and passes on what they mean.
//!
//! Owns reload, drain and log reopening, and when pages are read again. Touches no connection.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use runtime::clock::{milliseconds, nanoseconds};
use runtime::diagnostic::{self, Level};
use runtime::helper::send_patiently;
use runtime::launch::Launched;
use runtime::mailbox::{Endpoint, Mailbox, Seat};
use sd_notify::NotifyState;
use sys::clock::monotonic_ns;
use sys::signal::{Arrival, Inbox, Signal, SignalSet};

use super::error::ServeError;
use super::live_pages::LivePages;
use super::settings::level_of;
use super::watch::Watch;
use crate::limits;
use crate::load::Source;
use crate::message::{Message, ReloadReport, ToControl, ToLogWriter, ToScheduler};
use crate::site::SiteData;
use config::{Config, Listener, Pages};
use pages::PageSet;

/// Threads besides the schedulers.
pub(super) struct Helpers {
    /// The log writer.
    pub(super) log: Option<(Endpoint, JoinHandle<()>)>,
    /// The number of the control scheduler's endpoint; schedulers are those before it.
    pub(super) control: usize,
}

/// Waits for signals until the server has drained.
pub(super) fn run(
    source: &Source,
    (data, mut pages): (&Arc<SiteData>, LivePages),
    seat: Seat<Message>,
    (launched, mut watch): (Launched, Watch),
    control: Option<Launched>,
    helpers: Helpers,
) -> Result<(), ServeError> {
    let mut post = Post {
        mailbox: seat.mailbox,
        schedulers: helpers.control,
        control: control.is_some().then(|| endpoint(helpers.control)),
    };
    let mut reloads = ReloadReport::default();
    let mut data = Arc::clone(data);
    let inbox = Inbox::new(SignalSet::all()).map_err(ServeError::Signals)?;
    pages.begin(&data, &mut post);
    notify(&[NotifyState::Ready]);
    loop {
        let due_in = pages.due_in().map_or(limits::TURN_LOOK, |due| due.min(limits::TURN_LOOK));
        let arrival = inbox.wait(pages.descriptor(), Some(due_in));
        watch.look(pages.sets());
        let signal = match arrival.map_err(ServeError::Signals)? {
            Arrival::Signal(signal) => signal,
            Arrival::Readable | Arrival::Nothing => {
                pages.look();
                // Also when changes do not end, and there is always something to read.
                if pages.due_in().is_some_and(|left| left.is_zero()) {
                    pages.read_again(&data, &mut post);
                }
                continue;
            }
        };
        diagnostic::write(Level::Debug, format_args!("signal: {signal:?}"));
        match signal {
            Signal::Terminate | Signal::Interrupt | Signal::Quit => break,
            Signal::Hangup => {
                notify_reloading();
                reload(source, (&mut data, &mut pages), &mut reloads, &mut post);
                notify(&[NotifyState::Ready]);
            }
            Signal::User1 => {
                if let Some((writer, _)) = &helpers.log {
                    post.send(*writer, ToLogWriter::Reopen);
                }
            }
            Signal::User2 => {}
        }
    }
    notify(&[NotifyState::Stopping]);
    drain((&data, pages.sets()), &mut post, (launched, watch), control, helpers)
}

/// Reads the configuration again; a bad one is refused and the old one stays in force.
fn reload(
    source: &Source,
    (data, pages): (&mut Arc<SiteData>, &mut LivePages),
    reloads: &mut ReloadReport,
    post: &mut Post,
) {
    reloads.number += 1;
    reloads.problems.clear();
    match source.load(data.generation + 1, pages.before(data)) {
        Ok(new) => {
            let fixed = what_needs_a_restart(data, &new);
            if fixed.is_empty() {
                *data = Arc::new(new);
                diagnostic::set_least(level_of(data.config.log.level));
                for scheduler in post.schedulers() {
                    post.send(scheduler, ToScheduler::Reload(Arc::clone(data)));
                }
                pages.adopt(data, post);
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
    post.tell_control(ToControl::Reloaded(Arc::new(reloads.clone())));
}

/// Settings that only a restart can change, where they differ.
fn what_needs_a_restart(old: &SiteData, new: &SiteData) -> Vec<String> {
    let (old, new) = (&old.config, &new.config);
    let differs = [
        ("listener.address", each(old, |one| &one.address) != each(new, |one| &one.address)),
        ("listener.backlog", each(old, |one| &one.backlog) != each(new, |one| &one.backlog)),
        (
            "listener.defer_accept",
            each(old, |one| &one.defer_accept) != each(new, |one| &one.defer_accept),
        ),
        ("listener.mode", each(old, |one| &one.mode) != each(new, |one| &one.mode)),
        ("listener.protocol", each(old, |one| &one.protocol) != each(new, |one| &one.protocol)),
        ("schedulers", old.schedulers != new.schedulers),
        ("pin", old.pin != new.pin),
        ("user", old.user != new.user),
        ("spin", old.spin != new.spin),
        ("reuseport_cpu", old.steering != new.steering),
        ("descriptor_tables", old.descriptor_tables != new.descriptor_tables),
        ("log.access", old.log.access != new.log.access),
        ("log.format", old.log.format != new.log.format),
        ("admin", old.admin != new.admin),
        ("limits.connections", old.limits.connections != new.limits.connections),
        ("limits.send_idle", old.limits.send_idle != new.limits.send_idle),
        ("limits.send_rate", old.limits.send_rate != new.limits.send_rate),
        ("limits.unread_body_size", old.limits.unread_body_size != new.limits.unread_body_size),
        (
            "limits.unread_body_deadline",
            old.limits.unread_body_deadline != new.limits.unread_body_deadline,
        ),
    ];
    let named = |name: &str| format!("`{name}` cannot change while the server runs; restart it");
    let pages = pages_that_differ(&old.pages, &new.pages);
    let all = differs.iter().chain(&pages);
    all.filter(|(_, differs)| *differs).map(|(name, _)| named(name)).collect()
}

/// The keys of `[pages]`, and whether they differ.
fn pages_that_differ(old: &Pages, new: &Pages) -> [(&'static str, bool); 16] {
    // All of them by name, so that none is forgotten. Which errors are shown is said by a flag, not by a key.
    let Pages {
        enabled,
        code,
        slice,
        cpu_budget,
        deadline,
        memory,
        memory_per_request,
        process_memory,
        table_size,
        fetch,
        secret_file,
        session_age,
        secure_cookies,
        uploads,
        upload_size,
        uploads_size,
        // Looked at for each answer.
        compress: _,
        errors: _,
    } = old;
    [
        ("pages.enabled", *enabled != new.enabled),
        ("pages.native", *code != new.code),
        ("pages.slice", *slice != new.slice),
        ("pages.cpu_budget", *cpu_budget != new.cpu_budget),
        ("pages.deadline", *deadline != new.deadline),
        ("pages.memory", *memory != new.memory),
        ("pages.memory_per_request", *memory_per_request != new.memory_per_request),
        ("pages.process_memory", *process_memory != new.process_memory),
        ("pages.table_size", *table_size != new.table_size),
        ("pages.fetch", *fetch != new.fetch),
        ("pages.secret_file", *secret_file != new.secret_file),
        ("pages.session_age", *session_age != new.session_age),
        ("pages.secure_cookies", *secure_cookies != new.secure_cookies),
        ("pages.uploads", *uploads != new.uploads),
        ("pages.upload_size", *upload_size != new.upload_size),
        ("pages.uploads_size", *uploads_size != new.uploads_size),
    ]
}

/// A setting of each listener, in order.
fn each<T>(config: &Config, of: impl Fn(&Listener) -> &T) -> Vec<&T> {
    config.listeners.iter().map(of).collect()
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
        format_args!("draining: what runs has {:?} to end", data.config.drain_deadline),
    );
    post.tell_control(ToControl::Draining);
    let idle_grace_ms = milliseconds(http::limits::DRAIN_IDLE_GRACE);
    for scheduler in post.schedulers() {
        post.send(scheduler, ToScheduler::Drain { deadline_ms, idle_grace_ms });
    }
    let ended = join(launched, (&mut watch, sets), data.config.drain_deadline);
    post.tell_control(ToControl::Stop);
    if let Some(control) = control {
        control.join().map_err(ServeError::Pollset)?;
    }
    if let Some((endpoint, writer)) = helpers.log {
        post.send(endpoint, ToLogWriter::Stop);
        let joined = writer.join();
        joined.map_err(|_| ServeError::Thread(io::Error::other("the log writer panicked")))?;
    }
    ended
}

/// Waits for the schedulers until the drain deadline is over. A scheduler that is stuck in a turn then is left behind, and ends with the
/// process.
fn join(
    launched: Launched,
    (watch, sets): (&mut Watch, &[Arc<PageSet>]),
    deadline: Duration,
) -> Result<(), ServeError> {
    let most_ns = nanoseconds(deadline.saturating_add(limits::TURN_MAX));
    let late_ns = monotonic_ns().saturating_add(most_ns);
    while !launched.wait(limits::TURN_LOOK) {
        watch.look(sets);
        let stuck = watch.stuck(sets);
        if monotonic_ns() >= late_ns && !stuck.is_empty() {
            return Err(ServeError::Stuck(stuck));
        }
    }
    launched.join().map(drop).map_err(ServeError::Pollset)
}

fn endpoint(number: usize) -> Endpoint {
    Endpoint(u16::try_from(number).expect("endpoints are numbered in u16"))
}

/// The main thread's way to the others.
pub(super) struct Post {
    mailbox: Mailbox<Message>,
    schedulers: usize,
    /// The control scheduler, where there is one.
    control: Option<Endpoint>,
}

impl Post {
    /// All schedulers but the control scheduler.
    pub(super) fn schedulers(&self) -> impl Iterator<Item = Endpoint> + use<> {
        (0..self.schedulers).map(endpoint)
    }

    pub(super) fn tell_control(&mut self, message: ToControl) {
        if let Some(control) = self.control {
            self.send(control, message);
        }
    }

    pub(super) fn send(&mut self, to: Endpoint, message: impl Into<Message>) {
        if send_patiently(&mut self.mailbox, to, message.into()).is_err() {
            let text =
                "is not told: it has not taken a message for seconds; is its core taken away?";
            diagnostic::write(Level::Error, format_args!("endpoint {} {text}", to.0));
        }
    }
}

fn notify(states: &[NotifyState<'_>]) {
    // Without a service manager there is nobody to tell.
    let _nobody_to_tell = sd_notify::notify(states);
}

/// `RELOADING=1` wants the time it began (sd_notify(3)), or `systemctl reload` waits for ever.
fn notify_reloading() {
    if let Ok(time) = NotifyState::monotonic_usec_now() {
        notify(&[NotifyState::Reloading, time]);
    }
}
