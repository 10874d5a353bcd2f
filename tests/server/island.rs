//! A server of NATS in a network namespace of its own, with a cable to each node: what a cable carries that is cut is
//! lost without a word, as between two halves of a network.
//!
//! Owns the namespace, which lasts as long as its server, and the cables. Never changes another interface of the host.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};

use super::directory::Directory;
use super::nats::start_node;
use super::patience::until;
use super::{Ending, Plan, Server, has, run};

const PORT: u16 = 4222;

/// The server, and its cables.
pub(crate) struct Island {
    nats: Ending,
    _directory: Directory,
    network: [u8; 3],
}

impl Island {
    /// Starts one with so many cables. `None`: it cannot be here, which was said.
    #[expect(clippy::print_stdout, reason = "what is skipped has to be seen")]
    pub(crate) fn start(test: &str, cables: u8) -> Option<Self> {
        if !has("nats-server", test) {
            return None;
        }
        if !works("unshare --net true && ip link show lo") {
            println!("SKIPPED {test}: no network namespace can be made here");
            return None;
        }
        let directory = Directory::new();
        let mut command = Command::new("unshare");
        let begin = format!(
            "ip link set lo up; exec nats-server -js -a 0.0.0.0 -p {PORT} -sd {}",
            directory.join("nats").display()
        );
        command.args(["--net", "sh", "-c", &begin]).env("PATH", path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let nats = Ending(command.spawn().unwrap());
        let island = Self { nats, _directory: directory, network: free_network() };
        let own = std::fs::read_link("/proc/self/ns/net").unwrap();
        let namespace = format!("/proc/{}/ns/net", island.nats.0.id());
        until("a network namespace", || {
            std::fs::read_link(&namespace).ok().filter(|there| *there != own)
        });
        (0..cables).for_each(|cable| island.lay(cable));
        until("NATS to listen", || TcpStream::connect(island.address(0)).ok());
        Some(island)
    }

    fn lay(&self, cable: u8) {
        let (pid, here, there) = (self.nats.0.id(), self.end(cable, 'h'), self.end(cable, 't'));
        let [of_node, of_nats] = self.addresses(cable);
        obey(&format!("ip link add {here} type veth peer name {there} netns {pid}"));
        obey(&format!("ip addr add {of_node}/30 dev {here} && ip link set {here} up"));
        obey(&format!("nsenter -t {pid} -n ip addr add {of_nats}/30 dev {there}"));
        self.mend(cable);
    }

    /// Cuts a cable, on the side of NATS: the node is told nothing.
    pub(crate) fn cut(&self, cable: u8) {
        self.set(cable, "down");
    }

    /// Mends it.
    pub(crate) fn mend(&self, cable: u8) {
        self.set(cable, "up");
    }

    fn set(&self, cable: u8, state: &str) {
        let (pid, there) = (self.nats.0.id(), self.end(cable, 't'));
        obey(&format!("nsenter -t {pid} -n ip link set {there} {state}"));
    }

    /// The name of an interface, which has at most 15 letters.
    fn end(&self, cable: u8, side: char) -> String {
        format!("vd{}{side}{cable}", self.nats.0.id())
    }

    /// The addresses of both ends of a cable.
    fn addresses(&self, cable: u8) -> [Ipv4Addr; 2] {
        let [a, b, c] = self.network;
        [1, 2].map(|side| Ipv4Addr::new(a, b, c, 4 * cable + side))
    }

    fn address(&self, cable: u8) -> SocketAddr {
        SocketAddr::from((self.addresses(cable)[1], PORT))
    }

    /// The section that makes a server the node at the end of a cable.
    pub(crate) fn section(&self, cable: u8, name: &str) -> String {
        format!("[cluster]\nservers = [\"nats://{}\"]\nname = \"{name}\"\n", self.address(cable))
    }

    /// A node at the end of a cable, which is connected; with a listener for Redis clients.
    pub(crate) fn node(&self, cable: u8, config: &str, files: &[(&str, &str)]) -> Server {
        let plan = Plan::new();
        for (file, content) in files {
            plan.directory.write(file, content);
        }
        let section = self.section(cable, &format!("node-{cable}"));
        start_node(plan.config(&format!("{config}\n{section}")))
    }
}

/// A network for benchmarks of networks (RFC 2544), so of nobody, that no interface of the host has.
fn free_network() -> [u8; 3] {
    static NEXT: AtomicU8 = AtomicU8::new(0);
    let first = std::process::id() as u8;
    until("a free network", || {
        let third = first.wrapping_mul(16).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let command = format!("ip -o addr show to 198.18.{third}.0/24");
        let shown = run(Command::new("sh").args(["-c", &command]).env("PATH", path()));
        shown.stdout.is_empty().then_some([198, 18, third])
    })
}

/// With the directories of programs for the administrator.
fn path() -> String {
    format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default())
}

fn works(command: &str) -> bool {
    run(Command::new("sh").args(["-c", command]).env("PATH", path())).status.success()
}

fn obey(command: &str) {
    let output = run(Command::new("sh").args(["-c", command]).env("PATH", path()));
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}
