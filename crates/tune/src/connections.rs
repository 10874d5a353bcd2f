//! The sockets of a running server: on which CPU the packets of its connections arrive, and how
//! long the queues of its listeners are.
//!
//! Owns how a thread's sockets are found: through the epoll that it waits in. Inspects a sample of
//! them through duplicates that are closed at once. Sends and sets nothing.

use std::collections::BTreeSet;
use std::path::Path;

use sys::foreign::{Foreign, ForeignTable};

use crate::files::HostFiles;
use crate::limits::{SOCKETS_ASKED, THREADS, WAITING_LOOK, WAITING_LOOKS};
use crate::processes::Process;

/// The path under which the answers are read: `worker CPU connections N elsewhere N waiting N`, `listener BACKLOG`,
/// `epoll POLLING`.
pub(crate) fn place(process: u32) -> String {
    format!("/velodrome/sockets/{process}")
}

/// The sums over all inspected sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sockets {
    /// Inspected connections with other machines, of threads that are bound to a CPU.
    pub(crate) connections: u64,
    /// Connections whose last packet another CPU received.
    pub(crate) elsewhere: u64,
    /// Connections without `TCP_NODELAY`: small writes wait for an acknowledgement.
    pub(crate) waiting: u64,
    /// The shortest accept queue of a listener.
    pub(crate) backlog: Option<u64>,
    /// The longest time for which an epoll busy-polls devices.
    pub(crate) polling_us: u64,
}

impl Sockets {
    /// Parses the output of [`told`].
    pub(crate) fn read(text: &str) -> Self {
        let mut all = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(0);
            match words.first() {
                Some(&"worker") => {
                    all.connections += number(3);
                    all.elsewhere += number(5);
                    all.waiting += number(7);
                }
                Some(&"listener") => {
                    all.backlog = Some(all.backlog.unwrap_or(u64::MAX).min(number(1)));
                }
                Some(&"epoll") => all.polling_us = all.polling_us.max(number(1)),
                _ => {}
            }
        }
        all
    }
}

/// Inspects the sockets of a program of this host; `None` if that is not permitted.
pub(crate) fn told(members: &BTreeSet<u32>) -> Option<String> {
    // Not the host's own files: a recorded host need not have each descriptor.
    let files = HostFiles::below(Path::new("/"));
    let lines: String = members.iter().filter_map(|process| of_program(&files, *process)).collect();
    (!lines.is_empty()).then_some(lines)
}

/// The lines of one program.
fn of_program(files: &HostFiles, process: u32) -> Option<String> {
    let threads = files.names(&format!("/proc/{process}/task"));
    let mut threads: Vec<u32> = threads.iter().filter_map(|name| name.parse().ok()).collect();
    threads.truncate(THREADS);
    // A thread that ends in the meantime has no lines.
    let of_thread = |thread: &u32| {
        let epoll = epoll_of(files, process, *thread, threads.len())?;
        of_epoll(files, process, *thread, epoll)
    };
    let lines: String = threads.iter().filter_map(of_thread).collect();
    (!lines.is_empty()).then_some(lines)
}

/// The lines of one thread; `None` if its sockets may not be inspected.
fn of_epoll(files: &HostFiles, process: u32, thread: u32, epoll: i32) -> Option<String> {
    let table = ForeignTable::of(process, thread).ok()?;
    let info = files.text(&format!("/proc/{process}/task/{thread}/fdinfo/{epoll}"))?;
    let number =
        |line: &str| line.strip_prefix("tfd:")?.split_whitespace().next()?.parse::<i32>().ok();
    let targets: Vec<i32> = info.lines().filter_map(number).collect();
    let bound = match *Process::thread_allowed(files, process, thread).unwrap_or_default() {
        [cpu] => Some(cpu),
        _ => None,
    };
    let (mut listeners, mut counts) = (String::new(), [0_u64; 3]);
    // Spread over all of them, because the first ones are the oldest.
    for target in targets.iter().step_by(targets.len() / SOCKETS_ASKED + 1) {
        match table.socket(*target) {
            Ok(Foreign::Listener { backlog }) => {
                listeners.push_str(&format!("listener {backlog}\n"));
            }
            Ok(Foreign::Connection { is_near, cpu, waits_to_send }) => {
                // Within this machine a packet comes from the CPU of its sender.
                let bound = bound.filter(|_| !is_near);
                let is_elsewhere = bound.is_some_and(|bound| bound != cpu as usize);
                counts[0] += u64::from(bound.is_some());
                counts[1] += u64::from(is_elsewhere);
                counts[2] += u64::from(waits_to_send);
            }
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return None,
            // No socket, or closed in the meantime.
            Ok(Foreign::Other) | Err(_) => {}
        }
    }
    let polling =
        table.polling_us(epoll).map_or_else(|_| String::new(), |us| format!("epoll {us}\n"));
    let [connections, elsewhere, waiting] = counts;
    let cpu = bound.map_or_else(|| "any".to_owned(), |cpu| cpu.to_string());
    Some(format!(
        "worker {cpu} connections {connections} elsewhere {elsewhere} waiting {waiting}\n{listeners}{polling}"
    ))
}

