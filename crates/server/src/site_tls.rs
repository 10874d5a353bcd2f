//! The certificates of all listeners, read and checked: a part of the site that is replaced on its own when files
//! change.
//!
//! Owns which files are read, and the keys of tickets, which outlive a reload. Runs on the main thread, where it may
//! block. Knows no connection.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{Address, Certificates, ClientCertificates, Config, Listener, Protocol};
use tls::{
    Acceptor, AcceptorError, Certificate, ClientAuthorities, Identity, IdentityError, PemError,
    SelfSignedError, Tickets,
};

use crate::issued::Issued;
use crate::limits::SELF_SIGNED_NAMES;

/// The encryption of all listeners.
#[derive(Debug)]
pub struct SiteTls {
    /// By configured listener; `None`: it is plain.
    acceptors: Vec<Option<Acceptor>>,
    shown: Vec<Shown>,
    https_port: Option<u16>,
    kept: Kept,
}

/// A certificate that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Where it came from.
    pub origin: Origin,
    /// What it says.
    pub certificate: Certificate,
    /// What is not right about it, though it can be used.
    pub flaws: Vec<String>,
}

/// Where a certificate came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file.
    File(PathBuf),
    /// It was made at the start.
    Start,
    /// The server has ordered it.
    Order,
}

impl Shown {
    /// One line: names, issuer, days left, file.
    pub fn summary(&self) -> String {
        let names = self.names().join(", ");
        let place = match &self.origin {
            Origin::File(file) => file.display().to_string(),
            Origin::Start => "made at the start".to_owned(),
            Origin::Order => "ordered".to_owned(),
        };
        let days = self.days_left(i64::try_from(sys::clock::realtime().0).unwrap_or(i64::MAX));
        format!("{names} by {}, {days} days left ({place})", self.certificate.issuer)
    }

    /// The host names and addresses that it is for.
    pub fn names(&self) -> &[String] {
        &self.certificate.names
    }

    /// Whole days until its end, at this time in seconds since 1970; negative behind it.
    pub fn days_left(&self, now: i64) -> i64 {
        self.certificate.not_after.saturating_sub(now).div_euclid(24 * 3600)
    }
}

/// What outlives a reload.
#[derive(Clone, Debug, Default)]
struct Kept {
    tickets: Option<Tickets>,
    self_signed: Option<Identity>,
    issued: Arc<Issued>,
}

/// Why listeners cannot encrypt.
#[derive(Debug)]
pub struct TlsError {
    listener: String,
    why: Why,
}

#[derive(Debug)]
enum Why {
    Identity(IdentityError),
    SelfSigned(SelfSignedError),
    Authorities(PemError),
    Acceptor(AcceptorError),
}

