//! Certificates by themselves: ACME (RFC 8555) on a control thread.
//!
//! `start` -> `control` (a thread that looks, and waits) -> `schedule` and `ledger` (pure: what is to be done, and
//! when it may) -> `attempt` -> `validation` -> `proof`; beside them `authority` and `agent` (requests), `state`,
//! `folder` and `keeping` (records). What the server has to do is the trait `Sink`.
//!
//! The crate owns accounts, orders and the records that keep certificates. It knows no scheduler and no mailbox,
//! and answers no request: it says what is to be answered.
#![forbid(unsafe_code)]

mod agent;
mod attempt;
mod authority;
mod clock;
mod control;
mod ending;
mod failure;
mod folder;
mod handle;
mod keeping;
pub mod ledger;
pub mod limits;
mod moment;
mod names;
mod proof;
mod provider;
mod records;
mod reports;
mod retry_after;
pub mod schedule;
mod settings;
mod sink;
mod state;
mod status;
mod validation;

pub use handle::{AcmeThread, StartError, prepare, start};
pub use moment::{Fraction, UtcSecond};
pub use names::{CertificateNames, Name, NameError, NamesError};
pub use records::RecordKeeper;
pub use settings::{
    ChallengeKind, ExternalAccount, Issuer, LETS_ENCRYPT, RenewalSettings, SettingsError,
    StatePlace, TermsAgreement,
};
pub use sink::{AcmeEvent, ChallengeAnswer, Confirmation, IssuedCertificate, Severity, Sink};
pub use status::CertificateStatus;
