//! `[acme]`: certificates that the server orders itself (RFC 8555).
//!
//! Owns the keys of that section, and that a listener shows what is ordered. Never contacts an authority; what a name
//! may look like is checked by `acme`.

use std::path::Path;

use toml::de::DeValue;

use crate::choice::choice;
use crate::item::Item;
use crate::key::{SectionKeys, section, show_text, show_texts};
use crate::limits::{ACME_ISSUERS, ACME_NAMES};
use crate::model::acme::{AcmeAccount, AcmeChallenge, AcmeIssuer, AcmeState, ISSUERS};
use crate::model::config::{Config, ListenerSettings};
use crate::model::encryption::{ClientCertificatePolicy, ListenerCertificates, Tls};
use crate::overrides::Overrides;
use crate::problem::Problems;
use crate::value::{borrowed_text, cannot_be, path, word};
use crate::wording::shown;

/// The value of `state` for the store. A directory of that name is `./store`.
const IN_STORE: &str = "store";

const CHALLENGES: [(&str, AcmeChallenge); 3] = [
    ("http-01", AcmeChallenge::Http01),
    ("tls-alpn-01", AcmeChallenge::TlsAlpn01),
    ("dns-persist-01", AcmeChallenge::DnsPersist01),
];

/// The ports of a site on the internet when no listener is configured: plain and encrypted, of both families.
pub(super) const DEFAULT_LISTENERS: [(&str, IsEncrypted); 4] = [
    ("0.0.0.0:80", IsEncrypted::No),
    ("[::]:80", IsEncrypted::No),
    ("0.0.0.0:443", IsEncrypted::Yes),
    ("[::]:443", IsEncrypted::Yes),
];

/// Whether a default listener encrypts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum IsEncrypted {
    Yes,
    No,
}

/// Ensures that there is something to order if a listener shows it, and a listener if something is ordered. Listeners
/// of the command line replace those of the file: then nothing is ordered.
pub(super) fn check(
    section_offset: Option<usize>,
    config: &Config,
    overrides: &Overrides,
    problems: &mut Problems,
) {
    let shows = |one: &&ListenerSettings| {
        one.tls.as_ref().is_some_and(|tls| tls.certificates == ListenerCertificates::Acme)
    };
    let first = config.listeners.iter().find(shows);
    match (section_offset, first) {
        (Some(offset), _) if config.acme.names.is_empty() => {
            let why =
                "[acme] has no `names`; write the names of the site, such as [\"example.org\"]";
            problems.at(offset, why);
        }
        (Some(offset), None) if overrides.listen.is_empty() => {
            let why = "no listener shows the certificates of [acme]; add `tls = \"acme\"` to a [[listener]]";
            problems.at(offset, why);
        }
        (Some(offset), Some(_)) if !lets_authorities_in(config) => {
            let why = "[acme] can prove no name by \"tls-alpn-01\": every listener requires certificates of \
                       clients, and authorities show none; add \"http-01\" to `challenges`, or write \
                       `client_certificates = \"asked\"`";
            problems.at(offset, why);
        }
        (None, Some(listener)) => {
            let why = "`tls = \"acme\"` needs [acme] with the `names` of the site";
            problems.add(listener.place, why.to_owned());
        }
        _ => {}
    }
}

/// Whether an authority gets an answer to a challenge: over TLS it is a client without a certificate.
fn lets_authorities_in(config: &Config) -> bool {
    let is_open = |one: &ListenerSettings| {
        let clients = one.tls.as_ref().map(|tls| &tls.clients);
        clients.is_some_and(|clients| !matches!(clients, ClientCertificatePolicy::Required(_)))
    };
    config.acme.challenges != [AcmeChallenge::TlsAlpn01] || config.listeners.iter().any(is_open)
}

impl ListenerSettings {
    /// A default listener of a site with certificates by itself.
    pub(super) fn of_acme((address, encrypted): (&str, IsEncrypted)) -> Option<Self> {
        let mut listener = Self::on(address.parse().ok()?);
        if encrypted == IsEncrypted::Yes {
            listener.tls = Some(Tls::of(ListenerCertificates::Acme));
        }
        Some(listener)
    }
}

fn issuer(item: &Item<'_>, base: &Path) -> Result<AcmeIssuer, String> {
    const WANTED: &str = "\"letsencrypt\", the URL of a directory, or { directory = \"https://…\", key_id = \
                          \"…\", key_file = \"…\" }";
    let DeValue::Table(table) = item.value else {
        let text = borrowed_text(item, WANTED)?;
        return Ok(AcmeIssuer { directory: directory_of(item, text)?, account: None });
    };
    let known = ["directory", "key_id", "key_file"];
    if let Some((key, _)) = table.iter().find(|(key, _)| !known.contains(&&**key.get_ref())) {
        return Err(format!(
            "an issuer has no key `{}`; it has `directory`, `key_id` and `key_file`",
            shown(key.get_ref())
        ));
    }
    let part = |key: &'static str| {
        let found = table.iter().find(|(name, _)| **name.get_ref() == *key);
        let found = found.map(|(_, value)| Item { key, ..item.part(value) });
        found.ok_or_else(|| format!("an issuer with an account needs `{key}`"))
    };
    let directory = part("directory")?;
    let directory = directory_of(&directory, borrowed_text(&directory, WANTED)?)?;
    let account =
        AcmeAccount { key_id: word(&part("key_id")?)?, key_file: path(&part("key_file")?, base)? };
    Ok(AcmeIssuer { directory, account: Some(account) })
}