impl fmt::Display for TlsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`tls` of the listener {}: ", self.listener)?;
        match &self.why {
            Why::Identity(error) => error.fmt(formatter),
            Why::SelfSigned(error) => error.fmt(formatter),
            Why::Authorities(error) => write!(formatter, "`client_ca`: {error}"),
            Why::Acceptor(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for TlsError {}

impl Default for SiteTls {
    /// No listener encrypts.
    fn default() -> Self {
        Self { acceptors: Vec::new(), shown: Vec::new(), https_port: None, kept: Kept::default() }
    }
}

impl SiteTls {
    /// Reads the certificates of all listeners. What outlives a reload is taken from the one before.
    ///
    /// # Errors
    /// What is wrong with which file.
    pub fn load(config: &Config, before: &Self) -> Result<Self, TlsError> {
        let secure =
            |listener: &&Listener| listener.tls.is_some() && listener.protocol == Protocol::Http;
        let https_port = match config.listeners.iter().find(secure).map(|one| &one.address) {
            Some(Address::Tcp(address)) => Some(address.port()).filter(|port| *port != 0),
            _ => None,
        };
        let mut loaded = Self { https_port, kept: before.kept.clone(), ..Self::default() };
        for listener in &config.listeners {
            let acceptor = loaded
                .acceptor_of(listener, config)
                .map_err(|why| TlsError { listener: listener.address.to_string(), why })?;
            loaded.acceptors.push(acceptor);
        }
        Ok(loaded)
    }

    fn acceptor_of(
        &mut self,
        listener: &Listener,
        config: &Config,
    ) -> Result<Option<Acceptor>, Why> {
        let Some(tls) = &listener.tls else { return Ok(None) };
        let identities = match &tls.certificates {
            Certificates::Files(files) => {
                let read = files.iter().map(|file| Identity::read(&file.certificate, &file.key));
                let read = read.collect::<Result<Vec<_>, _>>().map_err(Why::Identity)?;
                for (file, identity) in files.iter().zip(&read) {
                    self.show(Origin::File(file.certificate.clone()), identity);
                }
                read
            }
            Certificates::SelfSigned => vec![self.self_signed(config)?],
            Certificates::Acme => {
                let ordered = self.kept.issued.for_names(&config.acme.names);
                ordered.iter().for_each(|identity| self.show(Origin::Order, identity));
                ordered
            }
        };
        let authorities = |path: &Path| ClientAuthorities::read(path).map_err(Why::Authorities);
        let clients = match &tls.clients {
            ClientCertificates::Ignored => tls::ClientCertificates::Ignored,
            ClientCertificates::Asked(path) => tls::ClientCertificates::Asked(authorities(path)?),
            ClientCertificates::Required(path) => {
                tls::ClientCertificates::Required(authorities(path)?)
            }
        };
        let protocols: &[&str] = match listener.protocol {
            Protocol::Http => &["http/1.1"],
            Protocol::Resp => &[],
        };
        // A resumed session shows no certificate again: a ticket of another listener, or of other authorities, must not
        // open this one.
        let tickets = match &clients {
            tls::ClientCertificates::Ignored => self.tickets()?,
            _ => Tickets::new().map_err(Why::Acceptor)?,
        };
        let shown = match &tls.certificates {
            Certificates::Acme => {
                tls::Certificates::Ordered(&identities, self.kept.issued.challenges())
            }
            Certificates::Files(_) | Certificates::SelfSigned => {
                tls::Certificates::Fixed(&identities)
            }
        };
        let acceptor = Acceptor::new(shown, protocols, &clients, &tickets);
        acceptor.map(Some).map_err(Why::Acceptor)
    }

    fn tickets(&mut self) -> Result<Tickets, Why> {
        if let Some(tickets) = &self.kept.tickets {
            return Ok(tickets.clone());
        }
        let tickets = Tickets::new().map_err(Why::Acceptor)?;
        self.kept.tickets = Some(tickets.clone());
        Ok(tickets)
    }

    fn self_signed(&mut self, config: &Config) -> Result<Identity, Why> {
        let identity = match &self.kept.self_signed {
            Some(made) => made.clone(),
            None => {
                let names = own_names(config);
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                tls::self_signed(&names).map_err(Why::SelfSigned)?
            }
        };
        self.show(Origin::Start, &identity);
        self.kept.self_signed = Some(identity.clone());
        Ok(identity)
    }

    fn show(&mut self, origin: Origin, identity: &Identity) {
        let certificate = identity.certificate().clone();
        if self.shown.iter().any(|shown| shown.certificate == certificate) {
            return;
        }
        let flaws = identity.flaws().iter().map(ToString::to_string).collect();
        self.shown.push(Shown { origin, certificate, flaws });
    }

    /// The same with other certificates from authorities. Files are not read again.
    ///
    /// # Errors
    /// If the library refuses them.
    pub fn with_issued(&self, config: &Config, issued: &Arc<Issued>) -> Result<Self, TlsError> {
        let kept = Kept { issued: Arc::clone(issued), ..self.kept.clone() };
        let shown = self.shown.iter().filter(|one| one.origin != Origin::Order).cloned().collect();
        let acceptors = self.acceptors.clone();
        let mut changed = Self { acceptors, shown, https_port: self.https_port, kept };
        for (place, listener) in config.listeners.iter().enumerate() {
            let is_acme = |tls: &config::Tls| matches!(tls.certificates, Certificates::Acme);
            if !listener.tls.as_ref().is_some_and(is_acme) {
                continue;
            }
            let acceptor = changed
                .acceptor_of(listener, config)
                .map_err(|why| TlsError { listener: listener.address.to_string(), why })?;
            if let Some(known) = changed.acceptors.get_mut(place) {
                *known = acceptor;
            }
        }
        Ok(changed)
    }

    /// The certificates that authorities have issued, and the answers to their challenges.
    pub fn issued(&self) -> &Issued {
        &self.kept.issued
    }

    /// What a configured listener offers; `None`: it is plain.
    #[inline]
    pub fn acceptor(&self, listener: usize) -> Option<&Acceptor> {
        self.acceptors.get(listener)?.as_ref()
    }

    /// The port of the first listener of HTTP that encrypts; `None`: there is none, or the port is not known.
    pub fn https_port(&self) -> Option<u16> {
        self.https_port
    }

    /// Whether no listener encrypts.
    pub fn is_empty(&self) -> bool {
        self.acceptors.iter().all(Option::is_none)
    }

    /// What is wrong with certificates that can be used: those that have expired, and chains that clients refuse.
    pub fn problems(&self) -> Vec<String> {
        let now = i64::try_from(sys::clock::realtime().0).unwrap_or(i64::MAX);
        let of_one = |shown: &Shown| {
            let expired = shown.certificate.not_after < now;
            let expired = expired.then(|| "it has expired: clients refuse it".to_owned());
            let flaws = shown.flaws.iter().cloned().chain(expired);
            flaws.map(|flaw| format!("certificate of {}: {flaw}", shown.summary())).collect()
        };
        self.shown.iter().flat_map::<Vec<_>, _>(of_one).collect()
    }

    /// The certificates that are shown.
    pub fn shown(&self) -> &[Shown] {
        &self.shown
    }
}

/// All files that are read for these listeners.
pub fn files_of(config: &Config) -> Vec<&Path> {
    let mut files = Vec::new();
    for tls in config.listeners.iter().filter_map(|listener| listener.tls.as_ref()) {
        if let Certificates::Files(pairs) = &tls.certificates {
            files.extend(pairs.iter().flat_map(|pair| [&*pair.certificate, &*pair.key]));
        }
        match &tls.clients {
            ClientCertificates::Ignored => {}
            ClientCertificates::Asked(path) | ClientCertificates::Required(path) => {
                files.push(path);
            }
        }
    }
    files
}

/// The names of a certificate that is made on the spot: this machine's own, and those of the hosts.
fn own_names(config: &Config) -> Vec<String> {
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    for listener in &config.listeners {
        if let Address::Tcp(address) = &listener.address
            && !address.ip().is_unspecified()
        {
            names.push(address.ip().to_string());
        }
    }
    let hosts = config.hosts.iter().flat_map(|host| &host.names);
    names.extend(hosts.map(ToString::to_string));
    names.sort_unstable();
    names.dedup();
    names.truncate(SELF_SIGNED_NAMES);
    names
}
