//! The certificates of all listeners, read and checked: a part of the site that is replaced on its own when files
//! change.
//!
//! Owns which files are read, and the keys of tickets, which outlive a reload. Runs on the main thread, where it may
//! block. Knows no connection.

use ahash::HashSet;
use std::path::Path;

use config::{
    ClientCertificatePolicy, Config, ListenerAddress, ListenerCertificates, ListenerSettings,
    Protocol,
};
use tls::{
    Acceptor, AcceptorError, ClientAuthorities, Identity, IdentityError, PemError, SelfSignedError,
    Tickets,
};

use crate::certificate_files::CertificateStamps;
use crate::issued::Issued;
use crate::limits::SELF_SIGNED_NAMES;
use crate::shown_certificate::{CertificateSource, ShownCertificate};

/// The encryption of all listeners. By default none encrypts.
#[derive(Clone, Debug, Default)]
pub struct SiteTls {
    /// By configured listener; `None`: it is plain.
    offers: Vec<Option<Offer>>,
    /// That of the control over the network; `None`: it is plain, or there is none.
    admin: Option<Offer>,
    /// Each once.
    shown: Vec<ShownCertificate>,
    /// Those of `shown`.
    fingerprints: HashSet<[u8; 32]>,
    https_port: Option<u16>,
    /// The files it was read from, as they were before it was.
    files: CertificateStamps,
    kept: Kept,
}

/// The offer of a listener, and its parts: other certificates come in without a file being read again.
#[derive(Clone, Debug)]
struct Offer {
    acceptor: Acceptor,
    clients: tls::ClientCertificates,
    tickets: Tickets,
}

/// The parts that outlive a reload.
#[derive(Clone, Debug, Default)]
struct Kept {
    tickets: Option<Tickets>,
    self_signed: Option<Identity>,
    issued: Issued,
}

/// Why listeners cannot encrypt.
#[derive(Debug, thiserror::Error)]
#[error("`tls` of the listener {listener}: {why}")]
pub struct TlsError {
    listener: String,
    why: Why,
}

#[derive(Debug, thiserror::Error)]
enum Why {
    #[error("{0}")]
    Identity(IdentityError),
    #[error("{0}")]
    SelfSigned(SelfSignedError),
    #[error("`client_ca`: {0}")]
    Authorities(PemError),
    #[error("{0}")]
    Acceptor(AcceptorError),
}

impl SiteTls {
    /// Reads the certificates of all listeners. What outlives a reload is taken from the one before.
    ///
    /// # Errors
    /// The problem, and its file.
    pub fn load(config: &Config, before: &Self) -> Result<Self, TlsError> {
        let secure = |listener: &&ListenerSettings| {
            listener.tls.is_some() && listener.protocol == Protocol::Http
        };
        let https_port = match config.listeners.iter().find(secure).map(|one| &one.address) {
            Some(ListenerAddress::Tcp(address)) => Some(address.port()).filter(|port| *port != 0),
            _ => None,
        };
        let files = CertificateStamps::of(config);
        let mut loaded = Self { https_port, files, kept: before.kept.clone(), ..Self::default() };
        for listener in &config.listeners {
            let offered = listener.tls.as_ref();
            let offer = offered.map(|tls| loaded.offer_of(tls, protocols_of(listener), config));
            loaded.offers.push(offer.transpose().map_err(|why| refused(listener, why))?);
        }
        let offer = config.admin.tls.as_ref().map(|tls| loaded.offer_of(tls, HTTP2, config));
        let refused = |why| TlsError { listener: "[admin]".to_owned(), why };
        loaded.admin = offer.transpose().map_err(refused)?;
        Ok(loaded)
    }

    fn offer_of(
        &mut self,
        tls: &config::Tls,
        protocols: &[&str],
        config: &Config,
    ) -> Result<Offer, Why> {
        let identities = self.identities_of(&tls.certificates, config)?;
        let authorities = |path: &Path| ClientAuthorities::read(path).map_err(Why::Authorities);
        let clients = match &tls.clients {
            ClientCertificatePolicy::Ignored => tls::ClientCertificates::Ignored,
            ClientCertificatePolicy::Asked(path) => {
                tls::ClientCertificates::Asked(authorities(path)?)
            }
            ClientCertificatePolicy::Required(path) => {
                tls::ClientCertificates::Required(authorities(path)?)
            }
        };
        // A resumed session shows no certificate again: a ticket of another listener, or of other authorities, must not
        // open this one.
        let tickets = match &clients {
            tls::ClientCertificates::Ignored => self.tickets()?,
            _ => Tickets::new().map_err(Why::Acceptor)?,
        };
        let shown = match &tls.certificates {
            ListenerCertificates::Acme => {
                tls::Certificates::Ordered(&identities, self.kept.issued.challenges())
            }
            ListenerCertificates::Files(_) | ListenerCertificates::SelfSigned => {
                tls::Certificates::Fixed(&identities)
            }
        };
        let acceptor = Acceptor::new(shown, protocols, &clients, &tickets);
        Ok(Offer { acceptor: acceptor.map_err(Why::Acceptor)?, clients, tickets })
    }

