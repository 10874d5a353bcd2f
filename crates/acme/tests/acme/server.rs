//! A server as the control thread sees it: a sink that keeps what it is given, and answers authorities on two ports.

use crate::waiting::PATIENCE;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use acme::limits::EXCHANGE;
use acme::{
    AcmeEvent, AcmeThread, CertificateNames, ChallengeAnswer, Confirmation, IssuedCertificate,
    Issuer, Name, RenewalSettings, Sink, TermsAgreement, start,
};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// A report to a sink.
#[derive(Debug)]
pub(crate) enum Told {
    Certificate(IssuedCertificate),
    Event(AcmeEvent),
    Answer,
    Withdrawn,
}

/// Whether a sink confirms answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confirms {
    Yes,
    Never,
}

/// The answers of the two ports.
#[derive(Clone, Default)]
pub(crate) struct Answers(Arc<Mutex<Given>>);

#[derive(Default)]
struct Given {
    by_token: BTreeMap<String, String>,
    by_server_name: BTreeMap<String, Arc<CertifiedKey>>,
}

impl fmt::Debug for Answers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Answers")
    }
}

/// The step taken with an event before the control thread goes on.
type OnEvent = Box<dyn FnMut(&AcmeEvent) + Send>;

struct Recorder {
    told: Sender<Told>,
    answers: Answers,
    confirms: Confirms,
    on_event: OnEvent,
}

impl Sink for Recorder {
    fn use_certificate(&mut self, certificate: IssuedCertificate) {
        let _ = self.told.send(Told::Certificate(certificate));
    }

    fn answer(&mut self, answer: ChallengeAnswer, confirmation: Confirmation) {
        self.answers.put(&answer);
        let _ = self.told.send(Told::Answer);
        if self.confirms == Confirms::Yes {
            // A scheduler confirms from a thread of its own.
            thread::spawn(move || confirmation.in_force());
        }
    }

    fn withdraw(&mut self, answer: &ChallengeAnswer) {
        self.answers.take(answer);
        let _ = self.told.send(Told::Withdrawn);
    }

    fn tell(&mut self, event: AcmeEvent) {
        (self.on_event)(&event);
        let _ = self.told.send(Told::Event(event));
    }
}

impl Answers {
    fn put(&self, answer: &ChallengeAnswer) {
        let mut given = self.0.lock().unwrap();
        match answer.clone() {
            ChallengeAnswer::Http01 { token, key_authorization, .. } => {
                given.by_token.insert(token, key_authorization);
            }
            ChallengeAnswer::TlsAlpn01 { server_name, certificate, key } => {
                given.by_server_name.insert(server_name, Arc::new(certified(certificate, &key)));
            }
        }
    }

    fn take(&self, answer: &ChallengeAnswer) {
        let mut given = self.0.lock().unwrap();
        match answer {
            ChallengeAnswer::Http01 { token, .. } => given.by_token.remove(token).is_some(),
            ChallengeAnswer::TlsAlpn01 { server_name, .. } => {
                given.by_server_name.remove(server_name).is_some()
            }
        };
    }

    pub(crate) fn is_empty(&self) -> bool {
        let given = self.0.lock().unwrap();
        given.by_token.is_empty() && given.by_server_name.is_empty()
    }

    /// Answers HTTP-01 on a port.
    pub(crate) fn serve_http(&self, listener: TcpListener) {
        let answers = self.clone();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut line = String::new();
                let _ = BufReader::new(&stream).read_line(&mut line);
                let token = line
                    .split(' ')
                    .nth(1)
                    .and_then(|path| path.strip_prefix("/.well-known/acme-challenge/"));
                let body =
                    token.and_then(|token| answers.0.lock().unwrap().by_token.get(token).cloned());
                let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
                let body = body.unwrap_or_default();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
            }
        });
    }

    /// Answers TLS-ALPN-01 on a port.
    pub(crate) fn serve_tls(&self, listener: TcpListener) {
        let mut config = server_builder().with_cert_resolver(Arc::new(self.clone()));
        config.alpn_protocols = vec![b"acme-tls/1".to_vec()];
        let config = Arc::new(config);
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
                while connection.is_handshaking() && connection.complete_io(&mut stream).is_ok() {}
            }
        });
    }
}

impl ResolvesServerCert for Answers {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.lock().unwrap().by_server_name.get(hello.server_name()?).cloned()
    }
}

/// A server that is running.
pub(crate) struct Server {
    pub(crate) handle: AcmeThread,
    pub(crate) answers: Answers,
    told: Receiver<Told>,
}

impl Server {
    pub(crate) fn start(settings: RenewalSettings) -> Self {
        Self::start_with(settings, Confirms::Yes, Answers::default(), Box::new(|_| {}))
    }

