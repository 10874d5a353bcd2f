//! Faults of the state: the control thread logs each cause once, however often it reads it.
//!
//! Owns what was told last. Reads and writes no file.

use std::collections::BTreeMap;
use std::io;

use crate::ledger::{LimitReached, OrderLimit};
use crate::moment::UtcSecond;
use crate::names::CertificateNames;
use crate::sink::{AcmeEvent, Severity, Sink};

/// The reports on the state so far.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    /// Why it could not be written last.
    not_stored: Option<String>,
    /// Why a file could not be used when it was read last, by what it is called in the log.
    unreadable: BTreeMap<String, String>,
    /// Until when orders wait, by the key of their names. What all of them wait for has no key.
    waits: BTreeMap<String, UtcSecond>,
}

impl Reports {
    /// Something was written, or could not be.
    pub(crate) fn on_written(&mut self, written: io::Result<()>, sink: &mut dyn Sink) {
        match written {
            Ok(()) => self.not_stored = None,
            Err(error) => self.on_not_stored(&error, sink),
        }
    }

    /// The state cannot be written.
    pub(crate) fn on_not_stored(&mut self, error: &io::Error, sink: &mut dyn Sink) {
        let error = error.to_string();
        if self.not_stored.as_ref() != Some(&error) {
            self.not_stored = Some(error.clone());
            sink.tell(AcmeEvent::NotStored { error });
        }
    }

    /// A file was read, or is not there.
    pub(crate) fn on_readable(&mut self, what: &str) {
        self.unreadable.remove(what);
    }

    /// A file cannot be used.
    pub(crate) fn on_unreadable(&mut self, what: String, error: String, sink: &mut dyn Sink) {
        if self.unreadable.get(&what) != Some(&error) {
            self.unreadable.insert(what.clone(), error.clone());
            sink.tell(AcmeEvent::Unreadable { what, error });
        }
    }

    /// An order waits for a limit. Seconds are not told.
    pub(crate) fn on_wait(
        &mut self,
        names: &CertificateNames,
        reached: LimitReached,
        severity: Severity,
        sink: &mut dyn Sink,
    ) {
        let key = match reached.limit {
            OrderLimit::Burst => return,
            OrderLimit::Orders => "",
            OrderLimit::Failed | OrderLimit::Duplicates => names.key(),
        };
        if self.waits.get(key).is_none_or(|until| *until < reached.until) {
            self.waits.insert(key.to_owned(), reached.until);
            sink.tell(AcmeEvent::Waits { names: names.clone(), reached, severity });
        }
    }

    /// Why the state could not be written last.
    pub(crate) fn not_stored(&self) -> Option<String> {
        self.not_stored.as_ref().map(|error| format!("the state cannot be written: {error}"))
    }

    /// Why a file could not be used when it was read last.
    pub(crate) fn unreadable(&self, what: &str) -> Option<String> {
        self.unreadable.get(what).map(|error| format!("{what} cannot be used: {error}"))
    }
}
