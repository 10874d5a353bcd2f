//! Orders against Pebble, the test authority of Let's Encrypt, which refuses half of all nonces here and validates for
//! real: over HTTP, TLS and DNS.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use acme::{
    AcmeEvent, CertificateNames, ChallengeKind, ExternalAccount, IssuedCertificate, Name,
    RenewalSettings,
};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use serde_json::Value;
use tempfile::TempDir;

use crate::directory::forget_window;
use crate::server::{Answers, Confirms, OwnCertificate, Server, accepts, listener, settings};
use crate::waiting::until;

/// A running Pebble with its DNS server, and the two ports that it asks on.
struct Pebble {
    processes: Vec<Child>,
    folder: TempDir,
    own: OwnCertificate,
    port: u16,
    management: u16,
    dns_management: u16,
    answers: Answers,
}

/// A program ended before it listened.
#[derive(Debug)]
struct Exited;

impl Drop for Pebble {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Whether a program is installed; reports the test as skipped if not.
fn has(program: &str, test: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).any(|path| path.join(program).is_file());
    if !found {
        println!("SKIPPED {test}: {program} is not installed");
    }
    found
}

/// A port that was free just now.
fn free_port() -> u16 {
    listener().1
}

impl Pebble {
    fn start(test: &str) -> Option<Self> {
        Self::start_with(test, &[])
    }

    /// Starts it with more in its configuration.
    fn start_with(test: &str, more: &[(&str, Value)]) -> Option<Self> {
        if !has("pebble", test) || !has("pebble-challtestsrv", test) {
            return None;
        }
        // Another test may take a port between the choice and the start.
        let started = (0..5).find_map(|_| Self::try_start(more).ok());
        Some(started.expect("a Pebble whose ports nobody else takes"))
    }

    fn try_start(more: &[(&str, Value)]) -> Result<Self, Exited> {
        let own = OwnCertificate::new();
        let folder = tempfile::tempdir().unwrap();
        let answers = Answers::default();
        let ((http, http_port), (tls, tls_port)) = (listener(), listener());
        answers.serve_http(http);
        answers.serve_tls(tls);
        let dns = free_port();
        let (port, management, dns_management) = (free_port(), free_port(), free_port());
        fs::write(folder.path().join("certificate.pem"), &own.pem).unwrap();
        fs::write(folder.path().join("key.pem"), &own.key_pem).unwrap();
        let mut config = serde_json::json!({ "pebble": {
            "listenAddress": format!("127.0.0.1:{port}"),
            "managementListenAddress": format!("127.0.0.1:{management}"),
            "certificate": folder.path().join("certificate.pem"), "privateKey": folder.path().join("key.pem"),
            "httpPort": http_port, "tlsPort": tls_port, "domainBlocklist": ["blocked.example"],
            "retryAfter": { "authz": 1, "order": 1 }, "keyAlgorithm": "ecdsa",
            "profiles": {
                "default": { "description": "", "validityPeriod": 7_776_000 },
                "shortlived": { "description": "", "validityPeriod": 518_400 },
            },
        }});
        for (key, value) in more {
            config["pebble"][key] = value.clone();
        }
        fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        let mut started =
            Self { processes: Vec::new(), folder, own, port, management, dns_management, answers };
        started.run_dns(dns).and_then(|()| started.run_pebble(dns)).map(|()| started)
    }

    fn run_dns(&mut self, dns: u16) -> Result<(), Exited> {
        let mut command = Command::new("pebble-challtestsrv");
        command.args([
            "-http01",
            "",
            "-https01",
            "",
            "-tlsalpn01",
            "",
            "-doh",
            "",
            "-defaultIPv6",
            "",
        ]);
        command.arg("-dnsserver").arg(format!("127.0.0.1:{dns}"));
        command.arg("-management").arg(format!("127.0.0.1:{}", self.dns_management));
        // Pebble asks it over TCP.
        self.run(command, &[dns, self.dns_management])
    }

    fn run_pebble(&mut self, dns: u16) -> Result<(), Exited> {
        let mut command = Command::new("pebble");
        command.arg("-config").arg(self.folder.path().join("config.json"));
        command.arg("-strict").arg("-dnsserver").arg(format!("127.0.0.1:{dns}"));
        command.env("PEBBLE_WFE_NONCEREJECT", "50").env("PEBBLE_VA_ALWAYS_VALID", "0");
        command.env("PEBBLE_AUTHZREUSE", "0").env("PEBBLE_VA_SLEEPTIME", "1");
        self.run(command, &[self.port, self.management])
    }

