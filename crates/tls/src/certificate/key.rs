//! The kind and the size of a certificate's key (RFC 5280 section 4.1.2.7), in the words of certificates' tools.

use super::MalformedCertificate;
use super::der::{self, Reader};

/// `rsaEncryption`, 1.2.840.113549.1.1.1.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
/// `id-ecPublicKey`, 1.2.840.10045.2.1.
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
/// Ed25519, 1.3.101.112 (RFC 8410 section 3).
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

/// The curves that TLS uses.
const CURVES: [(&[u8], &str); 3] = [
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07], "ECDSA P-256"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x22], "ECDSA P-384"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x23], "ECDSA P-521"),
];

/// Reads `SubjectPublicKeyInfo` without its outer tag: `ECDSA P-256`, `RSA 2048`, `Ed25519`, or `another kind`.
pub(super) fn kind(info: &[u8]) -> Result<String, MalformedCertificate> {
    let mut info = Reader::new(info);
    let mut algorithm = Reader::new(info.expect(der::SEQUENCE)?);
    let kind = algorithm.expect(der::OBJECT_IDENTIFIER)?;
    let bits = info.expect(der::BIT_STRING)?;
    match kind {
        RSA => {
            // The first byte counts unused bits: none.
            let mut key = Reader::new(bits.get(1..).ok_or(MalformedCertificate)?);
            let modulus = Reader::new(key.expect(der::SEQUENCE)?).expect(der::INTEGER)?;
            let significant = modulus.iter().skip_while(|byte| **byte == 0).count();
            Ok(format!("RSA {}", significant * 8))
        }
        EC => {
            let curve = algorithm.expect(der::OBJECT_IDENTIFIER)?;
            let known = CURVES.iter().find(|(known, _)| *known == curve);
            Ok(known.map_or("ECDSA with another curve", |(_, name)| name).to_owned())
        }
        ED25519 => Ok("Ed25519".to_owned()),
        _ => Ok("another kind".to_owned()),
    }
}
