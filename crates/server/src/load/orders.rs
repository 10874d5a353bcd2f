//! `[acme]` of a configuration as settings of `acme`, which orders.
//!
//! Owns where the state is kept if the configuration does not say, and the files that the section names. Orders
//! nothing.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use acme::{
    ChallengeKind, ExternalAccount, Issuer, Name, NameError, RenewalSettings, SettingsError,
    StatePlace, TermsAgreement,
};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use config::{
    AcmeChallenge, AcmeIssuer, AcmeSettings, AcmeState, Config, ListenerAddress, ListenerSettings,
};
use sys::credentials::is_root;
use sys::regular_file;
use sys::socket::has_ipv6;
use tls::PemError;

use crate::limits::ACCOUNT_KEY_SIZE;

/// The state of a server that belongs to the machine.
const OF_MACHINE: &str = "/var/lib/velodrome";

/// The directory with the state of a service, as its manager says (`systemd.exec(5)`).
const OF_SERVICE: &str = "STATE_DIRECTORY";

/// The name of the directory below these.
const NAME: &str = "acme";

/// The file of the lock, in the directory of a store that has the state.
const LOCK: &str = "acme.lock";

/// The first listener of IPv6 that there is when none is configured.
const EVERYWHERE: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 443);

/// Why nothing can be ordered.
#[derive(Debug, thiserror::Error)]
pub enum OrdersError {
    /// A name is not one.
    #[error("[acme]: \"{0}\" in `names`: {1}")]
    Name(String, NameError),
    /// The settings contradict each other.
    #[error("[acme]: {0}")]
    Settings(SettingsError),
    /// The authorities of `ca` cannot be read.
    #[error("[acme]: `ca`: {0}")]
    Ca(PemError),
    /// The key of an account cannot be read.
    #[error("[acme]: `key_file`: `{0}` cannot be used: {1}")]
    Key(PathBuf, io::Error),
    /// There is no place for the state.
    #[error(
        "[acme]: there is no home directory for keys and certificates; name a directory with \
         `state`"
    )]
    NoState,
}

/// Leaves out default listeners of a family of addresses that this machine does not have.
pub(super) fn settle(config: &mut Config) {
    let is_default = |one: &ListenerSettings| {
        one.place.is_none() && one.address == ListenerAddress::Tcp(EVERYWHERE)
    };
    let has_defaults = config.orders_certificates() && config.listeners.iter().any(is_default);
    if has_defaults && !has_ipv6() {
        let is_other =
            |one: &ListenerSettings| matches!(one.address, ListenerAddress::Tcp(SocketAddr::V6(_)));
        config.listeners.retain(|one| one.place.is_some() || !is_other(one));
    }
}

/// The settings of the orders; `None`: no listener shows ordered certificates.
pub(super) fn settings_of(config: &Config) -> Result<Option<RenewalSettings>, OrdersError> {
    if !config.orders_certificates() {
        return Ok(None);
    }
    let AcmeSettings { names, email, issuers, profile, challenges, state, ca } = &config.acme;
    let parse =
        |name: &String| Name::parse(name).map_err(|error| OrdersError::Name(name.clone(), error));
    let names = names.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let state = match state {
        AcmeState::Directory(path) => StatePlace::Directory(path.clone()),
        AcmeState::Store => {
            let store = config.store.path.as_ref().ok_or(OrdersError::NoState)?;
            StatePlace::Server { lock: store.join(LOCK) }
        }
        AcmeState::Usual => {
            let directory = state_directory(config.user.is_some() || is_root());
            directory.ok_or(OrdersError::NoState)?.into()
        }
    };
    let settings = RenewalSettings {
        issuers: issuers.iter().map(issuer).collect::<Result<_, _>>()?,
        email: email.clone(),
        profile: profile.clone(),
        challenges: challenges.iter().map(challenge).collect(),
        roots: match ca {
            Some(path) => tls::read_certificates(path).map_err(OrdersError::Ca)?,
            None => Vec::new(),
        },
        terms: TermsAgreement::Agreed,
        ..RenewalSettings::new(names, state).map_err(OrdersError::Settings)?
    };
    settings.check().map_err(OrdersError::Settings)?;
    Ok(Some(settings))
}

fn issuer(issuer: &AcmeIssuer) -> Result<Issuer, OrdersError> {
    let external_account = match &issuer.account {
        None => None,
        Some(account) => {
            let path = &account.key_file;
            let key = read_key(path).map_err(|error| OrdersError::Key(path.clone(), error))?;
            Some(ExternalAccount { id: account.key_id.clone(), key })
        }
    };
    Ok(Issuer { directory: issuer.directory.clone(), external_account })
}

fn read_key(path: &Path) -> io::Result<Vec<u8>> {
    let text = regular_file::text(path, ACCOUNT_KEY_SIZE)?;
    let text = text.trim().trim_end_matches('=');
    BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("it is not base64url: {error}"))
    })
}

fn challenge(challenge: &AcmeChallenge) -> ChallengeKind {
    match challenge {
        AcmeChallenge::Http01 => ChallengeKind::Http01,
        AcmeChallenge::TlsAlpn01 => ChallengeKind::TlsAlpn01,
        AcmeChallenge::DnsPersist01 => ChallengeKind::DnsPersist01,
    }
}

/// Where the state is kept if nobody says: with that of the service, of the machine, or of the user.
fn state_directory(is_of_machine: bool) -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).and_then(absolute);
    // More than one directory is written with colons between them; the first is the service's own.
    let of_service = std::env::var(OF_SERVICE).ok();
    let of_service = of_service.as_deref().and_then(|all| all.split(':').next()).map(PathBuf::from);
    if let Some(directory) = of_service.and_then(absolute) {
        return Some(directory.join(NAME));
    }
    if is_of_machine {
        return Some(Path::new(OF_MACHINE).join(NAME));
    }
    let data = variable("XDG_DATA_HOME");
    let data = data.or_else(|| Some(variable("HOME")?.join(".local/share")))?;
    Some(data.join("velodrome").join(NAME))
}
