//! Other servers that speak TLS: those of Python and OpenSSL, as processes.
//!
//! Owns their start and their end. What Python's does is in `foreign_tls.py`.

use std::io::{BufRead, BufReader, Lines};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

use crate::server::Ending;

/// Another server.
pub(crate) struct Foreign {
    _process: Ending,
    /// Kept open: the server writes to it, and would end at its next line if it were closed.
    _output: Lines<BufReader<ChildStdout>>,
    address: SocketAddr,
}

/// The certificate and the key of a server, as files.
pub(crate) type Files = (PathBuf, PathBuf);

impl Foreign {
    /// Python's, with this certificate, the authority of its clients if they must show one, and the newest version of
    /// TLS that it speaks, such as `TLSv1_3`.
    pub(crate) fn python(files: &Files, clients: Option<&Path>, version: &str) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", include_str!("foreign_tls.py")]).args([&files.0, &files.1]);
        command.arg(clients.unwrap_or(Path::new(""))).arg(version);
        Self::start(command, |line| line.trim().parse().ok())
    }

    /// OpenSSL's, which shows a page about each connection, with these arguments too.
    pub(crate) fn openssl(files: &Files, arguments: &[&str]) -> Self {
        let mut command = Command::new("openssl");
        command.args(["s_server", "-www", "-accept", "127.0.0.1:0", "-cert"]).arg(&files.0);
        command.arg("-key").arg(&files.1).args(arguments);
        Self::start(command, |line| line.trim().strip_prefix("ACCEPT 127.0.0.1:")?.parse().ok())
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts it, and waits for the line that tells its port.
    fn start(mut command: Command, port: impl Fn(&str) -> Option<u16>) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap()).lines();
        let process = Ending(process);
        let port = output.by_ref().map_while(Result::ok).find_map(|line| port(&line)).unwrap();
        Self { _process: process, _output: output, address: ([127, 0, 0, 1], port).into() }
    }
}
