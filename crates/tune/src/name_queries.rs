//! Questions of the server to name servers (DNS) that were open when it was looked at.
//!
//! Owns how they are found, and their text form, which is read as a file. Asks nothing itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::HostFiles;
use crate::limits::DESCRIPTORS;

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

impl NameQueries {
    /// Notes one look at the UDP sockets of the network of a program, and of these programs.
    pub(crate) fn look(&mut self, files: &HostFiles, members: &BTreeSet<u32>) {
        let Some(first) = members.first() else { return };
        self.looks += 1;
        let mut asking: Vec<(String, String)> = Vec::new();
        for list in ["udp", "udp6"] {
            let text = files.text(&format!("/proc/{first}/net/{list}")).unwrap_or_default();
            asking.extend(text.lines().filter_map(asked));
        }
        if asking.is_empty() {
            return;
        }
        let own = sockets(files, members);
        asking.retain(|(_, inode)| own.contains(inode));
        self.open += u32::from(!asking.is_empty());
        self.all += asking.len() as u32;
        for (server, _) in asking {
            *self.servers.entry(server).or_default() += 1;
        }
    }

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

/// The name server and the inode of a line of `/proc/net/udp`, if the socket asks one.
fn asked(line: &str) -> Option<(String, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let server = words.get(2)?.strip_suffix(PORT)?;
    Some((address(server)?, (*words.get(9)?).to_owned()))
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

/// The inodes of the sockets among the first descriptors of each program.
fn sockets(files: &HostFiles, members: &BTreeSet<u32>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for process in members {
        let place = format!("/proc/{process}/fd");
        for name in files.names(&place).iter().take(DESCRIPTORS) {
            let to = files.link(&format!("{place}/{name}")).unwrap_or_default();
            let inode = to.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
            all.extend(inode.map(str::to_owned));
        }
    }
    all
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
    fn an_open_question_is_seen_and_only_of_the_program() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect("127.0.0.53:53").unwrap();
        let files = HostFiles::below(Path::new("/"));
        let mut seen = NameQueries::default();
        seen.look(&files, &BTreeSet::from([std::process::id()]));
        assert_eq!((seen.looks, seen.open), (1, 1), "{seen:?}");
        assert!(seen.servers.contains_key("127.0.0.53"), "{seen:?}");
        // The parent of this test does not have its socket.
        let mut other = NameQueries::default();
        other.look(&files, &BTreeSet::from([std::os::unix::process::parent_id()]));
        assert_eq!((other.looks, other.open), (1, 0), "{other:?}");
    }
}
