//! The verb `cluster`: a cluster on this machine, to try one.
//!
//! Owns the files of the demonstration, in a temporary directory, and what is printed. The programs end with it.
#![expect(clippy::disallowed_types, reason = "a command has one thread and one descriptor table")]

use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use clap::{Args, Subcommand};
use server::together::{Companions, Parting};

use crate::Failure;
use crate::output;

pub(crate) const EXAMPLES: &str = "Examples:
  velodrome cluster demo           NATS and three servers on free ports of this machine, until Ctrl-C
  velodrome cluster demo -n 5      five of them
Exit status: 0 ended, 1 failed, 2 wrong usage.";

/// The verb.
#[derive(Debug, Args)]
pub(crate) struct Cluster {
    #[command(subcommand)]
    verb: ClusterVerb,
}

#[derive(Debug, Subcommand)]
enum ClusterVerb {
    /// Start NATS and several servers with an example site, and end them with Ctrl-C.
    Demo(Demo),
}

#[derive(Debug, Args)]
struct Demo {
    /// The number of servers.
    #[arg(short, long, value_name = "NUMBER", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=16))]
    nodes: u8,
    /// The server of NATS.
    #[arg(long, value_name = "PROGRAM", default_value = "nats-server")]
    nats_server: String,
}

/// The page that every node serves.
const PAGE: &str = include_str!("index.html");

/// How to get NATS.
const GET_NATS: &str = "get it from https://nats.io/download, or with Go: \
                        go install github.com/nats-io/nats-server/v2@latest";

pub(crate) fn run(cluster: &Cluster) -> Result<(), Failure> {
    let ClusterVerb::Demo(demo) = &cluster.verb;
    let directory = tempfile::Builder::new().prefix("velodrome-demo-").tempdir();
    let directory = directory.map_err(|error| failed("a temporary directory", &error))?;
    let mut companions = Companions::new();
    let nats = start_nats(demo, directory.path(), &mut companions)?;
    let mut nodes = Vec::new();
    for number in 1..=demo.nodes {
        nodes.push(start_node(number, nats, directory.path(), &mut companions)?);
    }
    let up = companions.wait_for(|| nodes.iter().all(|node| answers(node.http)));
    up.map_err(|parting| told(parting, directory.path()))?;
    output::print(&guide(nats, &nodes))?;
    match companions.wait() {
        Parting::Told => Ok(()),
        parting => Err(told(parting, directory.path())),
    }
}

/// The ports of a node.
struct Ports {
    http: u16,
    redis: u16,
}

fn start_nats(demo: &Demo, directory: &Path, companions: &mut Companions) -> Result<u16, Failure> {
    let port = free_port()?;
    let mut command = Command::new(&demo.nats_server);
    command.args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"]);
    command.arg(directory.join("nats")).arg("-l").arg(directory.join("nats.log"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    companions.start("NATS", &mut command).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let program = &demo.nats_server;
            Failure::Failed(format!(
                "`{program}` is not installed; {GET_NATS}; or name it with --nats-server"
            ))
        }
        _ => failed(&demo.nats_server, &error),
    })?;
    let up = companions.wait_for(|| answers(port));
    up.map_err(|parting| told(parting, directory))?;
    Ok(port)
}

fn start_node(
    number: u8,
    nats: u16,
    directory: &Path,
    companions: &mut Companions,
) -> Result<Ports, Failure> {
    let ports = Ports { http: free_port()?, redis: free_port()? };
    let name = format!("node-{number}");
    let home = directory.join(&name);
    let role = if number == 1 { "leader" } else { "replica" };
    let config = format!(
        "root = \"site\"\n\n[store]\npath = \"data\"\nrole = \"{role}\"\n\n\
         [cluster]\nservers = [\"nats://127.0.0.1:{nats}\"]\nname = \"{name}\"\n\n\
         [[channel]]\npattern = \"demo.*\"\nhistory = 100\npresence = true\n"
    );
    let made = std::fs::create_dir_all(home.join("site"))
        .and_then(|()| std::fs::write(home.join("site/index.html"), PAGE))
        .and_then(|()| std::fs::write(home.join("velodrome.toml"), config))
        .and_then(|()| std::fs::File::create(home.join("log")));
    let log = made.map_err(|error| failed(&home.display().to_string(), &error))?;
    let program = std::env::current_exe().map_err(|error| failed("this program", &error))?;
    let mut command = Command::new(program);
    command.arg("serve").arg(&home).arg("--config").arg(home.join("velodrome.toml"));
    command.args(["--schedulers", "1", "--no-pin"]);
    command.args(["--listen", &format!("127.0.0.1:{}", ports.http)]);
    command.args(["--listen-resp", &format!("127.0.0.1:{}", ports.redis)]);
    command.arg("--admin-socket").arg(home.join("control"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    companions.start(&name, &mut command).map_err(|error| failed(&name, &error))?;
    Ok(ports)
}

/// Commands to try.
fn guide(nats: u16, nodes: &[Ports]) -> String {
    let mut text = format!("NATS at 127.0.0.1:{nats}, and {} servers:\n", nodes.len());
    for (number, node) in (1..).zip(nodes) {
        text += &format!(
            "  node-{number}  http://127.0.0.1:{}/  redis-cli -p {}\n",
            node.http, node.redis
        );
    }
    let (first, last) = (&nodes[0], &nodes[nodes.len() - 1]);
    text += &format!(
        "Try:\n  \
         curl -N -H 'Accept: text/event-stream' http://127.0.0.1:{}/channels/demo.chat\n  \
         curl -d 'hello' http://127.0.0.1:{}/channels/demo.chat\n  \
         redis-cli -p {} subscribe demo.chat\n  \
         redis-cli -p {} publish demo.chat hi\n  \
         redis-cli -p {} set key value\n  \
         redis-cli -p {} get key\n  \
         curl 'http://127.0.0.1:{}/channels/demo.chat?since=0-0&wait=0'\n\
         Ctrl-C ends them all.\n",
        last.http, first.http, first.redis, last.redis, last.redis, first.redis, last.http
    );
    text
}

fn answers(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

fn free_port() -> Result<u16, Failure> {
    let listener = TcpListener::bind(("127.0.0.1", 0));
    let port = listener.and_then(|listener| listener.local_addr()).map(|address| address.port());
    port.map_err(|error| failed("a free port", &error))
}

fn failed(what: &str, error: &io::Error) -> Failure {
    Failure::Failed(format!("{what}: {error}"))
}

/// Why it has ended, with the last words of the program that did.
fn told(parting: Parting, directory: &Path) -> Failure {
    let Parting::Ended(name, status) = parting else { return Failure::Told };
    let log = match &*name {
        "NATS" => directory.join("nats.log"),
        name => directory.join(name).join("log"),
    };
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let last: Vec<&str> = text.lines().rev().take(5).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Failure::Failed(format!("{name} has ended ({status}); its last lines:\n{}", last.join("\n")))
}
