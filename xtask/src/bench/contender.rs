//! The servers that are compared: how each is started, and that it has a core of its own.
//!
//! Owns the child processes. Never measures.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::bench::host::Cores;
use crate::bench::load;
use crate::bench::site::Site;
use crate::bench::workload::{Load, Workload};
use crate::failure::Failure;
use crate::process::Guarded;
use crate::server::{self, leashed};

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
    /// yaws from the distribution: for pages only.
    Yaws,
}

/// One server in a comparison.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) start: Start,
}

const JSON_BODY_BYTES: usize = 27;

pub(crate) const FLOOR_KEPT: Contender = floor("kept", JSON_BODY_BYTES);
/// Keeps also the connections of clients that ask for it by name.
pub(crate) const FLOOR_PERSISTENT: Contender = floor("persistent", JSON_BODY_BYTES);
pub(crate) const FLOOR_PIPELINED: Contender = floor("pipelined", JSON_BODY_BYTES);
pub(crate) const FLOOR_SHORT: Contender = floor("short", JSON_BODY_BYTES);
/// Sends each message to all connections.
pub(crate) const FLOOR_HUB: Contender = floor("hub", 0);
/// Answers at every millisecond: so it decides the pace, and no client that keeps up with it.
pub(crate) const FLOOR_TICKING: Contender = floor("ticking", JSON_BODY_BYTES);
/// Stands still for a tenth of every second.
pub(crate) const FLOOR_STALLING: Contender = floor("stalling", JSON_BODY_BYTES);
/// Sends as many body bytes as the file has, so that only the serving differs.
pub(crate) const FLOOR_FILE: Contender = floor("kept", crate::bench::site::FILE_BYTES);
pub(crate) const JSON: Contender = Contender { name: OURS, start: Start::Example("json") };
pub(crate) const CHAT: Contender = Contender { name: OURS, start: Start::Example("chat") };
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
        let address = server::free_address()?;
        let words = command_line(contender, workload, site, address)?;
        let request = match workload.load {
            // The client gets its own line back, so the answer equals the request.
            Load::Fan { .. } => "HTTP/1.1 200 heard\r\n\r\n".to_owned(),
            _ => load::request(address, workload.path),
        };
        Running::launch(contender.name, address, request.as_bytes(), &words, site, cores)
    }

    /// Starts a server by its words and waits until it answers this request.
    pub(crate) fn launch(
        name: &str,
        address: SocketAddr,
        request: &[u8],
        words: &[String],
        site: &Site,
        cores: &Cores,
    ) -> Result<Running, Failure> {
        let core = cores.server.to_string();
        let pinned: Vec<&str> =
            ["taskset", "-c", &core].into_iter().chain(words.iter().map(String::as_str)).collect();
        let guarded = server::start(leashed(&pinned), name, site.folder(), address, request)?;
        Ok(Running { address, command: words.join(" "), guarded })
    }

    /// The process ids that its cost is the sum of.
    pub(crate) fn family(&self) -> Vec<u32> {
        self.guarded.family()
    }
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
        Start::Yaws => return Err(Failure::Work("yaws is compared in pages only".to_owned())),
    };
    if matches!((contender.start, workload.load), (Start::Floor { .. }, Load::Pipelined { .. })) {
        words.push(load::request(address, workload.path).len().to_string());
    }
    Ok(words)
}