    /// Starts a program and waits until it listens on these ports.
    fn run(&mut self, mut command: Command, ports: &[u16]) -> Result<(), Exited> {
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let listens = until("the program listens", || match process.try_wait().unwrap() {
            Some(_) => Some(Err(Exited)),
            None => ports.iter().all(|port| accepts(*port)).then_some(Ok(())),
        });
        self.processes.push(process);
        listens
    }

    fn settings(&self, names: &[&str]) -> RenewalSettings {
        let directory = format!("https://127.0.0.1:{}/dir", self.port);
        settings(names, &self.state(), &directory, &self.own.certificate)
    }

    /// The state directory of a server.
    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn server(&self, settings: RenewalSettings) -> Server {
        Server::start_with(settings, Confirms::Yes, self.answers.clone(), Box::new(|_| {}))
    }

    /// A request to the management of Pebble; the body of the answer.
    fn manage(&self, request: &str) -> String {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.own.certificate.clone()).unwrap();
        let config = rustls::ClientConfig::builder_with_provider(Arc::new(
            rustls::crypto::aws_lc_rs::default_provider(),
        ))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        let socket = TcpStream::connect(("127.0.0.1", self.management)).unwrap();
        exchange(rustls::StreamOwned::new(connection, socket), request)
    }

    /// Checks that a certificate leads to the root of this Pebble and proves its names.
    fn assert_trusted(&self, certificate: &IssuedCertificate) {
        let root = self.manage("GET /roots/0 HTTP/1.0\r\nUser-Agent: test\r\n\r\n");
        let root = CertificateDer::from_pem_slice(root.as_bytes()).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(root).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier =
            rustls::client::WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .unwrap();
        let (first, others) = certificate.chain.split_first().unwrap();
        for name in &certificate.facts.names {
            let name = name.replace('*', "any");
            use rustls::client::danger::ServerCertVerifier;
            let name = ServerName::try_from(name).unwrap();
            verifier.verify_server_cert(first, others, &name, &[], UnixTime::now()).unwrap();
        }
    }
}

/// Sends a request and reads to the end of the connection; the body.
fn exchange(mut stream: impl Read + Write, request: &str) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // Pebble ends connections without `close_notify`, which is no concern of these tests.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.lines().next().unwrap().contains(" 200 "), "{answer}");
    body.to_owned()
}