fn directory_of(item: &Item<'_>, text: &str) -> Result<String, String> {
    if let Some((_, url)) = ISSUERS.iter().find(|(name, _)| *name == text) {
        return Ok((*url).to_owned());
    }
    if !text.starts_with("https://") {
        let why = "an issuer is \"letsencrypt\", \"letsencrypt-staging\" or a URL that begins with https://";
        return Err(cannot_be(item, text, why));
    }
    Ok(text.to_owned())
}

fn show_issuer(issuer: &AcmeIssuer) -> String {
    let directory = show_text(&issuer.directory);
    match &issuer.account {
        None => directory,
        Some(AcmeAccount { key_id, key_file }) => format!(
            "{{ directory = {directory}, key_id = {}, key_file = {} }}",
            show_text(key_id),
            show_text(key_file.display())
        ),
    }
}

/// A list that is neither empty nor too long.
fn list<T>(
    item: &Item<'_>,
    problems: &mut Problems,
    most: usize,
    parse: impl FnMut(&Item<'_>) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    if item.is_empty_list() {
        return Err(format!("`{}` is empty; write at least one, or leave it out", item.key));
    }
    let read = item.list(problems, parse)?;
    if read.len() > most {
        return Err(format!("`{}` has more than {most} entries", item.key));
    }
    Ok(read)
}

pub(super) static ACME: SectionKeys = section! {
    "[acme]";
    "names": set(
        acme.names, "list of names and addresses",
        |item, reading| list(item, reading.problems, ACME_NAMES, word)?,
        |value| (!value.is_empty()).then(|| show_texts(value)),
    ), "must be given", Reload,
        "The names and addresses of the site. Each name gets a certificate, and all addresses (at most 100) get one, which is [ordered and renewed by the server](tls.md#certificates-by-itself) and shown by listeners with `tls = \"acme\"`. Without any `[[listener]]` there are four: ports 80 (plain) and 443 (encrypted) of all addresses. Whoever writes this section agrees to the terms of the issuers.";
    "email": optional(acme.email, email, "text"), "none is given", Reload,
        "Where an issuer may send mail about the account. It is used when the account is made.";
    "issuers": own(
        "list of `\"letsencrypt\"`, `\"letsencrypt-staging\"`, URLs of directories, or `{ \
        directory, key_id, key_file }`",
        |config, item, reading| {
            let base = reading.base;
            config.acme.issuers =
                list(item, reading.problems, ACME_ISSUERS, |part| issuer(part, base))?;
            Ok(())
        },
        |config| {
            let shown: Vec<String> = config.acme.issuers.iter().map(show_issuer).collect();
            Some(format!("[{}]", shown.join(", ")))
        },
    ), default, Reload,
        "The authorities that issue. After two failures the next one is asked. `key_id` and `key_file` (base64url) are for an authority that asks for an account of its own.";
    "profile": optional(acme.profile, word, "text"), "the issuer's default, for addresses `\"shortlived\"`", Reload,
        "The profile of certificates, such as `\"shortlived\"`. An issuer without it issues its default.";
    "challenges": own(
        "list of `\"http-01\"`, `\"tls-alpn-01\"` and `\"dns-persist-01\"`",
        |config, item, reading| {
            let one = |part: &Item<'_>| choice(part, &CHALLENGES);
            config.acme.challenges = list(item, reading.problems, CHALLENGES.len(), one)?;
            Ok(())
        },
        |config| {
            let named = |challenge: &AcmeChallenge| {
                CHALLENGES.iter().find(|(_, one)| one == challenge).map(|(name, _)| *name)
            };
            let names: Vec<&str> =
                config.acme.challenges.iter().filter_map(named).collect();
            Some(show_texts(&names))
        },
    ), default, Reload,
        "How names are proved, the preferred way first; after a failure the next one is tried. `http-01` needs port 80 and `tls-alpn-01` port 443 to lead here. `dns-persist-01` needs a record in DNS, which is set once (the log shows it at each order), and is the only one for wildcards.";
    "state": set(
        acme.state, "path of a directory, or `\"store\"`",
        |item, reading| match item.value {
            DeValue::String(text) if *text == IN_STORE => AcmeState::Store,
            _ => AcmeState::Directory(path(item, reading.base)?),
        },
        |value| match value {
            AcmeState::Usual => None,
            AcmeState::Directory(path) => Some(show_text(path.display())),
            AcmeState::Store => Some(show_text(IN_STORE)),
        },
    ), "`acme` in `$STATE_DIRECTORY`, for root in `/var/lib/velodrome`, for others in \
        `~/.local/share/velodrome`", Restart,
        "Where accounts, keys and certificates are kept: in a directory outside the served ones, which is created if missing, or in the [store](store.md), where no client reaches them. Servers that share it order once: one has the lock, the others use what it gets.";
    "ca": path(acme.ca, "path"), "the public authorities", Reload,
        "A PEM file with authorities that are trusted for the connections to issuers, besides the public ones: for an issuer of one's own.";
};

fn email(item: &Item<'_>) -> Result<String, String> {
    let text = borrowed_text(item, "an address such as \"you@example.org\"")?;
    let is_address =
        text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty());
    if !is_address || text.chars().any(|one| one.is_whitespace() || one.is_control()) {
        return Err(cannot_be(item, text, "write an address such as \"you@example.org\""));
    }
    Ok(text.to_owned())
}

impl Config {
    /// Whether a listener shows certificates that the server orders.
    pub fn orders_certificates(&self) -> bool {
        let mut all = self.listeners.iter().filter_map(|listener| listener.tls.as_ref());
        all.any(|tls| tls.certificates == ListenerCertificates::Acme)
    }
}
