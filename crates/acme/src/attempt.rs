//! One attempt at a certificate: account, order, key, certificate.
//!
//! Owns the order of the steps, and what is written down before each of them: the ledger before an order, the key
//! before it is certified, the address of the order as soon as it is known. So an attempt that ends anywhere is
//! continued by the next, also after a restart. How names are proved is in `validation`; when an attempt is made is in
//! `schedule`.

use instant_acme::{Account, CertificateIdentifier, Identifier, NewOrder, Order, OrderStatus};
use rcgen::{CertificateParams, DistinguishedName, KeyPair};
use serde::{Deserialize, Serialize};

use crate::authority::{Directory, Line};
use crate::clock;
use crate::ending::Ending;
use crate::failure::{Failure, done, with_nonces};
use crate::keeping::Kept;
use crate::ledger::OrderLedger;
use crate::limits::ATTEMPTS_PER_ORDER;
use crate::names::{CertificateNames, Name};
use crate::schedule::OrderReason;
use crate::settings::{Issuer, RenewalSettings};
use crate::sink::{AcmeEvent, IssuedCertificate, Sink};
use crate::state::{State, Stored};
use crate::validation::{self, Prover};

/// The things that an attempt works with.
pub(crate) struct Attempt<'a> {
    pub(crate) names: &'a CertificateNames,
    pub(crate) issuer: &'a Issuer,
    pub(crate) reason: OrderReason,
    pub(crate) settings: &'a RenewalSettings,
    /// The certificate in use.
    pub(crate) old: Option<&'a Kept>,
    pub(crate) line: &'a Line,
    pub(crate) ending: &'a Ending,
    pub(crate) state: &'a State,
    pub(crate) ledger: &'a mut OrderLedger,
    pub(crate) sink: &'a mut dyn Sink,
}

/// An order that is under way, as it is written down.
#[derive(Debug, Serialize, Deserialize)]
struct UnderWay {
    directory: String,
    /// The address of the order, once it is known.
    url: Option<String>,
    key_pem: String,
    /// The fingerprint of the certificate that was in use. If another one is now, the order has been completed.
    old: Option<[u8; 32]>,
}