fn post(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.0\r\nUser-Agent: test\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn names_and_addresses_are_proved_over_http() {
    let Some(pebble) = Pebble::start("names_and_addresses_are_proved_over_http") else { return };
    let mut settings = pebble.settings(&["one.example.org", "two.example.org"]);
    settings.email = Some("admin@example.org".to_owned());
    settings.challenges = vec![ChallengeKind::Http01];
    settings.certificates.push(CertificateNames::new([Name::parse("127.0.0.1").unwrap()]).unwrap());
    let server = pebble.server(settings);
    let both = server.next_certificate();
    assert_eq!(both.facts.names, ["one.example.org", "two.example.org"]);
    pebble.assert_trusted(&both);
    let address = server.next_certificate();
    assert_eq!(address.facts.names, ["127.0.0.1"]);
    pebble.assert_trusted(&address);
    // Addresses have the profile for them without being asked.
    assert!(address.facts.not_after - address.facts.not_before < 7 * 24 * 3_600);
    server.next_issued();
    assert!(server.answers.is_empty());
    server.stop();
}

#[test]
fn names_and_addresses_are_proved_over_tls() {
    let Some(pebble) = Pebble::start("names_and_addresses_are_proved_over_tls") else { return };
    let mut settings = pebble.settings(&["one.example.org", "127.0.0.1"]);
    settings.challenges = vec![ChallengeKind::TlsAlpn01];
    settings.profile = Some("no-such-profile".to_owned());
    let server = pebble.server(settings);
    server.next_event(|event| matches!(event, AcmeEvent::NoProfile { .. }).then_some(()));
    let certificate = server.next_certificate();
    assert_eq!(certificate.facts.names, ["one.example.org", "127.0.0.1"]);
    pebble.assert_trusted(&certificate);
    server.next_issued();
    assert!(server.answers.is_empty());
    server.stop();
}

#[test]
fn a_wildcard_is_proved_by_the_record_that_the_event_tells() {
    let Some(pebble) = Pebble::start("a_wildcard_is_proved_by_the_record_that_the_event_tells")
    else {
        return;
    };
    let mut settings = pebble.settings(&["*.example.org"]);
    settings.challenges = vec![ChallengeKind::Http01, ChallengeKind::DnsPersist01];
    let dns = pebble.dns_management;
    let set_record = move |event: &AcmeEvent| {
        if let AcmeEvent::RecordNeeded { domain, text } = event {
            let body =
                serde_json::json!({ "host": format!("{domain}."), "value": text }).to_string();
            exchange(TcpStream::connect(("127.0.0.1", dns)).unwrap(), &post("/set-txt", &body));
        }
    };
    let server =
        Server::start_with(settings, Confirms::Yes, Answers::default(), Box::new(set_record));
    let certificate = server.next_certificate();
    assert_eq!(certificate.facts.names, ["*.example.org"]);
    pebble.assert_trusted(&certificate);
    server.next_issued();
    server.stop();
}

#[test]
fn refusals_are_told_in_the_words_of_the_authority() {
    let Some(pebble) = Pebble::start("refusals_are_told_in_the_words_of_the_authority") else {
        return;
    };
    let server = pebble.server(pebble.settings(&["blocked.example"]));
    let error = server.next_failure();
    assert!(error.contains("rejectedIdentifier"), "{error}");
    server.stop();
    // The two ports know nothing of the answers of this server.
    let mut settings = pebble.settings(&["one.example.org"]);
    settings.state = pebble.folder.path().join("other").into();
    let server = Server::start(settings);
    let error = server.next_failure();
    assert!(
        error.starts_with("one.example.org was not proved") && error.contains("404"),
        "{error}"
    );
    server.stop();
}

#[test]
fn a_renewal_that_the_authority_asks_for_says_what_it_replaces() {
    let Some(pebble) = Pebble::start("a_renewal_that_the_authority_asks_for_says_what_it_replaces")
    else {
        return;
    };
    let settings = pebble.settings(&["one.example.org"]);
    let server = pebble.server(settings.clone());
    let first = server.next_certificate();
    server.next_issued();
    server.handle.stop();
    let certificates = pebble.state().join("certificates");
    let file = fs::read_dir(&certificates).unwrap().next().unwrap().unwrap().path();
    let old = fs::read(&file).unwrap();
    let pem = String::from_utf8(old.clone()).unwrap();
    let chain = &pem[pem.find("-----BEGIN CERTIFICATE").unwrap()..];
    let window =
        r#"{"suggestedWindow":{"start":"2020-01-01T00:00:00Z","end":"2020-01-02T00:00:00Z"}}"#;
    let body = serde_json::json!({ "Certificate": chain, "ARIResponse": window }).to_string();
    pebble.manage(&post("/set-renewal-info/", &body));
    // The window is asked for again: what the authority said before is in the ledger.
    forget_window(&pebble.state());
    let server = pebble.server(settings.clone());
    assert_eq!(server.next_certificate().facts.fingerprint, first.facts.fingerprint);
    assert_ne!(server.next_certificate().facts.fingerprint, first.facts.fingerprint);
    server.next_issued();
    server.stop();
    // With the old certificate back, the authority minds that it was replaced, and gets an order without that.
    fs::write(&file, old).unwrap();
    forget_window(&pebble.state());
    let server = pebble.server(settings);
    server.next_event(|event| matches!(event, AcmeEvent::AlreadyReplaced { .. }).then_some(()));
    assert_ne!(server.next_certificate().facts.fingerprint, first.facts.fingerprint);
    server.next_issued();
    server.stop();
}

#[test]
fn an_account_is_made_with_the_external_account_that_the_authority_requires() {
    let key = "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W";
    let keys = serde_json::json!({ "customer-7": key });
    let more = [("externalAccountBindingRequired", true.into()), ("externalAccountMACKeys", keys)];
    let Some(pebble) = Pebble::start_with(
        "an_account_is_made_with_the_external_account_that_the_authority_requires",
        &more,
    ) else {
        return;
    };
    let server = pebble.server(pebble.settings(&["one.example.org"]));
    let error = server.next_failure();
    assert!(error.contains("externalAccountRequired"), "{error}");
    server.stop();
    let mut settings = pebble.settings(&["one.example.org"]);
    settings.state = pebble.folder.path().join("other").into();
    let key = BASE64_URL_SAFE_NO_PAD.decode(key).unwrap();
    settings.issuers[0].external_account =
        Some(ExternalAccount { id: "customer-7".to_owned(), key });
    let server = pebble.server(settings);
    server.next_issued();
    server.stop();
}
