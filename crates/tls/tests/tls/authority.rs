//! An authority of the tests, with certificates as PEM files.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
};
use tempfile::TempDir;
use tls::{Authorities, ClientAuthorities, Identity};

/// An RSA key of 2048 bits: making one takes seconds.
pub(crate) const RSA_KEY: &str = include_str!("rsa.key");

pub(crate) struct Authority {
    directory: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        let directory = TempDir::new().unwrap();
        std::fs::write(directory.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { directory, issuer }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// The authorities of a client that trusts it.
    pub(crate) fn trusted(&self) -> Authorities {
        Authorities::read(&self.file()).unwrap()
    }

    /// The authorities of a server that takes certificates of clients from it.
    pub(crate) fn of_clients(&self) -> ClientAuthorities {
        ClientAuthorities::read(&self.file()).unwrap()
    }

    /// Writes a certificate for these names and its key.
    pub(crate) fn issue(&self, names: &[&str]) -> (PathBuf, PathBuf) {
        self.issue_with(names, KeyPair::generate().unwrap(), |_| {})
    }

    /// The same with an RSA key.
    pub(crate) fn issue_rsa(&self, names: &[&str]) -> (PathBuf, PathBuf) {
        self.issue_with(names, KeyPair::from_pem(RSA_KEY).unwrap(), |_| {})
    }

    /// The same, changed.
    pub(crate) fn issue_with(
        &self,
        names: &[&str],
        key: KeyPair,
        change: impl FnOnce(&mut CertificateParams),
    ) -> (PathBuf, PathBuf) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names.clone()).unwrap();
        params.distinguished_name.push(DnType::CommonName, names.join("+"));
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let stem = format!("{}-{:?}", names.join("+").replace('*', "any"), key.algorithm());
        let place = |end: &str| self.directory.path().join(format!("{stem}.{end}"));
        let (chain, private) = (place("pem"), place("key"));
        std::fs::write(&chain, certificate.pem() + &self.issuer.pem()).unwrap();
        std::fs::write(&private, key.serialize_pem()).unwrap();
        (chain, private)
    }

    pub(crate) fn identity(&self, names: &[&str]) -> Identity {
        let (certificate, key) = self.issue(names);
        Identity::read(&certificate, &key).unwrap()
    }
}
