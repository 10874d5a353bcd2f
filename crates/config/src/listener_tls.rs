//! The encryption of a `[[listener]]`: the files of its certificates, and what its clients show.
//!
//! Owns the syntax of `tls`, `client_ca` and `client_certificates`. Never opens a file.

use std::path::{Path, PathBuf};

use toml::de::DeValue;

use crate::address::ListenerAddress;
use crate::choice::choice;
use crate::item::Item;
use crate::key::{Reading, show_text};
use crate::limits::LISTENER_CERTIFICATES;
use crate::model::config::{ListenerSettings, Protocol};
use crate::model::encryption::{
    CertificateFiles, ClientCertificatePolicy, ListenerCertificates, Tls,
};
use crate::problem::Problems;
use crate::section::Section;
use crate::value::path;
use crate::wording::shown;

const KEYS: [&str; 2] = ["certificate", "key"];

/// The certificates of `[acme]`.
const ACME: &str = "acme";

/// Reads `"acme"`, `{ certificate = "…", key = "…" }`, or a list of those.
pub(super) fn read(item: &Item<'_>, reading: &mut Reading<'_>) -> Result<Tls, String> {
    let base = reading.base;
    let files = match item.value {
        DeValue::String(text) if text == ACME => return Ok(Tls::of(ListenerCertificates::Acme)),
        DeValue::Array(_) if item.is_empty_list() => {
            return Err("`tls` has no certificate; leave it out for a plain listener".to_owned());
        }
        DeValue::Array(parts) if parts.len() > LISTENER_CERTIFICATES => {
            return Err(format!("`tls` has more than {LISTENER_CERTIFICATES} certificates"));
        }
        DeValue::Array(_) => item.list(reading.problems, |part| read_one(part, base))?,
        _ => vec![read_one(item, base)?],
    };
    Ok(Tls::of(ListenerCertificates::Files(files)))
}

fn read_one(item: &Item<'_>, base: &Path) -> Result<CertificateFiles, String> {
    let DeValue::Table(table) = item.value else {
        return Err(item.wrong_type(
            "{ certificate = \"site.pem\", key = \"site.key\" }, a list of those, or \"acme\"",
        ));
    };
    if let Some((key, _)) = table.iter().find(|(key, _)| !KEYS.contains(&&**key.get_ref())) {
        return Err(format!(
            "`tls` has no key `{}`; it has `certificate` and `key`",
            shown(key.get_ref())
        ));
    }
    let file = |key: &'static str| -> Result<PathBuf, String> {
        let found = table.iter().find(|(name, _)| **name.get_ref() == *key);
        let Some((_, value)) = found else {
            return Err(format!("`tls` needs `{key}`: the path of a PEM file"));
        };
        path(&Item { key, ..item.part(value) }, base)
    };
    Ok(CertificateFiles { certificate: file("certificate")?, key: file("key")? })
}

/// The value as written in the file; `None` for certificates that are not in files.
pub(super) fn show(tls: &Tls) -> Option<String> {
    let files = match &tls.certificates {
        ListenerCertificates::Files(files) => files,
        ListenerCertificates::Acme => return Some(show_text(ACME)),
        ListenerCertificates::SelfSigned => return None,
    };
    let shown: Vec<String> = files
        .iter()
        .map(|CertificateFiles { certificate, key }| {
            let (certificate, key) = (show_text(certificate.display()), show_text(key.display()));
            format!("{{ certificate = {certificate}, key = {key} }}")
        })
        .collect();
    match &*shown {
        [one] => Some(one.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

/// Whether a client without a certificate is refused.
const CLIENT_CERTIFICATES: [(&str, bool); 2] = [("required", true), ("asked", false)];

/// The listener with what its clients show, for which two keys are read together.
pub(super) fn with_clients(
    section: &Section<'_>,
    mut listener: ListenerSettings,
    base: &Path,
    problems: &mut Problems,
) -> ListenerSettings {
    let mut authorities = PathBuf::new();
    section.read_into("client_ca", &mut authorities, problems, |item| path(item, base));
    let mut is_required = true;
    section.read_into("client_certificates", &mut is_required, problems, |item| {
        choice(item, &CLIENT_CERTIFICATES)
    });
    let item = section.item("client_ca").or_else(|| section.item("client_certificates"));
    let Some(item) = item else { return listener };
    let has_authorities = section.item("client_ca").is_some();
    match &mut listener.tls {
        None => problems.at(item.key_offset, format!("`{}` needs `tls`", item.key)),
        Some(_) if !has_authorities => {
            let why = "`client_certificates` needs `client_ca`: a file with the authorities that issue them";
            problems.at(item.key_offset, why);
        }
        Some(tls) if is_required => tls.clients = ClientCertificatePolicy::Required(authorities),
        Some(tls) => tls.clients = ClientCertificatePolicy::Asked(authorities),
    }
    listener
}

impl ListenerSettings {
    /// Encrypts with a certificate made on the spot, if it is plain and no file is its address.
    pub(super) fn sign_itself(&mut self) {
        let is_plain = self.tls.is_none() && !matches!(self.address, ListenerAddress::Unix(_));
        if is_plain && self.protocol == Protocol::Http {
            self.tls = Some(Tls::of(ListenerCertificates::SelfSigned));
        }
    }
}
