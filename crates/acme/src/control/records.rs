//! The records of the state, as the control thread reads and writes them.
//!
//! Owns what is told of a record that cannot be used. Asks no authority.

use std::io;

use super::Control;
use crate::keeping::Kept;
use crate::names::CertificateNames;
use crate::sink::AcmeEvent;
use crate::state::Stored;

/// The name of the ledger in what is told.
pub(super) const LEDGER: &str =
    "ledger.json (what was ordered when: nothing is ordered without it; remove it to start over)";

impl Control {
    /// Reads the ledger and the certificates, and passes on those that are new.
    pub(super) fn load(&mut self) {
        self.load_ledger();
        let keys = self.settings.certificates.iter().map(CertificateNames::key);
        self.ledger.keep_only(&keys.collect());
        for names in self.settings.certificates.clone() {
            self.load_certificate(&names);
        }
    }

    /// Reads the ledger. What it counts is unknown if it cannot be read: then nothing is ordered, until it can be.
    fn load_ledger(&mut self) {
        let read = self.state.read(&Stored::Ledger).and_then(|bytes| {
            let ledger = bytes.map(|bytes| serde_json::from_slice(&bytes)).transpose();
            ledger.map(Option::unwrap_or_default).map_err(io::Error::from)
        });
        match read {
            Ok(ledger) => {
                self.ledger = ledger;
                self.reports.on_readable(LEDGER);
            }
            Err(error) => self.on_unreadable(LEDGER.to_owned(), error.to_string()),
        }
    }

    fn load_certificate(&mut self, names: &CertificateNames) {
        let stored = Stored::Certificate(names.key());
        let what = format!("{} of {names}", stored.name());
        let pem = match self.state.read(&stored) {
            Ok(Some(pem)) => pem,
            Ok(None) => return self.reports.on_readable(&what),
            Err(error) => return self.on_unreadable(what, error.to_string()),
        };
        if self.kept.get(names.key()).is_some_and(|kept| kept.pem() == pem) {
            return self.reports.on_readable(&what);
        }
        match Kept::read(pem, names) {
            Ok((kept, issued)) => {
                self.reports.on_readable(&what);
                self.sink
                    .tell(AcmeEvent::Loaded { names: names.clone(), not_after: kept.not_after() });
                self.put_in_use(names, kept, issued);
            }
            Err(error) => self.on_unreadable(what, error.to_string()),
        }
    }

    fn on_unreadable(&mut self, what: String, error: String) {
        self.reports.on_unreadable(what, error, self.sink.as_mut());
    }

    /// Writes the record of a certificate that is in use but not in the state: an administrator removed it, or the
    /// disk was full.
    pub(super) fn restore(&mut self, names: &CertificateNames) {
        let stored = Stored::Certificate(names.key());
        let Some(kept) = self.kept.get(names.key()) else { return };
        if self.state.has(&stored) && !self.state.has(&Stored::Order(names.key())) {
            return;
        }
        let pem = kept.pem().to_vec();
        if self.state.read(&stored).ok().flatten().as_ref() != Some(&pem) {
            let written = self.state.write(&stored, &pem);
            self.reports.on_written(written, self.sink.as_mut());
        }
    }

    pub(super) fn write_ledger(&mut self) {
        let written = self.state.write(&Stored::Ledger, &self.ledger.bytes());
        self.reports.on_written(written, self.sink.as_mut());
    }
}
