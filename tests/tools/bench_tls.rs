//! Goal: every verb of `velodrome bench` measures over TLS, and refuses a server whose certificate is not accepted.
//! Method: the built binary, through a proxy of the test that ends TLS in front of a plain server.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tls::{Acceptor, Certificates, ClientCertificates, Identity, Tickets, TlsStream};

use crate::server::directory::Directory;
use crate::server::{PROGRAM, Plan, errors_of, printed_by, run};

/// A proxy over TLS, and the file of its certificate, which has signed itself.
struct Proxy {
    address: SocketAddr,
    certificate: PathBuf,
    _directory: Directory,
}

impl Proxy {
    /// One in front of this server, which speaks this protocol. It runs until the tests end.
    fn before(server: SocketAddr, protocols: &'static [&'static str]) -> Self {
        let directory = Directory::new();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = rcgen::CertificateParams::new(names).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // Each has its own name as an authority, too.
        params.distinguished_name.push(rcgen::DnType::CommonName, address.to_string());
        let key = rcgen::KeyPair::generate().unwrap();
        directory.write("own.pem", params.self_signed(&key).unwrap().pem());
        directory.write("own.key", key.serialize_pem());
        let (certificate, key) = (directory.join("own.pem"), directory.join("own.key"));
        let identity = Identity::read(&certificate, &key).unwrap();
        let tickets = Tickets::new().unwrap();
        let acceptor = Acceptor::new(
            Certificates::Fixed(&[identity]),
            protocols,
            &ClientCertificates::Ignored,
            &tickets,
        )
        .unwrap();
        thread::spawn(move || {
            for connection in listener.incoming() {
                let (connection, acceptor) = (connection.unwrap(), acceptor.clone());
                // The first answer would wait for the acknowledgement of the tickets before it.
                connection.set_nodelay(true).unwrap();
                thread::spawn(move || {
                    if let Ok(client) = TlsStream::accept(&acceptor, connection) {
                        carry(client, TcpStream::connect(server).unwrap());
                    }
                });
            }
        });
        Self { address, certificate, _directory: directory }
    }

    /// An option that trusts it.
    fn trusted(&self) -> String {
        format!("--cacert={}", self.certificate.display())
    }
}

/// Carries bytes both ways, until either side has ended.
fn carry(mut client: TlsStream<TcpStream>, mut server: TcpStream) {
    // Each side is asked in turn.
    let short = Some(Duration::from_millis(1));
    client.inner().set_read_timeout(short).unwrap();
    server.set_read_timeout(short).unwrap();
    let mut buffer = [0; 16 * 1024];
    loop {
        match pass(&mut client, &mut server, &mut buffer) {
            Passed::On => {}
            Passed::End => return,
        }
        match pass(&mut server, &mut client, &mut buffer) {
            Passed::On => {}
            Passed::End => {
                // The client may have closed the connection.
                let _told = client.end();
                return;
            }
        }
    }
}

enum Passed {
    On,
    End,
}

fn pass(from: &mut impl Read, to: &mut impl Write, buffer: &mut [u8]) -> Passed {
    match from.read(buffer) {
        Ok(0) => Passed::End,
        Ok(count) => to.write_all(&buffer[..count]).map_or(Passed::End, |()| Passed::On),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Passed::On
        }
        Err(_) => Passed::End,
    }
}

fn bench(words: &[&str]) -> Output {
    run(Command::new(PROGRAM).arg("bench").args(words))
}

