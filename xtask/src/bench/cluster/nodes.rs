//! The servers of a scenario: NATS, and nodes of one cluster or a server alone.
//!
//! Owns their configurations, their start and their end. Never loads them.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::net::RecvFlags;
use serde_json::Value;

use crate::bench::accounting::{Spent, spent};

use crate::bench::host::Cores;
use crate::bench::site::{Site, shown};
use crate::client;
use crate::failure::Failure;
use crate::process::installed;
use crate::process::{self, Guarded};
use crate::scratch::Scratch;
use crate::server::{self, leashed};

/// How many servers, and whether they are nodes of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One server without `[cluster]`.
    Alone,
    /// So many nodes.
    Cluster(usize),
    /// The same with a channel that keeps no history.
    Fleeting(usize),
}

/// Time for nodes to find each other, and for replicas to catch up.
const SETTLING_LIMIT: Duration = Duration::from_secs(30);

/// A server that runs.
pub(super) struct Node {
    http: SocketAddr,
    resp: SocketAddr,
    control: String,
    guarded: Guarded,
}

impl Node {
    /// Where its pages and channels are.
    pub(super) fn http(&self) -> SocketAddr {
        self.http
    }

    /// Where Redis clients find it.
    pub(super) fn resp(&self) -> SocketAddr {
        self.resp
    }

    /// Its status; null if it does not answer.
    fn status(&self, velodrome: &Path) -> Value {
        let arguments = ["ctl", "status", "--json", "--socket", &self.control];
        let output = Command::new(velodrome).args(arguments).output();
        output.map_or(Value::Null, |output| {
            serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
        })
    }

    pub(super) fn spent(&self) -> Spent {
        spent(&self.guarded.family())
    }
}

/// The servers of a scenario; they end with this, and then their files go.
pub(super) struct Nodes {
    nodes: Vec<Node>,
    folder: Scratch,
    /// Ends after the nodes.
    _nats: Option<Guarded>,
}

impl Nodes {
    pub(super) fn start(shape: Shape, site: &Site, cores: &Cores) -> Result<Nodes, Failure> {
        let folder = Scratch::at(site.folder().join("cluster"))?;
        let (count, nats, servers) = match shape {
            Shape::Alone => (1, None, String::new()),
            Shape::Cluster(count) | Shape::Fleeting(count) => {
                let (guarded, address) = start_nats(site, folder.path())?;
                (count, Some(guarded), format!("nats://{address}"))
            }
        };
        let mut all = Nodes { nodes: Vec::new(), folder, _nats: nats };
        for number in 0..count {
            let configuration = configuration(number, shape, &servers);
            let node = all.start_node(number, &configuration, site, cores)?;
            all.nodes.push(node);
        }
        if shape != Shape::Alone {
            all.wait_for_each_other(&site.velodrome()?)?;
        }
        Ok(all)
    }

    /// Until each node says that it knows the others, and each replica that it hears the leader.
    fn wait_for_each_other(&self, velodrome: &Path) -> Result<(), Failure> {
        let others = self.nodes.len() - 1;
        let is_settled = |node: &Node| {
            let status = node.status(velodrome);
            let (cluster, store) = (&status["cluster"], &status["store"]);
            let is_follower = store["role"] == "leader" || store["hears_leader"] == true;
            cluster["state"] == "connected"
                && cluster["nodes"].as_array().is_some_and(|known| known.len() == others)
                && is_follower
        };
        if process::wait_until(SETTLING_LIMIT, || self.nodes.iter().all(is_settled)) {
            return Ok(());
        }
        Err(Failure::Work("the nodes of the cluster do not find each other".to_owned()))
    }

    /// Until the stores of all nodes have as many keys as the first one's, which nobody writes to now.
    pub(super) fn wait_for_replicas(&self) -> Result<(), Failure> {
        let count = |node: &Node| {
            let socket = client::connect(node.resp).ok()?;
            client::send(&socket, b"DBSIZE\r\n").ok()?;
            let mut answer = [0; 32];
            let (_, length) =
                rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty()).ok()?;
            Some(answer[..length].to_vec())
        };
        let first = count(&self.nodes[0]);
        let have_all = || self.nodes.iter().all(|node| count(node) == first);
        if first.is_some() && process::wait_until(SETTLING_LIMIT, have_all) {
            return Ok(());
        }
        Err(Failure::Work("the replicas do not follow the leader's store".to_owned()))
    }

    pub(super) fn all(&self) -> &[Node] {
        &self.nodes
    }

    /// The addresses of these nodes as the words of a command.
    pub(super) fn urls(&self) -> String {
        let urls = self.nodes.iter().map(|node| format!("http://{}/channels/fan", node.http));
        urls.collect::<Vec<_>>().join(" ")
    }

    fn start_node(
        &self,
        number: usize,
        configuration: &str,
        site: &Site,
        cores: &Cores,
    ) -> Result<Node, Failure> {
        let name = format!("node-{number}");
        let home = self.folder.path().join(&name);
        std::fs::create_dir_all(home.join("site"))?;
        std::fs::write(home.join("site/index.html"), "it stands\n")?;
        std::fs::write(home.join("velodrome.toml"), configuration)?;
        let http = server::free_address()?;
        let listen = http.to_string();
        let (core, program, home) =
            (cores.server.to_string(), shown(&site.velodrome()?), shown(&home));
        let config = format!("{home}/velodrome.toml");
        let control = format!("{home}/control");
        let words = [
            "taskset",
            "-c",
            &core,
            &program,
            "serve",
            &home,
            "--config",
            &config,
            "--schedulers",
            "1",
            "--listen",
            &listen,
            "--listen-resp",
            &resp_address(http),
            "--admin-socket",
            &control,
        ];
        let request = client::request(http, "/");
        let guarded =
            server::start(leashed(&words), &name, site.folder(), http, request.as_bytes())?;
        let resp =
            resp_address(http).parse().map_err(|_| Failure::Work("no address".to_owned()))?;
        Ok(Node { http, resp, control, guarded })
    }
}

/// The same port on another loopback address: it is free, as that of the first was.
fn resp_address(http: SocketAddr) -> String {
    format!("127.0.0.2:{}", http.port())
}

fn configuration(number: usize, shape: Shape, servers: &str) -> String {
    let history = if matches!(shape, Shape::Fleeting(_)) { "" } else { "history = 20000\n" };
    let channel = format!("[[channel]]\npattern = \"fan\"\n{history}message_size = 1024\n");
    if servers.is_empty() {
        return format!("root = \"site\"\n[store]\npath = \"data\"\n{channel}");
    }
    let role = if number == 0 { "leader" } else { "replica" };
    format!(
        "root = \"site\"\n[store]\npath = \"data\"\nrole = \"{role}\"\n\
         [cluster]\nservers = [\"{servers}\"]\nname = \"node-{number}\"\n{channel}"
    )
}

pub(super) fn start_nats(site: &Site, folder: &Path) -> Result<(Guarded, SocketAddr), Failure> {
    let program = installed("nats-server", "nats-server")?;
    let address = server::free_address()?;
    let port = address.port().to_string();
    let data = shown(&folder.join("nats"));
    let words = [&program, "-a", "127.0.0.1", "-p", &port, "-js", "-sd", &data];
    Ok((server::start(leashed(&words), "nats", site.folder(), address, b"")?, address))
}
