//! Pebble, the test authority of Let's Encrypt, with its DNS server: it refuses half of all nonces, and asks a server
//! of a test on two ports.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;

use crate::server::certificates::{Authority, SecureClient};
use crate::server::directory::Directory;
use crate::server::patience::until;
use crate::server::{Ending, free_address, has, run};

/// A running authority.
pub(crate) struct Pebble {
    _processes: [Ending; 2],
    port: u16,
    management: u16,
    /// Where it asks about names.
    pub(crate) plain_port: u16,
    pub(crate) secure_port: u16,
}

/// Waits until a program listens; `None`: it has ended before, because somebody else took its port.
fn listens(child: Child, ports: &[u16]) -> Option<Ending> {
    let mut child = Ending(child);
    let stands = until("an authority that listens", || {
        if child.0.try_wait().unwrap().is_some() {
            return Some(false);
        }
        let accepts = |port: &u16| TcpStream::connect(("127.0.0.1", *port)).is_ok();
        ports.iter().all(accepts).then_some(true)
    });
    stands.then_some(child)
}

impl Pebble {
    /// Starts it, with files in a directory of the test; `None`: it is not installed, which is told.
    pub(crate) fn start(directory: &Directory, test: &str) -> Option<Self> {
        if !["pebble", "pebble-challtestsrv", "curl"].iter().all(|program| has(program, test)) {
            return None;
        }
        Authority::in_directory(directory).issue(directory, "pebble", &["localhost", "127.0.0.1"]);
        let started = (0..5).find_map(|_| Self::try_start(directory));
        Some(started.expect("a Pebble whose ports nobody else takes"))
    }

    fn try_start(directory: &Directory) -> Option<Self> {
        let [port, management, plain_port, secure_port] =
            std::array::from_fn(|_| free_address().port());
        let [dns, dns_management] = std::array::from_fn(|_| free_address().port());
        let file = |name: &str| directory.join(name).display().to_string();
        let config = json!({ "pebble": {
            "listenAddress": format!("127.0.0.1:{port}"),
            "managementListenAddress": format!("127.0.0.1:{management}"),
            "certificate": file("pebble.pem"), "privateKey": file("pebble.key"),
            "httpPort": plain_port, "tlsPort": secure_port,
            "retryAfter": { "authz": 1, "order": 1 }, "keyAlgorithm": "ecdsa",
            "profiles": {
                "default": { "description": "", "validityPeriod": 7_776_000 },
                "shortlived": { "description": "", "validityPeriod": 518_400 },
            },
        }});
        directory.write("pebble.json", config.to_string());
        let mut names = Command::new("pebble-challtestsrv");
        for unused in ["-http01", "-https01", "-tlsalpn01", "-doh", "-defaultIPv6"] {
            names.args([unused, ""]);
        }
        names.arg("-dnsserver").arg(format!("127.0.0.1:{dns}"));
        names.arg("-management").arg(format!("127.0.0.1:{dns_management}"));
        let mut pebble = Command::new("pebble");
        pebble.arg("-config").arg(file("pebble.json"));
        pebble.arg("-strict").arg("-dnsserver").arg(format!("127.0.0.1:{dns}"));
        pebble.env("PEBBLE_WFE_NONCEREJECT", "50").env("PEBBLE_AUTHZREUSE", "0");
        pebble.env("PEBBLE_VA_SLEEPTIME", "0");
        let spawn = |command: &mut Command| {
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let names = listens(spawn(&mut names), &[dns, dns_management])?;
        let pebble = listens(spawn(&mut pebble), &[port, management])?;
        let processes = [names, pebble];
        Some(Self { _processes: processes, port, management, plain_port, secure_port })
    }

    /// The configuration of a server that it can ask: its listeners and `[acme]` for these names.
    pub(crate) fn config(&self, names: &str, more: &str) -> String {
        let Self { port, plain_port, secure_port, .. } = self;
        format!(
            "[[listener]]\naddress = \"127.0.0.1:{plain_port}\"\n\
             [[listener]]\naddress = \"127.0.0.1:{secure_port}\"\ntls = \"acme\"\n\
             [acme]\nnames = {names}\nissuers = [\"https://127.0.0.1:{port}/dir\"]\n\
             ca = \"ca.pem\"\nstate = \"state\"\n{more}\n"
        )
    }

    /// A client that trusts what it issues.
    pub(crate) fn client(&self) -> SecureClient {
        let url = format!("https://127.0.0.1:{}/roots/0", self.management);
        let root = run(Command::new("curl").args(["-s", "-k", "-f", &url])).stdout;
        SecureClient::trusting(CertificateDer::from_pem_slice(&root).unwrap())
    }
}
