//! An authority of the tests with certificates in files, and connections that trust it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::client::WantsClientCert;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, ConfigBuilder, RootCertStore, StreamOwned};

use super::client::read;
use super::directory::Directory;
use super::patience::PATIENCE;

/// An authority, whose certificate is `ca.pem` in a directory of the test.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, as a client shows them.
pub(crate) struct Shown(CertificateDer<'static>, Vec<u8>);

impl Authority {
    pub(crate) fn in_directory(directory: &Directory) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "Authority of the tests");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        directory.write("ca.pem", issuer.pem());
        Self { issuer }
    }

    /// Writes `NAME.pem` and `NAME.key`, for these host names and addresses.
    pub(crate) fn issue(&self, directory: &Directory, name: &str, names: &[&str]) -> Shown {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        self.issue_with(directory, name, CertificateParams::new(names).unwrap())
    }

    /// The same for one name, which ends so many days from now.
    pub(crate) fn issue_for_days(&self, directory: &Directory, name: &str, days: u64) -> Shown {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        let now = SystemTime::now();
        params.not_before = now.into();
        params.not_after = (now + Duration::from_hours(24 * days)).into();
        self.issue_with(directory, name, params)
    }

    fn issue_with(
        &self,
        directory: &Directory,
        name: &str,
        mut params: CertificateParams,
    ) -> Shown {
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        directory.write(&format!("{name}.pem"), certificate.pem() + &self.issuer.pem());
        directory.write(&format!("{name}.key"), key.serialize_pem());
        Shown(certificate.der().clone(), key.serialize_der())
    }

    /// A client that trusts this authority alone.
    pub(crate) fn client(&self, own: Option<&Shown>) -> SecureClient {
        let builder = builder(self.issuer.der().clone());
        let config = match own {
            None => builder.with_no_client_auth(),
            Some(Shown(certificate, key)) => {
                let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.clone()));
                builder.with_client_auth_cert(vec![certificate.clone()], key).unwrap()
            }
        };
        SecureClient(Arc::new(config))
    }
}

/// Connects with TLS.
pub(crate) struct SecureClient(Arc<ClientConfig>);

impl SecureClient {
    /// A client that trusts one authority and shows nothing.
    pub(crate) fn trusting(root: CertificateDer<'static>) -> Self {
        Self(Arc::new(builder(root).with_no_client_auth()))
    }
}

fn builder(root: CertificateDer<'static>) -> ConfigBuilder<ClientConfig, WantsClientCert> {
    let mut roots = RootCertStore::empty();
    roots.add(root).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
}

/// A connection with TLS.
pub(crate) struct Secure(StreamOwned<ClientConnection, TcpStream>);

impl SecureClient {
    /// A connection that asks for this name; its handshake is over.
    pub(crate) fn connect(&self, address: SocketAddr, name: &str) -> io::Result<Secure> {
        self.connect_after(b"", address, name)
    }

    /// The same after bytes in clear.
    pub(crate) fn connect_after(
        &self,
        lead: &[u8],
        address: SocketAddr,
        name: &str,
    ) -> io::Result<Secure> {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let mut socket = TcpStream::connect(address)?;
        socket.write_all(lead)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let connection = ClientConnection::new(Arc::clone(&self.0), name).unwrap();
        let mut stream = StreamOwned::new(connection, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Secure(stream))
    }

    /// One GET on a connection of its own: the whole answer.
    pub(crate) fn get(&self, address: SocketAddr, name: &str, path: &str) -> io::Result<String> {
        self.connect(address, name)?.last(name, path)
    }
}

impl Secure {
    /// The certificate that the server has shown.
    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        self.0.conn.peer_certificates().unwrap()[0].clone().into_owned()
    }

    /// Sends a GET, and reads the answer, which has a length.
    pub(crate) fn get(&mut self, name: &str, path: &str) -> io::Result<String> {
        write!(self.0, "GET {path} HTTP/1.1\r\nHost: {name}\r\n\r\n")?;
        let mut answer = Vec::new();
        loop {
            let mut piece = [0; 4096];
            let count = read(&mut self.0, &mut piece)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            answer.extend_from_slice(&piece[..count]);
            let text = String::from_utf8_lossy(&answer);
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            if length.and_then(|length| length.parse().ok()) == Some(body.len()) {
                return Ok(text.into_owned());
            }
        }
    }

    /// Sends a GET after which the connection ends, and reads all. An end without `close_notify` is an error.
    pub(crate) fn last(mut self, name: &str, path: &str) -> io::Result<String> {
        write!(self.0, "GET {path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        self.0.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Sends bytes.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// Receives exactly this many bytes.
    pub(crate) fn receive(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}
