//! A server of NATS for tests: a process with a directory of its own, which ends with the test.
//!
//! Owns its port and its directory. Never ends a process it did not start.

use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use super::channel::say;
use super::directory::Directory;
use super::patience::until;
use super::{Plan, Server, free_address, has};

/// A server of NATS with JetStream.
#[derive(Debug)]
pub(crate) struct Nats {
    child: Child,
    address: SocketAddr,
    directory: Directory,
    arguments: Vec<String>,
}

impl Nats {
    /// Starts one. `None`: it is not installed, which was said.
    pub(crate) fn start(test: &str) -> Option<Self> {
        Self::start_with(test, &[])
    }

    /// The same with these arguments.
    pub(crate) fn start_with(test: &str, arguments: &[&str]) -> Option<Self> {
        let arguments = [&["-js"], arguments].concat();
        Self::start_in(test, Directory::new(), &arguments)
    }

    /// The same with this configuration.
    pub(crate) fn start_configured(test: &str, config: &str) -> Option<Self> {
        let directory = Directory::new();
        directory.write("nats.conf", config);
        let file = directory.join("nats.conf").display().to_string();
        Self::start_in(test, directory, &["-js", "-c", &file])
    }

    /// One without JetStream.
    pub(crate) fn start_without_jetstream(test: &str) -> Option<Self> {
        Self::start_in(test, Directory::new(), &[])
    }

    fn start_in(test: &str, directory: Directory, arguments: &[&str]) -> Option<Self> {
        if !has("nats-server", test) {
            return None;
        }
        let address = free_address();
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        let child = launch(address, &directory, &arguments);
        let nats = Self { child, address, directory, arguments };
        nats.stand();
        Some(nats)
    }

    fn stand(&self) {
        until("NATS to listen", || TcpStream::connect(self.address).ok());
    }

    /// Ends it at once, and starts another one at its address. Its streams are lost, because they are in memory.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.start_again();
    }

    /// Starts it again after its end.
    pub(crate) fn start_again(&mut self) {
        self.child = launch(self.address, &self.directory, &self.arguments);
        self.stand();
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends a signal, such as `STOP`.
    pub(crate) fn signal(&self, name: &str) {
        let command = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &command]).status().unwrap();
        assert!(status.success(), "{command}: {status}");
    }

    /// The section that makes a server a node of its cluster.
    pub(crate) fn section(&self, name: &str) -> String {
        format!("[cluster]\nservers = [\"nats://{}\"]\nname = \"{name}\"\n", self.address)
    }

    /// A node with this further configuration, which is connected; with a listener for Redis clients.
    pub(crate) fn node(&self, name: &str, config: &str) -> Server {
        self.node_with(name, config, &[])
    }

    /// The same with files beside its configuration.
    pub(crate) fn node_with(&self, name: &str, config: &str, files: &[(&str, &str)]) -> Server {
        let plan = Plan::new();
        for (file, content) in files {
            plan.directory.write(file, content);
        }
        start_node(plan.config(&format!("{config}\n{}", self.section(name))))
    }

    /// A node with this whole configuration.
    pub(crate) fn node_of(&self, config: &str) -> Server {
        start_node(Plan::new().config(config))
    }

    /// Publishes bytes, as a node of another version would.
    pub(crate) fn publish(&self, subject: &str, payload: &[u8]) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let mut said =
            format!("CONNECT {{\"verbose\":false}}\r\nPUB {subject} {}\r\n", payload.len());
        said.push_str(&String::from_utf8_lossy(payload));
        said.push_str("\r\nPING\r\n");
        say(&mut stream, said.as_bytes(), b"PONG\r\n");
    }
}

/// Starts a node, which is connected.
pub(crate) fn start_node(plan: Plan) -> Server {
    let plan = plan.argument("--listen-resp=127.0.0.1:0");
    let server = plan.argument("--schedulers=2").argument("--no-pin").start();
    server.reaches("/cluster/connected", 2);
    server
}

fn launch(address: SocketAddr, directory: &Directory, arguments: &[String]) -> Child {
    let mut command = Command::new("nats-server");
    command.args(["-a", "127.0.0.1", "-p", &address.port().to_string(), "-sd"]);
    command.arg(directory.join("nats")).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

impl Drop for Nats {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}
