//! The cryptography.
//!
//! Owns the one place that names its crate. Never used by anything but this crate.

use std::sync::{Arc, OnceLock};

use rustls::crypto::CryptoProvider;
use rustls::server::ProducesTickets;

/// Ciphers, key exchanges and signatures.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    Arc::clone(PROVIDER.get_or_init(|| Arc::new(rustls::crypto::aws_lc_rs::default_provider())))
}

/// Tickets for resumption: keys that are replaced every six hours, and accepted for twelve.
pub(crate) fn tickets() -> Result<Arc<dyn ProducesTickets>, rustls::Error> {
    rustls::crypto::aws_lc_rs::Ticketer::new()
}
