//! Servers over TLS for the tests, and the authority of their certificates: one thread per connection.
#![expect(clippy::disallowed_types, reason = "a test holds sockets of its own")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use bench::plan::OwnFiles;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
};
use tempfile::TempDir;
use tls::{
    Acceptor, Certificates, ClientAuthorities, ClientCertificates, Identity, Tickets, TlsStream,
};

pub(crate) const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// The names in the certificates of the tests' servers.
pub(crate) const NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

/// An authority with its files.
pub(crate) struct Authority {
    directory: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        Self::named("Authority of tests")
    }

    pub(crate) fn named(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let directory = TempDir::new().unwrap();
        std::fs::write(directory.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { directory, issuer }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// A certificate for these names, changed, with its key.
    pub(crate) fn issue(
        &self,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> OwnFiles {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let issued = params.signed_by(&key, &self.issuer).unwrap();
        let [certificate, private] =
            ["own.pem", "own.key"].map(|name| self.directory.path().join(name));
        std::fs::write(&certificate, issued.pem()).unwrap();
        std::fs::write(&private, key.serialize_pem()).unwrap();
        OwnFiles { certificate, key: private }
    }

    /// The offer of a server with a certificate for these names.
    pub(crate) fn acceptor(&self, names: &[&str]) -> Acceptor {
        acceptor(&self.issue(names, |_| {}), "http/1.1", &ClientCertificates::Ignored)
    }

    /// The same, which requires a certificate of clients.
    pub(crate) fn asking_acceptor(&self) -> Acceptor {
        let clients = ClientAuthorities::read(&self.file()).unwrap();
        let files = self.issue(&NAMES, |_| {});
        acceptor(&files, "http/1.1", &ClientCertificates::Required(clients))
    }
}

/// The offer of a server with this certificate and this protocol.
pub(crate) fn acceptor(files: &OwnFiles, protocol: &str, clients: &ClientCertificates) -> Acceptor {
    let identity = Identity::read(&files.certificate, &files.key).unwrap();
    Acceptor::new(Certificates::Fixed(&[identity]), &[protocol], clients, &Tickets::new().unwrap())
        .unwrap()
}

/// A server that does this work with every connection. It runs until the tests end.
pub(crate) fn accepting(work: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let work = Arc::new(work);
    thread::spawn(move || {
        for connection in listener.incoming() {
            let (connection, work) = (connection.unwrap(), Arc::clone(&work));
            // The first answer would wait for the acknowledgement of the tickets before it.
            connection.set_nodelay(true).unwrap();
            thread::spawn(move || work(connection));
        }
    });
    address
}

/// A server over TLS that answers every request.
pub(crate) fn answering(acceptor: Acceptor) -> SocketAddr {
    accepting(move |connection| {
        if let Ok(stream) = TlsStream::accept(&acceptor, connection) {
            converse(stream);
        }
    })
}

/// Answers until the client ends.
pub(crate) fn converse(mut stream: TlsStream<TcpStream>) {
    let mut heard = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        heard.extend_from_slice(&piece[..count]);
        while let Some(end) = heard.windows(4).position(|end| end == b"\r\n\r\n") {
            heard.drain(..end + 4);
            if stream.write_all(ANSWER).is_err() {
                return;
            }
        }
    }
    // The client has ended its output, and may have closed the connection.
    let _told = stream.end();
}
