//! A certificate as data: names, validity, issuer, and what identifies it.
//!
//! Owns which fields are read and how they are shown. Pure. It proves nothing: whether a chain leads to an authority
//! is for rustls to say.

mod der;
mod distinguished;
mod key;
mod time;

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use runtime::transport::ClientCertificate;
use sha2::{Digest, Sha256};

use crate::limits::NAMES_READ;
use der::{Element, Reader};

/// The content of a certificate (RFC 5280 section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The subject as RFC 4514 writes it, `CN=example.org,O=...`; often empty. Different names have different texts.
    pub subject: String,
    /// The issuer, in the same form.
    pub issuer: String,
    /// DNS names and addresses of the subject's alternative names, as text. Other kinds are left out.
    pub names: Vec<String>,
    /// The first second of its validity, in seconds since 1970.
    pub not_before: i64,
    /// The last second of its validity, in seconds since 1970.
    pub not_after: i64,
    /// The bytes of the serial number, as they are encoded.
    pub serial: Vec<u8>,
    /// The key identifier of the authority (RFC 5280 section 4.2.1.1).
    pub authority_key: Option<Vec<u8>>,
    /// SHA-256 of the whole certificate.
    pub fingerprint: [u8; 32],
    /// The kind and size of its key, such as `ECDSA P-256` or `RSA 2048`.
    pub key: String,
}

/// The bytes are not a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not an X.509 certificate in DER")]
pub struct MalformedCertificate;

/// `subjectAltName`, 2.5.29.17.
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];
/// `authorityKeyIdentifier`, 2.5.29.35.
const AUTHORITY_KEY: &[u8] = &[0x55, 0x1d, 0x23];

impl Certificate {
    /// Reads a certificate in DER.
    ///
    /// # Errors
    /// If it is malformed, or bytes follow it.
    pub fn read(bytes: &[u8]) -> Result<Self, MalformedCertificate> {
        let mut outer = Reader::new(bytes);
        let certificate = outer.expect(der::SEQUENCE)?;
        outer.end()?;
        let mut signed = Reader::new(Reader::new(certificate).expect(der::SEQUENCE)?);
        signed.optional(der::CONTEXT_0)?;
        let serial = signed.expect(der::INTEGER)?.to_vec();
        signed.expect(der::SEQUENCE)?;
        let issuer = distinguished::text(signed.expect(der::SEQUENCE)?)?;
        let mut validity = Reader::new(signed.expect(der::SEQUENCE)?);
        let (not_before, not_after) =
            (time::read(validity.next()?)?, time::read(validity.next()?)?);
        let subject = distinguished::text(signed.expect(der::SEQUENCE)?)?;
        let key = key::kind(signed.expect(der::SEQUENCE)?)?;
        signed.optional(der::CONTEXT_PRIMITIVE_1)?;
        signed.optional(der::CONTEXT_PRIMITIVE_2)?;
        let mut read = Self {
            subject,
            issuer,
            names: Vec::new(),
            not_before,
            not_after,
            serial,
            authority_key: None,
            fingerprint: Sha256::digest(bytes).into(),
            key,
        };
        if let Some(extensions) = signed.optional(der::CONTEXT_3)? {
            read.read_extensions(extensions)?;
        }
        Ok(read)
    }

    fn read_extensions(&mut self, tagged: &[u8]) -> Result<(), MalformedCertificate> {
        let mut extensions = Reader::new(Reader::new(tagged).expect(der::SEQUENCE)?);
        while !extensions.is_empty() {
            let mut extension = Reader::new(extensions.expect(der::SEQUENCE)?);
            let kind = extension.expect(der::OBJECT_IDENTIFIER)?;
            extension.optional(der::BOOLEAN)?;
            let value = extension.expect(der::OCTET_STRING)?;
            match kind {
                ALTERNATIVE_NAMES => self.names = alternative_names(value)?,
                AUTHORITY_KEY => {
                    let mut fields = Reader::new(Reader::new(value).expect(der::SEQUENCE)?);
                    self.authority_key =
                        fields.optional(der::CONTEXT_PRIMITIVE_0)?.map(<[u8]>::to_vec);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether it says that it has issued itself.
    pub fn is_self_signed(&self) -> bool {
        self.subject == self.issuer
    }

    /// The fingerprint in hexadecimal, as `openssl x509 -fingerprint -sha256` shows it, without colons.
    pub fn fingerprint_text(&self) -> String {
        hexadecimal(&self.fingerprint)
    }

    /// The content of a client's certificate, in DER. One that rustls has accepted but cannot be read here has only a
    /// fingerprint.
    pub(crate) fn of_client(bytes: &[u8]) -> ClientCertificate {
        let fingerprint = hexadecimal(&Sha256::digest(bytes)).into();
        let (subject, issuer) = Self::read(bytes)
            .map_or_else(|_| Default::default(), |read| (read.subject, read.issuer));
        ClientCertificate { subject: subject.into(), issuer: issuer.into(), fingerprint }
    }

    /// Its identifier in requests about its renewal (RFC 9773 section 4.1). None if it does not name the key of
    /// its authority.
    pub fn renewal_identifier(&self) -> Option<String> {
        let key = BASE64_URL_SAFE_NO_PAD.encode(self.authority_key.as_ref()?);
        Some(format!("{key}.{}", BASE64_URL_SAFE_NO_PAD.encode(&self.serial)))
    }
}

/// Whole days from `now` to the end of a validity, both in seconds since 1970; negative behind it.
pub fn days_left(not_after: i64, now: i64) -> i64 {
    not_after.saturating_sub(now).div_euclid(24 * 3600)
}

/// The days to the end of a validity, or those since, in words.
pub fn time_left(not_after: i64, now: i64) -> String {
    match days_left(not_after, now) {
        ..0 => format!("ended {} days ago", days_left(now, not_after)),
        days => format!("{days} days left"),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Names are visible characters of ASCII (RFC 5280 section 4.2.1.6), so one with other bytes is malformed. This keeps
/// line ends out of logs as well.
fn alternative_names(value: &[u8]) -> Result<Vec<String>, MalformedCertificate> {
    let mut entries = Reader::new(Reader::new(value).expect(der::SEQUENCE)?);
    let mut names = Vec::new();
    while !entries.is_empty() {
        match entries.next()? {
            Element { tag: der::CONTEXT_PRIMITIVE_2, body } => {
                let is_visible = body.iter().all(u8::is_ascii_graphic);
                let text = str::from_utf8(body).ok().filter(|_| is_visible);
                names.push(text.ok_or(MalformedCertificate)?.to_ascii_lowercase());
            }
            Element { tag: der::CONTEXT_PRIMITIVE_7, body } => names.push(address(body)?),
            _ => {}
        }
        if names.len() > NAMES_READ {
            return Err(MalformedCertificate);
        }
    }
    Ok(names)
}

fn address(bytes: &[u8]) -> Result<String, MalformedCertificate> {
    if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        return Ok(Ipv4Addr::from(bytes).to_string());
    }
    let bytes = <[u8; 16]>::try_from(bytes).map_err(|_| MalformedCertificate)?;
    Ok(Ipv6Addr::from(bytes).to_string())
}
