//! The handshakes of encrypted connections, and what they agreed on.
//!
//! Owns their times, counts and causes of failure. Never reads a certificate: the report does.

use std::collections::BTreeMap;

use runtime::transport::{Agreed, Resumption};

use super::fault::HandshakeFault;
use super::latency::Latency;
use crate::limits::TERMS_MAXIMUM;

/// The handshakes of one thread, or of all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HandshakeTally {
    /// Handshakes with a key exchange, a certificate and its signature.
    pub full: u64,
    /// Handshakes that resumed an earlier session.
    pub resumed: u64,
    /// Those that failed, by cause.
    pub failed: BTreeMap<HandshakeFault, u64>,
    /// The terms that connections agreed on, in order of first use.
    pub terms: Vec<AgreedTerms>,
    /// From the established connection until the handshake was over.
    latency: Latency,
}

/// Terms that connections agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgreedTerms {
    /// The version, such as `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite, such as `TLS_AES_128_GCM_SHA256`.
    pub cipher: &'static str,
    /// The group of the key exchange, such as `X25519MLKEM768`; empty if there was none.
    pub group: &'static str,
    /// The application protocol; `None` if none was negotiated.
    pub protocol: Option<Box<[u8]>>,
    /// The server's certificate in DER.
    pub certificate: Option<Box<[u8]>>,
    /// Connections with these.
    pub connections: u64,
}

impl AgreedTerms {
    fn are(&self, agreed: &Agreed) -> bool {
        (self.version, self.cipher, self.group) == (agreed.version, agreed.cipher, agreed.group)
            && self.protocol == agreed.protocol
            && self.certificate == agreed.peer_certificate
    }

    /// Whether other connections agreed on the same.
    fn are_those_of(&self, other: &Self) -> bool {
        (self.version, self.cipher, self.group) == (other.version, other.cipher, other.group)
            && self.protocol == other.protocol
            && self.certificate == other.certificate
    }
}

impl HandshakeTally {
    /// A handshake is over, after so long.
    pub fn agree(&mut self, agreed: &Agreed, handshake_ns: u64) {
        match agreed.resumption {
            Resumption::None => self.full += 1,
            Resumption::Resumed => self.resumed += 1,
        }
        self.latency.record(handshake_ns);
        if let Some(known) = self.terms.iter_mut().find(|known| known.are(agreed)) {
            known.connections += 1;
        } else if self.terms.len() < TERMS_MAXIMUM {
            self.terms.push(AgreedTerms {
                version: agreed.version,
                cipher: agreed.cipher,
                group: agreed.group,
                protocol: agreed.protocol.clone(),
                certificate: agreed.peer_certificate.clone(),
                connections: 1,
            });
        }
    }

    /// A handshake has failed.
    pub fn fail(&mut self, fault: HandshakeFault) {
        *self.failed.entry(fault).or_default() += 1;
    }

    /// From the established connection until the handshake was over.
    pub fn latency(&self) -> &Latency {
        &self.latency
    }

    /// Adds those of another thread.
    pub fn merge(&mut self, other: &HandshakeTally) {
        self.full += other.full;
        self.resumed += other.resumed;
        for (fault, count) in &other.failed {
            *self.failed.entry(*fault).or_default() += count;
        }
        for terms in &other.terms {
            if let Some(known) = self.terms.iter_mut().find(|known| known.are_those_of(terms)) {
                known.connections += terms.connections;
            } else if self.terms.len() < TERMS_MAXIMUM {
                self.terms.push(terms.clone());
            }
        }
        self.latency.merge(&other.latency);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreed(cipher: &'static str, resumption: Resumption) -> Agreed {
        Agreed { version: "TLSv1.3", cipher, resumption, ..Agreed::default() }
    }

    #[test]
    fn agreements_of_two_threads_add_up_when_they_are_merged() {
        let (mut one, mut other) = (HandshakeTally::default(), HandshakeTally::default());
        one.agree(&agreed("A", Resumption::None), 300);
        one.agree(&agreed("A", Resumption::Resumed), 100);
        one.fail(HandshakeFault::Cut);
        other.agree(&agreed("B", Resumption::None), 200);
        other.agree(&agreed("A", Resumption::Resumed), 100);
        other.fail(HandshakeFault::Cut);
        other.fail(HandshakeFault::Alert(40));
        one.merge(&other);
        assert_eq!((one.full, one.resumed, one.failed.len()), (2, 2, 2));
        let terms: Vec<_> = one.terms.iter().map(|each| (each.cipher, each.connections)).collect();
        assert_eq!(terms, [("A", 3), ("B", 1)]);
        assert_eq!(one.failed[&HandshakeFault::Cut], 2);
        assert_eq!((one.latency().count(), one.latency().sum_ns()), (4, 700));
    }

    #[test]
    fn a_server_that_always_shows_another_certificate_takes_no_more_memory() {
        let shown = |numbers: std::ops::Range<u8>| {
            let mut handshakes = HandshakeTally::default();
            for number in numbers {
                let certificate = Some([number].as_slice().into());
                let plain = agreed("A", Resumption::None);
                handshakes.agree(&Agreed { peer_certificate: certificate, ..plain }, 1);
            }
            handshakes
        };
        let mut handshakes = shown(0..100);
        assert_eq!((handshakes.terms.len(), handshakes.full), (TERMS_MAXIMUM, 100));
        handshakes.merge(&shown(100..200));
        assert_eq!((handshakes.terms.len(), handshakes.full), (TERMS_MAXIMUM, 200));
    }
}
