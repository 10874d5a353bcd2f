//! The proof that the names of an order are ours: answers in force, the authority told, its verdict.
//!
//! Owns the steps from the authorizations of an order to its being ready. Each answer is withdrawn, whatever happens.

use std::time::Duration;

use instant_acme::{
    Account, AuthorizationStatus, ChallengeStatus, ChallengeType, Identifier, Order, OrderStatus,
};

use crate::authority::Line;
use crate::clock::Deadline;
use crate::ending::Ending;
use crate::failure::{Failure, done, with_nonces};
use crate::limits::{IN_FORCE, POLL_FIRST, POLL_LAST, SLICE, VALIDATION};
use crate::names::Name;
use crate::proof;
use crate::settings::ChallengeKind;
use crate::sink::{AcmeEvent, ChallengeAnswer, Confirmation, Confirmed, Force, Sink};

/// The things that a proof works with.
pub(crate) struct Prover<'a> {
    pub(crate) line: &'a Line,
    pub(crate) ending: &'a Ending,
    pub(crate) challenges: &'a [ChallengeKind],
    /// Failures so far: each makes the next kind of challenge be tried.
    pub(crate) failures: u32,
    pub(crate) sink: &'a mut dyn Sink,
}

/// An authorization of an order, as far as it matters here.
#[derive(Debug)]
struct Authorization {
    name: Name,
    status: AuthorizationStatus,
    challenges: Vec<Offer>,
    /// The answer of the authority.
    body: Vec<u8>,
}

/// A challenge that an authority offers.
#[derive(Debug)]
struct Offer {
    kind: ChallengeType,
    url: String,
    token: String,
    status: ChallengeStatus,
    error: Option<String>,
}

impl Prover<'_> {
    /// Proves all names of an order.
    pub(crate) fn prove(&mut self, account: &Account, order: &mut Order) -> Result<(), Failure> {
        let mut answers = Vec::new();
        let proved = self.answer_and_wait(account, order, &mut answers);
        for answer in &answers {
            self.sink.withdraw(answer);
        }
        proved
    }

    fn answer_and_wait(
        &mut self,
        account: &Account,
        order: &mut Order,
        answers: &mut Vec<ChallengeAnswer>,
    ) -> Result<(), Failure> {
        let authorizations = read(self.line, order)?;
        let mut chosen = Vec::new();
        let mut confirmations = Vec::new();
        for (index, authorization) in authorizations.iter().enumerate() {
            if authorization.status != AuthorizationStatus::Pending {
                continue;
            }
            let (kind, offer) = self.choose(authorization)?;
            if offer.status == ChallengeStatus::Pending {
                chosen.push((index, kind));
            }
            if let Some(answer) = self.answer(account, authorization, kind, offer)? {
                let (confirmation, confirmed) = Confirmation::new();
                answers.push(answer.clone());
                self.sink.answer(answer, confirmation);
                confirmations.push(confirmed);
            }
        }
        self.wait_until_in_force(&confirmations)?;
        for (index, kind) in chosen {
            // There can be more names than notes are kept, and the last answer is the one that matters.
            self.line.noted().for_each(drop);
            set_ready(order, index, kind)?;
        }
        wait_for(self.line, self.ending, order, |status| status != OrderStatus::Pending)?;
        if order.state().status != OrderStatus::Invalid {
            return Ok(());
        }
        let told = order.state().error.as_ref().map(ToString::to_string);
        Err(refusal(&read(self.line, order)?, told))
    }

    /// The challenge to be used: the one that the authority asks about already, because an earlier server was ended or
    /// reloaded meanwhile; otherwise the preferred one, and after each failure the next.
    fn choose<'o>(
        &self,
        authorization: &'o Authorization,
    ) -> Result<(ChallengeKind, &'o Offer), Failure> {
        let usable: Vec<_> = self
            .challenges
            .iter()
            .filter(|kind| kind.can_prove(&authorization.name))
            .filter_map(|kind| {
                let same = |offer: &&Offer| {
                    let is_open = matches!(
                        offer.status,
                        ChallengeStatus::Pending | ChallengeStatus::Processing
                    );
                    offer.kind == challenge_type(*kind) && is_open
                };
                Some((*kind, authorization.challenges.iter().find(same)?))
            })
            .collect();
        let asked = usable.iter().find(|(_, offer)| offer.status == ChallengeStatus::Processing);
        let turn = usize::try_from(self.failures).unwrap_or(0).checked_rem(usable.len());
        let chosen = asked.or_else(|| usable.get(turn?)).copied();
        chosen.ok_or_else(|| Failure::NoChallenge(authorization.name.to_string()))
    }

    /// The answer that the server has to give; nothing if the proof is in DNS.
    fn answer(
        &mut self,
        account: &Account,
        authorization: &Authorization,
        kind: ChallengeKind,
        offer: &Offer,
    ) -> Result<Option<ChallengeAnswer>, Failure> {
        let (name, thumbprint) = (&authorization.name, account.key_thumbprint());
        if kind == ChallengeKind::DnsPersist01 {
            let record = proof::dns_persist01(&authorization.body, &offer.url, name, account.id());
            let record = record.ok_or_else(|| Failure::NoChallenge(name.to_string()))?;
            self.sink.tell(AcmeEvent::RecordNeeded { domain: record.domain, text: record.text });
            return Ok(None);
        }
        if !proof::is_token(&offer.token) {
            return Err(Failure::NoChallenge(name.to_string()));
        }
        Ok(Some(match kind {
            ChallengeKind::TlsAlpn01 => proof::tls_alpn01(name, &offer.token, thumbprint)?,
            ChallengeKind::Http01 | ChallengeKind::DnsPersist01 => {
                proof::http01(name, &offer.token, thumbprint)
            }
        }))
    }

    fn wait_until_in_force(&self, confirmations: &[Confirmed]) -> Result<(), Failure> {
        let deadline = Deadline::after(IN_FORCE);
        for confirmed in confirmations {
            loop {
                self.ending.check()?;
                let left = deadline.left().ok_or(Failure::NotInForce)?;
                match confirmed.wait(left.min(SLICE)) {
                    Force::Yes => break,
                    Force::NotYet => {}
                    Force::Never => return Err(Failure::NotInForce),
                }
            }
        }
        Ok(())
    }
}