    pub(crate) fn start_with(
        settings: RenewalSettings,
        confirms: Confirms,
        answers: Answers,
        on_event: OnEvent,
    ) -> Self {
        let (sender, told) = channel();
        let sink = Recorder { told: sender, answers: answers.clone(), confirms, on_event };
        Self { handle: start(settings, None, Box::new(sink)).unwrap(), answers, told }
    }

    /// The next thing that the sink is told and that is looked for; what comes before is dropped.
    pub(crate) fn next<T>(&self, mut wanted: impl FnMut(Told) -> Option<T>) -> T {
        loop {
            let told = self.told.recv_timeout(PATIENCE).expect("the control thread says something");
            if let Some(found) = wanted(told) {
                return found;
            }
        }
    }

    pub(crate) fn next_event<T>(&self, mut wanted: impl FnMut(&AcmeEvent) -> Option<T>) -> T {
        self.next(|told| if let Told::Event(event) = told { wanted(&event) } else { None })
    }

    pub(crate) fn next_certificate(&self) -> IssuedCertificate {
        self.next(|told| match told {
            Told::Certificate(certificate) => Some(certificate),
            Told::Event(AcmeEvent::Failed { error, .. } | AcmeEvent::NotStored { error }) => {
                panic!("{error}")
            }
            Told::Event(_) | Told::Answer | Told::Withdrawn => None,
        })
    }

    /// Waits until a certificate is issued and everything about it is written down.
    pub(crate) fn next_issued(&self) {
        self.next_event(|event| match event {
            AcmeEvent::Issued { .. } => Some(()),
            AcmeEvent::Failed { error, .. } => panic!("{error}"),
            _ => None,
        });
    }

    /// The error of the next failure.
    pub(crate) fn next_failure(&self) -> String {
        self.next_event(|event| {
            if let AcmeEvent::Failed { error, .. } = event { Some(error.clone()) } else { None }
        })
    }

    /// Ends the control thread, and waits until it has ended: long before an exchange would have ended by itself.
    pub(crate) fn stop_for_good(self) {
        let before = Instant::now();
        self.handle.stop();
        assert!(before.elapsed() < EXCHANGE / 2, "nothing holds the end up");
        let wait = || self.told.recv_timeout(EXCHANGE / 2);
        let last = std::iter::repeat_with(wait).find_map(Result::err);
        assert_eq!(
            last,
            Some(RecvTimeoutError::Disconnected),
            "the sink is dropped with the thread"
        );
    }

    /// Ends the control thread; what the sink was told since the test looked last.
    pub(crate) fn stop(self) -> Vec<Told> {
        self.handle.stop();
        self.told.try_iter().collect()
    }
}

/// Settings for one certificate with these names, from one authority.
pub(crate) fn settings(
    names: &[&str],
    state: &Path,
    directory: &str,
    root: &CertificateDer<'static>,
) -> RenewalSettings {
    let names: Vec<Name> = names.iter().map(|name| Name::parse(name).unwrap()).collect();
    RenewalSettings {
        certificates: vec![CertificateNames::new(names).unwrap()],
        issuers: vec![Issuer { directory: directory.to_owned(), external_account: None }],
        roots: vec![root.clone()],
        terms: TermsAgreement::Agreed,
        ..RenewalSettings::new([], state.to_owned()).unwrap()
    }
}

/// A certificate for this machine that is its own root.
pub(crate) struct OwnCertificate {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) pem: String,
    pub(crate) key_pem: String,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl OwnCertificate {
    pub(crate) fn new() -> Self {
        let made =
            rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()])
                .unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let (pem, key_pem) = (made.cert.pem(), made.signing_key.serialize_pem());
        Self { certificate: made.cert.der().clone(), pem, key_pem, key }
    }
}

pub(crate) fn server_builder()
-> rustls::ConfigBuilder<rustls::ServerConfig, rustls::server::WantsServerCert> {
    rustls::ServerConfig::builder_with_provider(Arc::new(
        rustls::crypto::aws_lc_rs::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .expect("the library's own ciphers serve its own versions")
    .with_no_client_auth()
}

/// Not checked: the extension of these certificates is critical, and rustls does not know it.
fn certified(certificate: CertificateDer<'static>, key: &PrivateKeyDer<'static>) -> CertifiedKey {
    let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(key)
        .expect("rcgen makes keys that TLS uses");
    CertifiedKey::new(vec![certificate], key)
}

/// A port of this machine that is listened on.
pub(crate) fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Whether something accepts connections on a port.
pub(crate) fn accepts(port: u16) -> bool {
    let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    TcpStream::connect_timeout(&address, PATIENCE).is_ok()
}