    fn identities_of(
        &mut self,
        certificates: &ListenerCertificates,
        config: &Config,
    ) -> Result<Vec<Identity>, Why> {
        match certificates {
            ListenerCertificates::Files(files) => {
                let read = files.iter().map(|file| Identity::read(&file.certificate, &file.key));
                let read = read.collect::<Result<Vec<_>, _>>().map_err(Why::Identity)?;
                for shown in ShownCertificate::of_files(files, &read) {
                    self.show(shown);
                }
                Ok(read)
            }
            ListenerCertificates::SelfSigned => Ok(vec![self.self_signed(config)?]),
            ListenerCertificates::Acme => Ok(self.ordered(config)),
        }
    }

    /// The certificates that authorities have issued for the configured names. They are shown from now on.
    fn ordered(&mut self, config: &Config) -> Vec<Identity> {
        let ordered = self.kept.issued.for_names(&config.acme.names);
        for identity in &ordered {
            self.show(ShownCertificate::new(CertificateSource::Order, identity));
        }
        ordered
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
        self.show(ShownCertificate::new(CertificateSource::Start, &identity));
        self.kept.self_signed = Some(identity.clone());
        Ok(identity)
    }

    fn show(&mut self, new: ShownCertificate) {
        let fingerprint = new.certificate().fingerprint;
        if self.fingerprints.insert(fingerprint) {
            return self.shown.push(new);
        }
        let known = self.shown.iter_mut().find(|one| one.certificate().fingerprint == fingerprint);
        known.into_iter().for_each(|one| one.on_same(&new));
    }

    /// The same with other certificates from authorities, and what could not be changed: a listener whose new
    /// certificates the library refuses goes on with its old ones. No file is read again.
    pub fn with_issued(&self, config: &Config, issued: Issued) -> (Self, Option<TlsError>) {
        let mut changed = self.clone();
        let shows_the_same = changed.kept.issued.shows_the_same(&issued);
        changed.kept.issued = issued;
        if shows_the_same {
            return (changed, None);
        }
        changed.shown.retain(|one| *one.origin() != CertificateSource::Order);
        changed.fingerprints =
            changed.shown.iter().map(|one| one.certificate().fingerprint).collect();
        let identities = changed.ordered(config);
        let shown = tls::Certificates::Ordered(&identities, changed.kept.issued.challenges());
        let mut error = None;
        for (offer, listener) in changed.offers.iter_mut().zip(&config.listeners) {
            let is_acme = |tls: &config::Tls| tls.certificates == ListenerCertificates::Acme;
            let Some(offer) = offer.as_mut().filter(|_| listener.tls.as_ref().is_some_and(is_acme))
            else {
                continue;
            };
            let protocols = protocols_of(listener);
            match Acceptor::new(shown, protocols, &offer.clients, &offer.tickets) {
                Ok(acceptor) => offer.acceptor = acceptor,
                Err(why) => error = Some(refused(listener, Why::Acceptor(why))),
            }
        }
        (changed, error)
    }

    /// The certificates that authorities have issued, and the answers to their challenges.
    pub fn issued(&self) -> &Issued {
        &self.kept.issued
    }

    /// The offer of a configured listener; `None`: it is plain.
    #[inline]
    pub fn acceptor(&self, listener: usize) -> Option<&Acceptor> {
        self.offers.get(listener)?.as_ref().map(|offer| &offer.acceptor)
    }

    /// The certificates of the control over the network; `None`: it is plain, or there is none.
    pub fn admin_acceptor(&self) -> Option<&Acceptor> {
        self.admin.as_ref().map(|offer| &offer.acceptor)
    }

    /// The port of the first listener of HTTP that encrypts; `None`: there is none, or the port is not known.
    pub fn https_port(&self) -> Option<u16> {
        self.https_port
    }

    /// Whether no listener encrypts.
    pub fn is_empty(&self) -> bool {
        self.offers.iter().all(Option::is_none)
    }

    /// Problems of certificates that can be used: times that are over or to come, and what else clients refuse.
    pub fn problems(&self) -> Vec<String> {
        let now = i64::try_from(sys::clock::realtime().0).unwrap_or(i64::MAX);
        let of_one = |shown: &ShownCertificate| {
            let problems = shown.problems(now).into_iter();
            problems.map(|why| format!("certificate of {}: {why}", shown.summary())).collect()
        };
        self.shown.iter().flat_map::<Vec<_>, _>(of_one).collect()
    }