fn read(line: &Line, order: &mut Order) -> Result<Vec<Authorization>, Failure> {
    // Those that were read stay read, so a try that begins again asks only for the others.
    let mut bodies: Vec<(usize, Vec<u8>)> = Vec::new();
    let mut all = with_nonces(|| {
        let mut all = Vec::new();
        let mut stream = order.authorizations();
        loop {
            line.noted().for_each(drop);
            let Some(next) = done(async { stream.next().await.transpose() })? else {
                return Ok(all);
            };
            if let Some(note) = line.noted().last() {
                bodies.push((all.len(), note.body));
            }
            all.push(Authorization {
                name: name(next.identifier().identifier, next.wildcard)?,
                status: next.status,
                challenges: next.challenges.iter().map(Offer::of).collect(),
                body: Vec::new(),
            });
        }
    })?;
    for (index, body) in bodies {
        if let Some(authorization) = all.get_mut(index) {
            authorization.body = body;
        }
    }
    Ok(all)
}

impl Offer {
    fn of(challenge: &instant_acme::Challenge) -> Self {
        Self {
            kind: challenge.r#type.clone(),
            url: challenge.url.clone(),
            token: challenge.token.clone(),
            status: challenge.status,
            error: challenge.error.as_ref().map(ToString::to_string),
        }
    }
}

/// The name that an authorization is for. For a wildcard it holds the name without the star, and says so (RFC 8555
/// section 7.1.4); some authorities leave the star.
fn name(identifier: &Identifier, wildcard: bool) -> Result<Name, Failure> {
    match identifier {
        Identifier::Ip(address) => Ok(Name::Address(*address)),
        Identifier::Dns(name) => Ok(match (wildcard, name.strip_prefix("*.")) {
            (true, base) => Name::Wildcard(base.unwrap_or(name).to_owned()),
            (false, Some(base)) => Name::Wildcard(base.to_owned()),
            (false, None) => Name::Dns(name.clone()),
        }),
        _ => Err(Failure::NoChallenge("a name of an unknown kind".to_owned())),
    }
}

fn challenge_type(kind: ChallengeKind) -> ChallengeType {
    match kind {
        ChallengeKind::Http01 => ChallengeType::Http01,
        ChallengeKind::TlsAlpn01 => ChallengeType::TlsAlpn01,
        ChallengeKind::DnsPersist01 => ChallengeType::Unknown(kind.name().to_owned()),
    }
}

/// Tells the authority that it may ask.
fn set_ready(order: &mut Order, index: usize, kind: ChallengeKind) -> Result<(), Failure> {
    with_nonces(|| {
        let mut stream = order.authorizations();
        for _ in 0..index {
            // It was read before, so this asks nothing.
            done(async { stream.next().await.transpose() })?;
        }
        let next = done(async { stream.next().await.transpose() })?;
        let missing = || Failure::NoChallenge(kind.name().to_owned());
        let mut authorization = next.ok_or_else(missing)?;
        let mut challenge = authorization.challenge(challenge_type(kind)).ok_or_else(missing)?;
        done(challenge.set_ready())
    })
}

/// Looks at an order until it is as it should be. The authority says how often, within bounds.
pub(crate) fn wait_for(
    line: &Line,
    ending: &Ending,
    order: &mut Order,
    is_over: impl Fn(OrderStatus) -> bool,
) -> Result<(), Failure> {
    let deadline = Deadline::after(VALIDATION);
    let mut pause = POLL_FIRST;
    while !is_over(order.state().status) {
        deadline.left().ok_or(Failure::Late)?;
        let asked = line.noted().last().and_then(|note| note.retry_after_s).unwrap_or(0);
        let asked = Duration::from_secs(u64::try_from(asked).unwrap_or(0));
        ending.wait(pause.max(asked).min(POLL_LAST))?;
        pause = pause.mul_f32(1.5);
        with_nonces(|| done(async { order.refresh().await.map(|_| ()) }))?;
    }
    Ok(())
}

/// The statements of the authority about the names that it did not accept, otherwise about the order.
fn refusal(authorizations: &[Authorization], about_order: Option<String>) -> Failure {
    let refused =
        |authorization: &&Authorization| authorization.status == AuthorizationStatus::Invalid;
    let refused: Vec<_> = authorizations.iter().filter(refused).collect();
    let names = refused.iter().map(|authorization| authorization.name.to_string()).collect();
    let error = refused.iter().find_map(|authorization| {
        let error = authorization.challenges.iter().find_map(|offer| offer.error.as_ref())?;
        Some(format!("{} was not proved: {error}", authorization.name))
    });
    let error = error.unwrap_or_else(|| match about_order {
        Some(told) => format!("the authority refused the order: {told}"),
        None => "the authority refused the order and does not say why".to_owned(),
    });
    Failure::Validation { names, error }
}
