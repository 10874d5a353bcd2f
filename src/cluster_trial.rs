//! Tries the cluster of a configuration, for `velodrome check`.
//!
//! Owns the connections of the trial, and the words for what is wrong. It makes no stream, and nothing is published.
#![expect(clippy::disallowed_types, reason = "a command has one thread and one descriptor table")]
#![expect(clippy::disallowed_methods, reason = "a command has no turn")]

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use cluster::{LinkEncryption, LinkFault, NatsInfo, NatsServer, NatsTrial, TrialFindings, limits};
use config::{Config, ProcessReach};
use server::cluster_setup::ClusterSetup;
use server::site_data::SiteData;
use tls::TlsStream;

/// Timeout of connecting, and of all answers of a server.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes that the header fields of a message need beside it.
const BESIDE_MESSAGE: usize = 1_024;

/// The findings: a line for each server, and the problems.
#[derive(Debug, Default)]
pub(crate) struct Tried {
    pub(crate) lines: Vec<String>,
    pub(crate) problems: Vec<String>,
}

/// Connects to all servers of the cluster. `None`: there is no cluster.
pub(crate) fn of(data: &SiteData) -> Option<Tried> {
    let setup = data.cluster.as_deref()?;
    let mut tried = Tried::default();
    let mut is_welcome = false;
    for server in &setup.plan().servers {
        match connect(server, setup) {
            Ok(findings) => {
                is_welcome = true;
                let TrialFindings { version, max_payload, .. } = &findings;
                tried.lines.push(format!(
                    "cluster: welcome at {server} (NATS {version}, messages of {max_payload} bytes)"
                ));
                judge(&findings, data, server, &mut tried.problems);
            }
            Err(fault) => tried.problems.push(format!("cluster: {server}: {fault}")),
        }
    }
    if is_welcome && tried.problems.is_empty() {
        tried.lines.push(format!("cluster: this is the node `{}`", setup.plan().name));
    }
    Some(tried)
}

/// The first part of a configuration that needs JetStream, if there is one.
fn needs_jetstream(config: &Config) -> Option<String> {
    let channel = config.channels.iter().find(|channel| channel.history > 0);
    let channel = channel.map(|of| format!("the [[channel]] `{}` has a `history`", of.pattern));
    channel.or_else(|| {
        let process = config.processes.iter().find(|of| of.reach == ProcessReach::Cluster)?;
        Some(format!("the [[process]] `{}` has `where = \"cluster\"`", process.module))
    })
}

/// Whether a server can do what a configuration needs.
fn judge(
    findings: &TrialFindings,
    data: &SiteData,
    server: &NatsServer,
    problems: &mut Vec<String>,
) {
    if let (Some(needs), Err(why)) = (needs_jetstream(&data.config), &findings.jetstream) {
        problems.push(format!(
            "cluster: {server}: {why}; {needs}, which needs JetStream: start NATS with --jetstream"
        ));
    }
    let replicas = data.config.cluster.replicas;
    if replicas > 1 && findings.cluster.is_none() && needs_jetstream(&data.config).is_some() {
        problems.push(format!(
            "cluster: {server}: it is alone, and `replicas = {replicas}` in [cluster] needs as many servers of NATS: \
             make it one of a cluster of them, or lower `replicas`"
        ));
    }
    let needs = limits::STORE_MESSAGE_BYTES;
    if data.config.store.role.is_some() && needs > findings.max_payload {
        problems.push(format!(
            "cluster: {server}: NATS takes messages of {} bytes, and stores with a `role` send those of {needs}; raise \
             `max_payload` of NATS",
            findings.max_payload
        ));
    }
    let largest = data.config.channels.iter().max_by_key(|channel| channel.message_size);
    if let Some(channel) = largest
        && channel.message_size + BESIDE_MESSAGE as u64 > findings.max_payload as u64
    {
        problems.push(format!(
            "cluster: {server}: NATS takes messages of {} bytes, and the [[channel]] `{}` has those of {} bytes with \
             header fields; raise `max_payload` of NATS, or lower `message_size`",
            findings.max_payload,
            channel.pattern,
            channel.message_size + BESIDE_MESSAGE as u64
        ));
    }
}

fn connect(server: &NatsServer, setup: &ClusterSetup) -> Result<TrialFindings, LinkFault> {
    let until = Instant::now() + PATIENCE;
    let unreachable = |error: std::io::Error| LinkFault::Unreachable(error.kind());
    let mut stream = reach(server)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(unreachable)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(unreachable)?;
    let line = first_line(&mut stream)?;
    match server.encryption {
        LinkEncryption::Plain => talk(stream, line, server, setup, until),
        LinkEncryption::Tls => {
            let info = line.strip_prefix(b"INFO ").and_then(NatsInfo::read);
            if !info.ok_or(LinkFault::NotNats)?.offers_tls() {
                let why = "the server does not offer it; write \"nats://\"";
                return Err(LinkFault::Encryption(why.to_owned()));
            }
            let connector = setup.connector().ok_or(LinkFault::UnknownName)?;
            let stream = TlsStream::connect(connector, &server.host, stream);
            let stream = stream.map_err(|error| LinkFault::Encryption(error.to_string()))?;
            talk(stream, line, server, setup, until)
        }
    }
}

/// Connects to the first address of a server that takes a connection.
fn reach(server: &NatsServer) -> Result<TcpStream, LinkFault> {
    let addresses = (&*server.host, server.port).to_socket_addrs();
    let mut fault = LinkFault::UnknownName;
    for address in addresses.map_err(|_| LinkFault::UnknownName)? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => fault = LinkFault::Unreachable(error.kind()),
        }
    }
    Err(fault)
}

/// The first line of a server, which comes in clear. Bytes are read one by one, because the handshake may follow.
fn first_line(stream: &mut TcpStream) -> Result<Vec<u8>, LinkFault> {
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\r\n") {
        match stream.read(&mut byte) {
            Ok(0) => return Err(LinkFault::Ended),
            Ok(_) => line.extend_from_slice(&byte),
            Err(_) => return Err(LinkFault::NotWelcomed),
        }
        if line.len() > wire::limits::NATS_LINE_SIZE
            || !b"INFO ".starts_with(&line[..line.len().min(5)])
        {
            return Err(LinkFault::NotNats);
        }
    }
    Ok(line)
}

fn talk(
    mut stream: impl Read + Write,
    first: Vec<u8>,
    server: &NatsServer,
    setup: &ClusterSetup,
    until: Instant,
) -> Result<TrialFindings, LinkFault> {
    let (mut trial, mut input, mut part) = (NatsTrial::default(), first, [0; 4_096]);
    loop {
        let consumed = trial.on_input(&input, setup.plan(), server)?;
        input.drain(..consumed);
        if let Some(findings) = trial.findings() {
            return Ok(findings);
        }
        stream.write_all(&trial.take_output()).map_err(|_| LinkFault::Ended)?;
        stream.flush().map_err(|_| LinkFault::Ended)?;
        if Instant::now() > until {
            return trial.findings_so_far().ok_or(LinkFault::NotWelcomed);
        }
        match stream.read(&mut part) {
            Ok(0) => return Err(LinkFault::Ended),
            Ok(count) => input.extend_from_slice(&part[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return trial.findings_so_far().ok_or(LinkFault::NotWelcomed);
            }
            Err(_) => return Err(LinkFault::Ended),
        }
    }
}