    /// The files that were read, with the facts of each from before it was read.
    pub fn files(&self) -> &CertificateStamps {
        &self.files
    }

    /// The certificates that are shown.
    pub fn shown(&self) -> &[ShownCertificate] {
        &self.shown
    }
}

fn refused(listener: &ListenerSettings, why: Why) -> TlsError {
    TlsError { listener: listener.address.to_string(), why }
}

/// HTTP/1 as handshakes call it. A client that is told to use the older version names it alone (`curl --http1.0`).
const HTTP: &[&str] = &["http/1.1", "http/1.0"];
/// The same behind HTTP/2, which is better for a client that has the choice.
const HTTP2: &[&str] = &["h2", "http/1.1", "http/1.0"];

/// The names of the protocol of a listener in a handshake (RFC 7301).
fn protocols_of(listener: &ListenerSettings) -> &'static [&'static str] {
    match listener.protocol {
        Protocol::Http if listener.http2 => HTTP2,
        Protocol::Http => HTTP,
        Protocol::Resp => &[],
    }
}

/// The names of a certificate that is made on the spot: this machine's own, and those of the hosts.
fn own_names(config: &Config) -> Vec<String> {
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    for listener in &config.listeners {
        if let ListenerAddress::Tcp(address) = &listener.address
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use acme::{CertificateNames, Name};
    use config::Overrides;

    use super::*;

    fn issued_for(names: &[&str]) -> (CertificateNames, Identity) {
        let parsed = names.iter().map(|name| Name::parse(name).unwrap());
        (CertificateNames::new(parsed).unwrap(), tls::self_signed(names).unwrap())
    }

    fn shown_names(tls: &SiteTls) -> Vec<&[String]> {
        tls.shown().iter().map(ShownCertificate::names).collect()
    }

    /// The file of an authority, which signs nothing.
    fn authority_of_clients(folder: &Path) -> PathBuf {
        let key = rcgen::KeyPair::generate().unwrap();
        let authority = rcgen::CertificateParams::default().self_signed(&key).unwrap();
        let file = folder.join("clients.pem");
        std::fs::write(&file, authority.pem()).unwrap();
        file
    }

    #[test]
    fn a_file_written_after_it_was_read_has_changed_whenever_the_configuration_comes_into_force() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = authority_of_clients(folder.path());
        let text = "[[listener]]\naddress = \"127.0.0.1:0\"\n\
                    tls = \"acme\"\nclient_ca = \"clients.pem\"\n\
                    [acme]\nnames = [\"one.example.org\"]\n";
        let config = Config::from_text(text, "test", folder.path(), &Overrides::default());
        let config = config.expect("it is valid");
        let tls = SiteTls::load(&config, &SiteTls::default()).expect("its files are");
        assert!(!tls.files().clone().have_changed(), "it is as it was read");
        std::fs::write(&file, "replaced").expect("it was written before");
        let mut files = tls.files().clone();
        assert!(files.have_changed(), "the server shows what was there before");
        assert!(!files.have_changed(), "this look has seen it");
    }

    #[test]
    fn issued_certificates_are_shown_also_when_a_file_of_the_listener_has_been_lost() {
        let folder = tempfile::tempdir().unwrap();
        let file = authority_of_clients(folder.path());
        let text = "[[listener]]\naddress = \"127.0.0.1:0\"\n\
                    tls = \"acme\"\nclient_ca = \"clients.pem\"\n\
                    [acme]\nnames = [\"one.example.org\", \"two.example.org\"]\n";
        let config = Config::from_text(text, "test", folder.path(), &Overrides::default()).unwrap();
        let mut tls = SiteTls::load(&config, &SiteTls::default()).unwrap();
        std::fs::write(&file, "cut").unwrap();
        for name in ["one.example.org", "two.example.org"] {
            let (names, identity) = issued_for(&[name]);
            let mut issued = tls.issued().clone();
            issued.insert(&names, &identity);
            let (changed, error) = tls.with_issued(&config, issued);
            assert!(error.is_none(), "{error:?}");
            tls = changed;
        }
        assert_eq!(shown_names(&tls), [["one.example.org"], ["two.example.org"]]);
    }

    #[test]
    fn one_certificate_for_several_names_is_shown_once_and_replaced_name_by_name() {
        let addresses = ["192.0.2.1".to_owned(), "192.0.2.2".to_owned()];
        let mut issued = Issued::default();
        let (both, identity) = issued_for(&["192.0.2.1", "192.0.2.2"]);
        issued.insert(&both, &identity);
        assert_eq!(issued.for_names(&addresses).len(), 1);
        let (first, identity) = issued_for(&["192.0.2.1"]);
        issued.insert(&first, &identity);
        let found = issued.for_names(&addresses);
        let names: Vec<_> = found.iter().map(|one| one.certificate().names.len()).collect();
        assert_eq!(names, [1, 2]);
    }
}