fn measured(words: &[&str]) -> Value {
    let output = bench(&[words, &["--json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// A few requests of one thread, whatever time they take.
const FEW: [&str; 7] =
    ["-c=4", "-t=1", "-d=20s", "--warmup=0s", "--timeout=20s", "-n=40", "--seed=1"];

#[test]
fn a_site_is_measured_over_tls_by_its_name_and_by_its_address() {
    let server = Plan::new().file("a.txt", "hello").start();
    let proxy = Proxy::before(server.address(), &["http/1.1"]);
    let port = proxy.address.port();
    for host in ["localhost", "127.0.0.1"] {
        let url = format!("https://{host}:{port}/a.txt");
        let own = ["http", &url, &proxy.trusted(), "--expect-body=hello", "--close"];
        let report = measured(&[&own[..], &FEW].concat());
        let run = &report["runs"][0];
        assert_eq!(
            (&run["requests"]["answered"], &run["requests"]["failed"]),
            (&40.into(), &0.into())
        );
        let tls = &run["tls"];
        assert!(tls["full"].as_u64().unwrap() >= 40 && tls["resumed"] == 0, "{tls}");
        assert_eq!(tls["agreements"][0]["certificate"]["key"], "ECDSA P-256");
        let resuming = measured(&[&own[..], &FEW, &["--tls-resume"]].concat());
        let tls = &resuming["runs"][0]["tls"];
        assert!(tls["full"].as_u64().unwrap() <= 4, "{tls}");
        assert_eq!(resuming["plan"]["tls"]["handshakes"], "resumed");
    }
}

#[test]
fn a_server_that_is_not_trusted_has_no_valid_figures_and_says_what_to_do() {
    let server = Plan::new().file("a.txt", "hello").start();
    let proxy = Proxy::before(server.address(), &["http/1.1"]);
    let other = Proxy::before(server.address(), &["http/1.1"]);
    let url = format!("https://localhost:{}/a.txt", proxy.address.port());
    let output = bench(&[&["http", &url, &other.trusted()], &FEW[..]].concat());
    let printed = printed_by(&output);
    assert_eq!(output.status.code(), Some(3), "{printed}");
    assert!(printed.contains("INVALID") && printed.contains("--cacert"), "{printed}");
    let open = bench(&[&["http", &url, "-k"], &FEW[..]].concat());
    let printed = printed_by(&open);
    assert!(printed.contains("NOT CHECKED (--insecure)"), "{printed}");
    assert!(printed.contains("40 answered, 0 failed"), "{printed}");
}

#[test]
fn connections_are_held_over_tls() {
    let server = Plan::new().file("index.html", "hello").start();
    let proxy = Proxy::before(server.address(), &["http/1.1"]);
    let url = format!("https://localhost:{}", proxy.address.port());
    let words = ["hold", &url, "-k", "-c=20", "-t=1", "-d=300ms", "--timeout=20s"];
    let report = measured(&words);
    assert_eq!((&report["hold"]["open"], &report["hold"]["dead"]), (&20.into(), &0.into()));
    assert_eq!(report["runs"][0]["tls"]["full"], 20, "{report}");
}

#[test]
fn a_channel_is_measured_over_tls() {
    let server = Plan::new().config("[[channel]]\npattern = \"echo\"\n").start();
    let proxy = Proxy::before(server.address(), &["http/1.1"]);
    let url = format!("wss://localhost:{}/channels/echo", proxy.address.port());
    let words = ["channel", &url, &proxy.trusted(), "-c=5", "-n=10", "-t=1", "--timeout=20s"];
    let report = measured(&words);
    assert_eq!((&report["subscribers"], &report["received"]), (&5.into(), &50.into()), "{report}");
    assert_eq!(report["tls"]["full"], 5, "{report}");
    let other = Proxy::before(server.address(), &["http/1.1"]);
    let words = ["channel", &url, &other.trusted(), "-c=5", "-n=10", "-t=1"];
    let report = measured(&words);
    let failed = "the certificate is by an unknown authority";
    assert_eq!(
        (&report["valid"], &report["failed"][failed]),
        (&false.into(), &5.into()),
        "{report}"
    );
}

#[test]
fn a_store_is_measured_over_tls() {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0");
    let store = format!("--store={}", plan.directory.join("store").display());
    let server = plan.argument(&store).start();
    let proxy = Proxy::before(crate::server::channel::resp(&server), &[]);
    let port = proxy.address.port();
    for words in [
        vec![format!("rediss://localhost:{port}")],
        vec![format!("localhost:{port}"), "--tls".to_owned()],
    ] {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let trusted = proxy.trusted();
        let own = ["--keys=50", "--fill", &trusted];
        let report = measured(&[&["store"], &words[..], &own, &FEW].concat());
        let run = &report["runs"][0];
        assert_eq!(
            (&run["requests"]["found"], &run["requests"]["failed"]),
            (&40.into(), &0.into())
        );
        assert!(run["tls"]["full"].as_u64().unwrap() >= 4, "{run}");
        let url = report["plan"]["targets"][0]["url"].as_str().unwrap();
        assert!(url.starts_with(&format!("rediss://localhost:{port}/")), "{url}");
    }
}

#[test]
fn the_suite_of_requirements_is_played_over_tls() {
    let server = Plan::new().file("a.txt", "x".repeat(2000)).start();
    let proxy = Proxy::before(server.address(), &["http/1.1"]);
    let url = format!("https://localhost:{}", proxy.address.port());
    // The server behind it does not encrypt, so it rightly refuses targets that say https.
    let only = "--only=rfc9112-3.2-host";
    let words = ["conformance", &url, "--offers=file=/a.txt", "--level=must", only];
    let trusted = proxy.trusted();
    let report = measured(&[&words[..], &[&trusted]].concat());
    assert!(report["counts"]["passed"].as_u64().unwrap() > 5, "{report}");
    assert_eq!(report["counts"]["failed"], 0, "{report}");
    let other = Proxy::before(server.address(), &["http/1.1"]);
    let output = bench(&[&words[..], &[&other.trusted()]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(errors_of(&output).contains("unknown authority"), "{}", errors_of(&output));
}

#[test]
fn options_of_tls_that_are_wrong_are_named() {
    let url = "https://127.0.0.1:9/";
    for (words, status, expected) in [
        (&["--key=a.key"][..], 2, "--cert"),
        (&["--sni=no name"], 2, "--sni: `no name` is not the name of a server"),
        (&["--cacert=no.pem"], 1, "--cacert: cannot read `no.pem`: No such file"),
        (&["-k", "--cert=no.pem"], 1, "--cert: cannot read `no.pem`: No such file"),
        (&["-k", "--cacert=no.pem"], 2, "--cacert"),
    ] {
        let output = bench(&[&["http", url], words].concat());
        let errors = errors_of(&output);
        assert_eq!(output.status.code(), Some(status), "{errors}");
        assert!(errors.contains(expected), "{errors}");
    }
}
