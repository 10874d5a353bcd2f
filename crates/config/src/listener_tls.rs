//! `tls` of a `[[listener]]`: the files of its certificates.
//!
//! Owns that syntax. Never opens a file.

use std::path::{Path, PathBuf};

use toml::de::DeValue;

use super::item::Item;
use super::key::{Reading, show_text};
use super::value::path;
use super::wording::shown;
use super::{CertificateFiles, Certificates, ClientCertificates, Tls};
use crate::limits::LISTENER_CERTIFICATES;

/// The keys of a certificate.
const KEYS: [&str; 2] = ["certificate", "key"];

/// Reads `{ certificate = "…", key = "…" }`, or a list of those.
pub(super) fn read(item: &Item<'_>, reading: &mut Reading<'_>) -> Result<Tls, String> {
    let base = reading.base;
    let files = match item.value {
        DeValue::Array(_) if item.is_empty_list() => {
            return Err("`tls` has no certificate; leave it out for a plain listener".to_owned());
        }
        DeValue::Array(parts) if parts.len() > LISTENER_CERTIFICATES => {
            return Err(format!("`tls` has more than {LISTENER_CERTIFICATES} certificates"));
        }
        DeValue::Array(_) => item.list(reading.problems, |part| read_one(part, base))?,
        _ => vec![read_one(item, base)?],
    };
    Ok(Tls { certificates: Certificates::Files(files), clients: ClientCertificates::Ignored })
}

fn read_one(item: &Item<'_>, base: &Path) -> Result<CertificateFiles, String> {
    let DeValue::Table(table) = item.value else {
        return Err(item
            .wrong_type("{ certificate = \"site.pem\", key = \"site.key\" }, or a list of those"));
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
    let Certificates::Files(files) = &tls.certificates else { return None };
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