/// The epoll that a thread waits in: the one it was seen in; for a thread that never sleeps,
/// the only one in its descriptor table, if the table is its own.
fn epoll_of(files: &HostFiles, process: u32, thread: u32, threads: usize) -> Option<i32> {
    for _ in 0..WAITING_LOOKS {
        match Seen::in_call(&files.text(&format!("/proc/{process}/task/{thread}/syscall"))?) {
            Seen::Waiting(epoll) => return Some(epoll),
            Seen::Elsewhere => return None,
            Seen::Running => std::thread::sleep(WAITING_LOOK),
        }
    }
    let list = |thread: u32| files.names(&format!("/proc/{process}/task/{thread}/fd"));
    let own = list(thread);
    let is_epoll = |name: &&String| {
        let link = files.link(&format!("/proc/{process}/task/{thread}/fd/{name}"));
        link.is_some_and(|to| to == "anon_inode:[eventpoll]")
    };
    let epolls: Vec<i32> =
        own.iter().filter(is_epoll).filter_map(|name| name.parse().ok()).collect();
    let is_alone = threads == 1 || (thread != process && own != list(process));
    match *epolls {
        [epoll] if is_alone => Some(epoll),
        _ => None,
    }
}

/// Where a thread was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// In this epoll.
    Waiting(i32),
    /// In another system call: it does not wait for sockets now.
    Elsewhere,
    Running,
}

/// The numbers of `epoll_wait`, `epoll_pwait` and `epoll_pwait2` (x86-64, others).
const WAITS: [i64; 4] = [232, 281, 22, 441];

impl Seen {
    /// Parses `/proc/PID/task/TID/syscall`: the number of the call and its arguments, or `running`.
    fn in_call(text: &str) -> Self {
        let mut words = text.split(' ');
        let Some(call) = words.next().and_then(|word| word.parse::<i64>().ok()) else {
            return Self::Running;
        };
        let first = words.next().and_then(|word| word.strip_prefix("0x"));
        let epoll = first.and_then(|word| i32::from_str_radix(word, 16).ok());
        match epoll.filter(|_| WAITS.contains(&call)) {
            Some(epoll) => Self::Waiting(epoll),
            None => Self::Elsewhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_states_are_summed() {
        let text = "worker 0 connections 10 elsewhere 4 waiting 0\nlistener 511\nepoll 0\n\
                    worker 1 connections 5 elsewhere 5 waiting 1\nlistener 128\nepoll 50\n";
        let expected = Sockets {
            connections: 15,
            elsewhere: 9,
            waiting: 1,
            backlog: Some(128),
            polling_us: 50,
        };
        assert_eq!(Sockets::read(text), expected);
        assert_eq!(Sockets::read("nonsense\n\nworker x"), Sockets::default());
    }

    #[test]
    fn the_epoll_of_a_waiting_thread_is_its_first_argument() {
        let call = "232 0x7 0x7ffe 0x40 0xffffffff 0x0 0x8 0x7ff 0x7f0";
        assert_eq!(Seen::in_call(call), Seen::Waiting(7));
        for (text, seen) in [
            ("running", Seen::Running),
            ("", Seen::Running),
            ("202 0x3 0x0", Seen::Elsewhere),
            ("-1 0x7ff 0x7f0", Seen::Elsewhere),
            ("232", Seen::Elsewhere),
        ] {
            assert_eq!(Seen::in_call(text), seen, "{text}");
        }
    }
}
