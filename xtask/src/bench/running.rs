//! A server that is compared, while it runs on its own core.
//!
//! Owns the child processes and how each is started. Never measures.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::bench::brokers::nats;
use crate::bench::contender::{Contender, Start, Version};
use crate::bench::host::Cores;
use crate::bench::proxies::{self, start_behind};
use crate::bench::secure;
use crate::bench::site::Site;
use crate::bench::workload::{Load, Workload};
use crate::client;
use crate::failure::Failure;
use crate::process::Guarded;
use crate::server::{self, leashed};

/// A running contender, pinned to the server's core.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    /// The protocol of members of a broadcast.
    pub(crate) protocol: &'static str,
    /// The beginning of a URL of it.
    pub(crate) scheme: &'static str,
    /// The version of HTTP in which a workload of HTTP/2 asks it.
    pub(crate) version: Version,
    /// The command that started it, without the pinning.
    pub(crate) command: String,
    guarded: Guarded,
    /// The server behind a proxy, which runs as long as the proxy.
    _behind: Option<Guarded>,
}

impl Running {
    pub(crate) fn start(
        contender: &Contender,
        workload: &Workload,
        site: &Site,
        cores: &Cores,
    ) -> Result<Running, Failure> {
        if let Start::Proxied { proxy, body_bytes } = contender.start {
            let (behind, guarded) = start_behind(body_bytes, workload, site, cores)?;
            // Chosen when the server behind has its own: otherwise both would get the same.
            let address = server::free_address()?;
            let words = proxies::words(proxy, address, behind, site)?;
            let request = proxies::request(workload, address);
            let running =
                Running::launch(contender.name, address, request.as_bytes(), &words, site, cores)?;
            return Ok(Running { _behind: Some(guarded), ..running });
        }
        let address = server::free_address()?;
        let words = command_line(contender, workload, site, address)?;
        let request = match workload.load {
            // The client gets its own line back, so the answer equals the request.
            Load::Fan { .. } if contender.start.protocol() == "lines" => {
                "HTTP/1.1 200 heard\r\n\r\n".to_owned()
            }
            _ if !contender.start.answers() => String::new(),
            _ => client::request(address, workload.path),
        };
        let running =
            Running::launch(contender.name, address, request.as_bytes(), &words, site, cores)?;
        let (scheme, version) = match contender.start {
            Start::Secure(server) => (server.scheme(), server.version()),
            _ => ("http", Version::Http1),
        };
        Ok(Running { protocol: contender.start.protocol(), scheme, version, ..running })
    }

    /// Starts a server by its command line and waits until it answers this request.
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
        let command = words.join(" ");
        Ok(Running {
            address,
            protocol: "lines",
            scheme: "http",
            version: Version::Http1,
            command,
            guarded,
            _behind: None,
        })
    }

    /// The ids of the processes whose cost is counted.
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
        Start::Channels { protocol: "streams" } => site.streams(address)?,
        Start::Channels { protocol } => {
            let listen = if protocol == "resp" { "--listen-resp" } else { "--listen" };
            let mut words = vec![shown(site.velodrome()?), "serve".to_owned()];
            words.extend([shown(site.channels()?), "--schedulers".to_owned(), "1".to_owned()]);
            words.extend([listen.to_owned(), address.to_string()]);
            if protocol == "resp" {
                words.extend(["--listen".to_owned(), "127.0.0.1:0".to_owned()]);
            }
            words
        }
        Start::Redis => site.redis(address.port())?,
        Start::Nats => nats(address)?,
        Start::Nchan => site.nchan(address.port())?,
        Start::Nginx => site.nginx(address.port())?,
        Start::Secure(server) => secure::words(server, site, address)?,
        Start::Given { program } => vec![program.to_owned(), address.to_string()],
        Start::Store { .. } | Start::RedisStore { .. } | Start::Memcached => {
            return Err(Failure::Work("stores are compared in `bench store` only".to_owned()));
        }
        Start::Proxied { .. } => {
            return Err(Failure::Work("a proxy is started with the server behind it".to_owned()));
        }
        Start::Yaws => return Err(Failure::Work("yaws is compared in pages only".to_owned())),
    };
    if matches!((contender.start, workload.load), (Start::Floor { .. }, Load::Pipelined { .. })) {
        words.push(client::request(address, workload.path).len().to_string());
    }
    Ok(words)
}
