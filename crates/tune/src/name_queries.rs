//! Questions of the server to name servers (DNS) that were open when it was looked at.
//!
//! Owns how they are found, and their text form, which is read as a file. Asks nothing itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::descriptors::OpenDescriptor;
use crate::files::HostFiles;
use crate::limits::THREADS;
use crate::processes::Process;

/// The path under which they are read.
pub(crate) fn place(process: u32) -> String {
    format!("/velodrome/names/{process}")
}

/// The questions that were open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameQueries {
    pub(crate) looks: u32,
    /// Looks at which one was open.
    pub(crate) open: u32,
    /// Questions, summed over all looks.
    pub(crate) all: u32,
    /// How often each name server was asked, as the kernel writes its address.
    pub(crate) servers: BTreeMap<String, u32>,
}

/// The port of name servers, as the kernel writes it.
const PORT: &str = ":0035";

/// Sockets of one program to name servers from which questions are open: one may be kept for questions to come.
const SEVERAL: usize = 3;

/// The sockets to name servers of a program and its relatives, look by look.
#[derive(Debug, Default)]
pub(crate) struct NameLooks {
    looks: Vec<Vec<Asking>>,
}

/// A socket that leads to a name server.
#[derive(Clone, Debug)]
struct Asking {
    server: String,
    inode: String,
    /// Whether its program waits in poll(2), as C libraries do for an answer, or has several of them.
    is_waiting: bool,
}

impl NameLooks {
    /// Notes one look at the UDP sockets of the network of these programs.
    pub(crate) fn look(&mut self, files: &HostFiles, members: &BTreeSet<u32>) {
        let Some(first) = members.first() else { return };
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for list in ["udp", "udp6"] {
            let text = files.text(&format!("/proc/{first}/net/{list}")).unwrap_or_default();
            known.extend(text.lines().filter_map(asked));
        }
        let mut all = Vec::new();
        for process in members.iter().filter(|_| !known.is_empty()) {
            let own: BTreeSet<String> = OpenDescriptor::all(files, *process)
                .iter()
                .filter_map(|one| Some(one.socket(files)?.to_string()))
                .filter(|inode| known.contains_key(inode))
                .collect();
            let is_waiting =
                own.len() >= SEVERAL || (!own.is_empty() && is_polling(files, *process));
            let asking = |inode: String| {
                let server = known.get(&inode).cloned().unwrap_or_default();
                Asking { server, inode, is_waiting }
            };
            all.extend(own.into_iter().map(asking));
        }
        self.looks.push(all);
    }

    /// The questions that were open. A socket that was there at each look, and for which nobody waits, has none.
    pub(crate) fn queries(&self) -> NameQueries {
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        self.looks.iter().flatten().for_each(|one| *times.entry(&one.inode).or_default() += 1);
        let is_open = |one: &&Asking| {
            one.is_waiting || times.get(&*one.inode).is_some_and(|times| *times < self.looks.len())
        };
        let mut found = NameQueries { looks: self.looks.len() as u32, ..NameQueries::default() };
        for look in &self.looks {
            let open: Vec<&Asking> = look.iter().filter(is_open).collect();
            found.open += u32::from(!open.is_empty());
            found.all += open.len() as u32;
            for one in open {
                *found.servers.entry(one.server.clone()).or_default() += 1;
            }
        }
        found
    }
}

/// The numbers of `poll` and `ppoll`: x86-64, others.
const POLLS: [&str; 3] = ["7", "271", "73"];

/// Whether a thread of a program sleeps in poll(2).
fn is_polling(files: &HostFiles, process: u32) -> bool {
    let mut threads = Process::threads(files, process).into_iter().take(THREADS);
    threads.any(|thread| {
        let call = files.text(&format!("/proc/{process}/task/{thread}/syscall"));
        call.is_some_and(|call| POLLS.contains(&call.split(' ').next().unwrap_or_default()))
    })
}

impl NameQueries {
    pub(crate) fn text(&self) -> String {
        let servers = self.servers.iter().map(|(server, count)| format!("{server} {count}\n"));
        format!("{} {} {}\n{}", self.looks, self.open, self.all, servers.collect::<String>())
    }

    /// Parses it; broken lines are left out.
    pub(crate) fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let mut numbers = first.split(' ').filter_map(|word| word.parse().ok());
        let mut number = || numbers.next().unwrap_or(0);
        let (looks, open, all) = (number(), number(), number());
        let server = |line: &str| {
            let (server, count) = line.split_once(' ')?;
            Some((server.to_owned(), count.parse().ok()?))
        };
        Self { looks, open, all, servers: lines.filter_map(server).collect() }
    }
}

/// The inode of a line of `/proc/net/udp` and the name server, if the socket leads to one.
fn asked(line: &str) -> Option<(String, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let server = words.get(2)?.strip_suffix(PORT)?;
    Some(((*words.get(9)?).to_owned(), address(server)?))
}

/// An address that the kernel writes as hexadecimal words in the order of the machine's bytes.
fn address(text: &str) -> Option<String> {
    let word = |at: usize| u32::from_str_radix(text.get(at..at + 8)?, 16).ok();
    match text.len() {
        8 => Some(std::net::Ipv4Addr::from(word(0)?.to_ne_bytes()).to_string()),
        32 => {
            let mut bytes = [0; 16];
            for (at, chunk) in bytes.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(at * 8)?.to_ne_bytes());
            }
            Some(std::net::Ipv6Addr::from(bytes).to_canonical().to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::path::Path;

    use super::*;

    #[test]
    fn questions_are_written_and_read() {
        let servers = BTreeMap::from([("10.0.0.2".to_owned(), 3)]);
        let all = NameQueries { looks: 10, open: 2, all: 3, servers };
        assert_eq!(NameQueries::read(&format!("{}nonsense\n", all.text())), all);
        assert_eq!(NameQueries::read(""), NameQueries::default());
    }

    #[test]
    fn open_questions_are_told_from_a_socket_that_is_kept() {
        let one = |inode: &str, is_waiting| Asking {
            server: "10.0.0.2".to_owned(),
            inode: inode.to_owned(),
            is_waiting,
        };
        let open = |looks: Vec<Vec<Asking>>| {
            let queries = NameLooks { looks }.queries();
            (queries.looks, queries.open, queries.all)
        };
        let kept = || one("1", false);
        assert_eq!(open(vec![vec![kept()], vec![kept()]]), (2, 0, 0));
        assert_eq!(open(vec![vec![kept()], vec![kept(), one("2", false)]]), (2, 1, 1));
        assert_eq!(open(vec![vec![one("1", true)], vec![one("1", true)]]), (2, 2, 2));
    }

    #[test]
    fn sockets_to_name_servers_are_seen_and_only_of_the_program() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect("127.0.0.53:53").unwrap();
        let files = HostFiles::below(Path::new("/"));
        let mut looks = NameLooks::default();
        looks.look(&files, &BTreeSet::from([std::process::id()]));
        // The parent of this test does not have its socket.
        looks.look(&files, &BTreeSet::from([std::os::unix::process::parent_id()]));
        let servers = |look: &Vec<Asking>| look.iter().map(|one| one.server.clone()).collect();
        let seen: Vec<Vec<String>> = looks.looks.iter().map(servers).collect();
        assert!(seen[0].contains(&"127.0.0.53".to_owned()), "{seen:?}");
        assert!(!seen[1].contains(&"127.0.0.53".to_owned()), "{seen:?}");
    }
}
