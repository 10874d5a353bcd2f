//! The servers that are compared: how each is started, on which port, and that it answers.
//!
//! Owns the child processes. Never measures.

use std::fs::OpenOptions;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::bench::client;
use crate::bench::host::Cores;
use crate::bench::load;
use crate::bench::site::Site;
use crate::bench::workload::{Load, Workload};
use crate::failure::Failure;
use crate::process::{self, Guarded};

/// The first port tried; below the range the kernel takes client ports from.
const FIRST_PORT: u16 = 21_000;

/// Ports tried before giving up.
const PORTS: u16 = 200;

/// A server that does not answer for so long after its start does not take part.
const START_LIMIT: Duration = Duration::from_secs(10);

/// Characters of a server's own complaint that are shown.
const COMPLAINT_CHARACTERS: usize = 300;

/// How a contender is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// The do-nothing server with its mode and the bytes of its body.
    Floor { mode: &'static str, body_bytes: usize },
    /// A program of examples/, which takes its address as first argument.
    Example(&'static str),
    /// `velodrome serve` on the folder of the site.
    Serve,
    /// nginx from the distribution, with a configuration of its own.
    Nginx,
}

/// One server in a comparison.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) start: Start,
}

const JSON_BODY_BYTES: usize = 27;

pub(crate) const FLOOR_KEPT: Contender = floor("kept", JSON_BODY_BYTES);
pub(crate) const FLOOR_PIPELINED: Contender = floor("pipelined", JSON_BODY_BYTES);
pub(crate) const FLOOR_SHORT: Contender = floor("short", JSON_BODY_BYTES);
/// Sends as many body bytes as the file has, so that only the serving differs.
pub(crate) const FLOOR_FILE: Contender = floor("kept", crate::bench::site::FILE_BYTES);
pub(crate) const JSON: Contender = Contender { name: OURS, start: Start::Example("json") };
pub(crate) const SERVE: Contender = Contender { name: OURS, start: Start::Serve };
pub(crate) const NGINX: Contender = Contender { name: "nginx", start: Start::Nginx };

/// The name of the contender that targets are about.
pub(crate) const OURS: &str = "velodrome";

const fn floor(mode: &'static str, body_bytes: usize) -> Contender {
    Contender { name: "floor", start: Start::Floor { mode, body_bytes } }
}

/// A contender that runs, pinned to the server core.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    /// The words that started it, without what pins it.
    pub(crate) command: String,
    guarded: Guarded,
}

impl Running {
    pub(crate) fn start(
        contender: &Contender,
        workload: &Workload,
        site: &Site,
        cores: &Cores,
    ) -> Result<Running, Failure> {
        let address = free_address()?;
        let words = command_line(contender, workload, site, address)?;
        Running::launch(contender.name, address, workload.path, &words, site, cores)
    }

    /// Starts a server by its words and waits until it answers.
    pub(crate) fn launch(
        name: &str,
        address: SocketAddr,
        path: &str,
        words: &[String],
        site: &Site,
        cores: &Cores,
    ) -> Result<Running, Failure> {
        let log = site.folder().join(format!("{name}.stderr"));
        let stderr = OpenOptions::new().create(true).write(true).truncate(true).open(&log)?;
        let mut command = pinned(cores.server);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        let mut guarded = Guarded::start(&mut command, name)?;
        let answers = process::wait_until(START_LIMIT, || {
            guarded.has_ended() || client::ask(address, path).is_ok()
        });
        if !answers || guarded.has_ended() {
            return Err(Failure::Work(format!("does not answer: {}", complaint(&log))));
        }
        client::ask(address, path)?;
        Ok(Running { address, command: words.join(" "), guarded })
    }

    /// The process ids that its cost is the sum of.
    pub(crate) fn family(&self) -> Vec<u32> {
        self.guarded.family()
    }
}

/// A command that runs on one core and ends with this tool even if the tool is killed.
fn pinned(core: usize) -> Command {
    let core = core.to_string();
    let pin = ["taskset", "-c", &core];
    let leash = ["setpriv", "--pdeathsig", "TERM"];
    let words: Vec<&str> = if process::is_installed("setpriv") {
        leash.into_iter().chain(pin).collect()
    } else {
        pin.to_vec()
    };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

fn command_line(
    contender: &Contender,
    workload: &Workload,
    site: &Site,
    address: SocketAddr,
) -> Result<Vec<String>, Failure> {
    let shown = |path: PathBuf| path.display().to_string();
    let mut words = match contender.start {
        Start::Floor { mode, body_bytes } => {
            vec![shown(site.floor()?), address.to_string(), mode.to_owned(), body_bytes.to_string()]
        }
        Start::Example(name) => vec![shown(site.example(name)?), address.to_string()],
        Start::Serve => vec![
            shown(site.velodrome()?),
            "serve".to_owned(),
            shown(site.files()),
            "--listen".to_owned(),
            address.to_string(),
        ],
        Start::Nginx => site.nginx(address.port())?,
    };
    if matches!((contender.start, workload.load), (Start::Floor { .. }, Load::Pipelined { .. })) {
        words.push(load::request(address, workload.path).len().to_string());
    }
    Ok(words)
}

/// An address where nobody listens.
pub(crate) fn free_address() -> Result<SocketAddr, Failure> {
    (FIRST_PORT..FIRST_PORT + PORTS)
        .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .find(|address| client::is_free(*address))
        .ok_or_else(|| Failure::Work(format!("no free port from {FIRST_PORT} on")))
}

/// The end of what a server said on stderr.
fn complaint(log: &std::path::Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let text = text.trim().replace('\n', " | ");
    let skipped = text.chars().count().saturating_sub(COMPLAINT_CHARACTERS);
    let tail: String = text.chars().skip(skipped).collect();
    if tail.is_empty() { "it said nothing".to_owned() } else { tail }
}
