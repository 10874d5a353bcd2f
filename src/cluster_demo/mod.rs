//! The verb `cluster`: a cluster on this machine, to try one.
//!
//! Owns the files of the demonstration, in a temporary directory, and what is printed. The programs end with it.
#![expect(clippy::disallowed_types, reason = "a command has one thread and one descriptor table")]

use std::fs::{self, File};
use std::io;
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
    for number in 1..=demo.nodes {
        start_node(number, nats, directory.path(), &mut companions)?;
    }
    let mut nodes = Vec::new();
    for number in 1..=demo.nodes {
        let said = directory.path().join(node_name(number)).join(SAID);
        let ports = companions.wait_for(|| Ports::said_in(&said));
        nodes.push(ports.map_err(|parting| told(parting, directory.path()))?);
    }
    output::print(&guide(nats, &nodes))?;
    match companions.wait() {
        Parting::Told => Ok(()),
        parting => Err(told(parting, directory.path())),
    }
}

/// The ports of a node, which the kernel chose: a port that this program chose might be another's by the time that the
/// node listens.
struct Ports {
    http: u16,
    redis: u16,
}

/// The standard output of a node, in its directory.
const SAID: &str = "said";

impl Ports {
    /// The ports that a node says it listens on, as soon as it has said both.
    fn said_in(file: &Path) -> Option<Self> {
        let text = fs::read_to_string(file).ok()?;
        let port = |before: &str, after| {
            let (_, rest) = text.split_once(before)?;
            rest.split_once(after)?.0.parse().ok()
        };
        let redis = port("redis://127.0.0.1:", '\n')?;
        Some(Self { http: port("http://127.0.0.1:", '/')?, redis })
    }
}

fn node_name(number: u8) -> String {
    format!("node-{number}")
}

fn start_nats(demo: &Demo, directory: &Path, companions: &mut Companions) -> Result<u16, Failure> {
    let ports = directory.join("nats-ports");
    fs::create_dir(&ports).map_err(|error| failed(&ports.display().to_string(), &error))?;
    let mut command = Command::new(&demo.nats_server);
    // A port that the kernel chooses, which NATS writes to a file of this directory.
    command.args(["-a", "127.0.0.1", "-p", "-1", "--ports_file_dir"]).arg(&ports);
    command.args(["-js", "-sd"]).arg(directory.join("nats"));
    command.arg("-l").arg(directory.join("nats.log"));
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
    let port = companions.wait_for(|| nats_port(&ports));
    port.map_err(|parting| told(parting, directory))
}

/// The port in the file that NATS writes once it listens: `{"nats":["nats://127.0.0.1:4222"]}`.
fn nats_port(directory: &Path) -> Option<u16> {
    let file = fs::read_dir(directory).ok()?.next()?.ok()?;
    let text = fs::read_to_string(file.path()).ok()?;
    let (_, rest) = text.split_once("nats://127.0.0.1:")?;
    rest.split_once('"')?.0.parse().ok()
}

fn start_node(
    number: u8,
    nats: u16,
    directory: &Path,
    companions: &mut Companions,
) -> Result<(), Failure> {
    let name = node_name(number);
    let home = directory.join(&name);
    let role = if number == 1 { "leader" } else { "replica" };
    let config = format!(
        "root = \"site\"\n\n[store]\npath = \"data\"\nrole = \"{role}\"\n\n\
         [cluster]\nservers = [\"nats://127.0.0.1:{nats}\"]\nname = \"{name}\"\n\n\
         [[channel]]\npattern = \"demo.*\"\nhistory = 100\npresence = true\n"
    );
    let made = fs::create_dir_all(home.join("site"))
        .and_then(|()| fs::write(home.join("site/index.html"), PAGE))
        .and_then(|()| fs::write(home.join("velodrome.toml"), config))
        .and_then(|()| Ok((File::create(home.join(SAID))?, File::create(home.join("log"))?)));
    let (said, log) = made.map_err(|error| failed(&home.display().to_string(), &error))?;
    let program = std::env::current_exe().map_err(|error| failed("this program", &error))?;
    let mut command = Command::new(program);
    command.arg("serve").arg(&home).arg("--config").arg(home.join("velodrome.toml"));
    command.args(["--schedulers", "1", "--no-pin"]);
    command.args(["--listen", "127.0.0.1:0", "--listen-resp", "127.0.0.1:0"]);
    command.arg("--admin-socket").arg(home.join("control"));
    command.stdin(Stdio::null()).stdout(said).stderr(log);
    companions.start(&name, &mut command).map_err(|error| failed(&name, &error))
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
    let text = fs::read_to_string(log).unwrap_or_default();
    let last: Vec<&str> = text.lines().rev().take(5).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Failure::Failed(format!("{name} has ended ({status}); its last lines:\n{}", last.join("\n")))
}
