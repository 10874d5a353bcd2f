//! Why a handshake or a connection failed, in the words of the runtime.
//!
//! Owns the translation of rustls' errors. Never decides what follows.

use runtime::transport::{CertificateFault, Violation};
use rustls::{CertificateError, Error, InvalidMessage, PeerMisbehaved};

/// The reason of a failure.
pub(crate) fn violation_of(error: &Error) -> Violation {
    match error {
        Error::AlertReceived(alert) => Violation::Alert(u8::from(*alert)),
        Error::NoCertificatesPresented => Violation::Certificate(CertificateFault::Missing),
        Error::InvalidCertificate(error) => Violation::Certificate(fault_of(error)),
        Error::PeerIncompatible(_) | Error::NoApplicationProtocol => Violation::NothingInCommon,
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => Violation::OtherProtocol,
        Error::PeerMisbehaved(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme) => {
            Violation::NothingInCommon
        }
        _ => Violation::Protocol,
    }
}

fn fault_of(error: &CertificateError) -> CertificateFault {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            CertificateFault::Expired
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            CertificateFault::NotYetValid
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            CertificateFault::WrongName
        }
        CertificateError::UnknownIssuer => CertificateFault::UnknownAuthority,
        CertificateError::Revoked => CertificateFault::Revoked,
        _ => CertificateFault::Invalid,
    }
}