impl Attempt<'_> {
    /// Makes or continues an order, up to a certificate that can be used.
    pub(crate) fn run(&mut self) -> Result<(Kept, IssuedCertificate), Failure> {
        let result = self.steps();
        let failures = self.ledger.record(self.names).map_or(0, |record| record.failures);
        let is_last = (failures + 1).is_multiple_of(ATTEMPTS_PER_ORDER);
        if let Err(failure) = &result
            && !matches!(failure, Failure::Ended | Failure::NotStored(_))
            && (is_last || !failure.leaves_order())
        {
            // If it cannot be removed, the next attempt finds that it leads nowhere.
            let _ = self.state.remove(&Stored::Order(self.names.key()));
        }
        if let Err(failure) = &result
            && failure.problem() == Some("accountDoesNotExist")
        {
            let key = crate::authority::issuer_key(&self.issuer.directory);
            let _ = self.state.remove(&Stored::Account(&key));
        }
        result
    }

    fn steps(&mut self) -> Result<(Kept, IssuedCertificate), Failure> {
        // If the ledger cannot be written, the authority is asked nothing: a restart would forget that it was asked.
        self.write_ledger()?;
        self.sink.tell(AcmeEvent::Ordering {
            names: self.names.clone(),
            issuer: self.issuer.directory.clone(),
            reason: self.reason,
        });
        let account = self.line.account(self.issuer, self.settings.email.as_deref(), self.state)?;
        let (mut order, key_pem) = match self.continued(&account)? {
            Some(continued) => continued,
            None => self.begin(&account)?,
        };
        if order.state().status == OrderStatus::Pending {
            self.prove(&account, &mut order)?;
        }
        let chain_pem = self.issue(&mut order, &key_pem)?;
        Kept::read(Kept::join(&chain_pem, &key_pem), self.names).map_err(Failure::Keeping)
    }

    /// The order of an attempt that ended before its certificate arrived.
    fn continued(&self, account: &Account) -> Result<Option<(Order, String)>, Failure> {
        let stored = Stored::Order(self.names.key());
        let Some(bytes) = self.state.read(&stored).map_err(Failure::NotStored)? else {
            return Ok(None);
        };
        let Ok(under_way) = serde_json::from_slice::<UnderWay>(&bytes) else { return Ok(None) };
        let is_ours =
            under_way.directory == self.issuer.directory && under_way.old == self.old_fingerprint();
        let Some(url) = under_way.url.filter(|_| is_ours) else { return Ok(None) };
        match with_nonces(|| done(account.order(url.clone()))) {
            Ok(mut order) => {
                let is_alive = order.state().status != OrderStatus::Invalid;
                Ok(is_alive.then_some((order, under_way.key_pem)))
            }
            Err(failure) if failure.leaves_order() => Err(failure),
            // The authority does not know it any more.
            Err(Failure::Acme(_)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    fn old_fingerprint(&self) -> Option<[u8; 32]> {
        self.old.map(Kept::fingerprint)
    }

    /// Makes an order.
    fn begin(&mut self, account: &Account) -> Result<(Order, String), Failure> {
        let directory = self.line.directory(&self.issuer.directory)?;
        let identifiers: Vec<Identifier> = self.names.iter().map(identifier).collect();
        let profile = self.profile(&directory);
        let key_pem = KeyPair::generate()?.serialize_pem();
        let mut under_way = UnderWay {
            directory: self.issuer.directory.clone(),
            url: None,
            key_pem: key_pem.clone(),
            old: self.old_fingerprint(),
        };
        self.write_order(&under_way)?;
        let make = |replaces: Option<CertificateIdentifier<'static>>| {
            let mut new = NewOrder::new(&identifiers);
            if let Some(profile) = &profile {
                new = new.profile(profile);
            }
            done(account.new_order(&match replaces {
                Some(replaces) => new.replaces(replaces),
                None => new,
            }))
        };
        let replaces = self.replaces(&directory);
        self.count_order()?;
        let mut made = with_nonces(|| make(replaces.clone()));
        // An authority that refuses to replace the old certificate is asked for one that replaces nothing: the old one
        // ends anyway.
        if replaces.is_some() && made.as_ref().is_err_and(is_about_replacement) {
            self.sink.tell(AcmeEvent::AlreadyReplaced { names: self.names.clone() });
            self.count_order()?;
            made = with_nonces(|| make(None));
        }
        let order = made?;
        under_way.url = Some(order.url().to_owned());
        // Without its address the order is lost if the server ends before the certificate arrives, and only then.
        let _ = self.write_order(&under_way);
        Ok((order, key_pem))
    }

    /// The profile to ask for, if the authority has it.
    fn profile(&mut self, directory: &Directory) -> Option<String> {
        let has_address = self.names.iter().any(|name| matches!(name, Name::Address(_)));
        let asked = self.settings.profile.clone();
        let is_asked = asked.is_some();
        let profile = asked.or_else(|| has_address.then(|| "shortlived".to_owned()))?;
        if directory.has_profile(&profile) {
            return Some(profile);
        }
        if is_asked {
            self.sink.tell(AcmeEvent::NoProfile { profile, issuer: self.issuer.directory.clone() });
        }
        None
    }

    /// The certificate that the order replaces: the one in use, if this authority issued it and wants to know (RFC 9773
    /// section 5).
    fn replaces(&self, directory: &Directory) -> Option<CertificateIdentifier<'static>> {
        directory.renewal_info.as_ref()?;
        let issuer = self.ledger.record(self.names)?.issuer.as_ref()?;
        let identifier =
            self.old?.renewal_identifier().filter(|_| *issuer == self.issuer.directory)?;
        let (key, serial) = identifier.split_once('.')?;
        Some(CertificateIdentifier {
            authority_key_identifier: key.to_owned().into(),
            serial: serial.to_owned().into(),
        })
    }

    fn prove(&mut self, account: &Account, order: &mut Order) -> Result<(), Failure> {
        let failures = self.ledger.record(self.names).map_or(0, |record| record.failures);
        let mut prover = Prover {
            line: self.line,
            ending: self.ending,
            challenges: &self.settings.challenges,
            failures,
            sink: self.sink,
        };
        prover.prove(account, order)
    }

    /// Asks for the certificate and gets it.
    fn issue(&mut self, order: &mut Order, key_pem: &str) -> Result<String, Failure> {
        if order.state().status == OrderStatus::Ready {
            let key = KeyPair::from_pem(key_pem)?;
            let mut params = CertificateParams::new(
                self.names.iter().map(ToString::to_string).collect::<Vec<_>>(),
            )?;
            params.distinguished_name = DistinguishedName::new();
            let request = params.serialize_request(&key)?;
            self.ledger.on_finalize(self.names, clock::now());
            self.write_ledger()?;
            with_nonces(|| done(order.finalize_csr(request.der())))?;
        }
        let is_over = |status| !matches!(status, OrderStatus::Processing | OrderStatus::Ready);
        validation::wait_for(self.line, self.ending, order, is_over)?;
        let chain = with_nonces(|| done(order.certificate()))?;
        chain.ok_or(Failure::Late)
    }

    fn count_order(&mut self) -> Result<(), Failure> {
        let now = clock::now();
        if self.ledger.allowed_at(self.names, now) > now {
            return Err(Failure::Bounded);
        }
        self.ledger.on_order(now);
        self.write_ledger()
    }

    fn write_ledger(&self) -> Result<(), Failure> {
        self.state.write(&Stored::Ledger, &self.ledger.bytes()).map_err(Failure::NotStored)
    }

    fn write_order(&self, under_way: &UnderWay) -> Result<(), Failure> {
        let bytes = serde_json::to_vec(under_way).map_err(instant_acme::Error::from)?;
        self.state.write(&Stored::Order(self.names.key()), &bytes).map_err(Failure::NotStored)
    }
}

/// Whether an order was refused for what it replaces, so far as can be told: authorities use different problems for
/// certificates they do not know or attribute to another account, and `instant-acme` refuses an answer that does not
/// repeat the field.
fn is_about_replacement(failure: &Failure) -> bool {
    match failure.problem() {
        Some(problem) => !matches!(problem, "rateLimited" | "badNonce" | "accountDoesNotExist"),
        None => matches!(failure, Failure::Acme(_)),
    }
}

fn identifier(name: &Name) -> Identifier {
    match name {
        Name::Address(address) => Identifier::Ip(*address),
        Name::Dns(_) | Name::Wildcard(_) => Identifier::Dns(name.to_string()),
    }
}
