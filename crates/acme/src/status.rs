//! The report on certificates: the state of each in a few numbers and one line.
#![expect(
    clippy::disallowed_types,
    reason = "written by the control thread and read by an administrator; held for a moment, never on a \
              request"
)]

use std::sync::{Arc, Mutex, PoisonError};

use crate::ledger::OrderLimit;
use crate::moment::UtcSecond;
use crate::names::CertificateNames;

/// The state of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateStatus {
    /// Its names.
    pub names: CertificateNames,
    /// Its last second; none without a certificate.
    pub not_after: Option<UtcSecond>,
    /// The directory of the issuer of the certificate in use, if this is known.
    pub issuer: Option<String>,
    /// When it is ordered next; none while another server orders, or the state stops orders.
    pub next_attempt: Option<UtcSecond>,
    /// The limit of authorities for which the next attempt waits.
    pub limit: Option<OrderLimit>,
    /// Failures since the last success.
    pub failures: u32,
    /// The last error since the last success, in one line.
    pub last_error: Option<String>,
    /// Why the state stops all orders of this server.
    pub state_error: Option<String>,
}

impl CertificateStatus {
    /// Whole days until it ends; negative once it has ended.
    pub fn days_left(&self, now: UtcSecond) -> Option<i64> {
        self.not_after.map(|end| tls::days_left(end.unix(), now.unix()))
    }
}

/// The states of all certificates, shared between the control thread and callers of `Handle::status`. Clones are the
/// same board.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board(Arc<Mutex<Arc<[CertificateStatus]>>>);

impl Board {
    pub(crate) fn show(&self, statuses: Arc<[CertificateStatus]>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = statuses;
    }

    pub(crate) fn read(&self) -> Arc<[CertificateStatus]> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
