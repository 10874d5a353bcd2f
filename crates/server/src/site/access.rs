//! The rules of `access`, applied once to each request, before anything answers it.
//!
//! Owns the order of the rules, the credentials in a request, and the refusal. Never verifies a password: a helper
//! does.

use config::route::FoundRoute;
use config::{AcceptedNames, AccessRule, Admission, Clients};
use http::{Answer, FieldList, Request};
use runtime::service::SchedulerCommand;
use runtime::trace;
use wire::http::status::Status;

use super::Site;
use super::exchange::{Exchange, try_again_soon};
use super::route::AnswerPlace;
use super::traced;
use crate::access::{Checked, PasswordCheck, Shown, Standing, paths_in};
use crate::limits::{PASSWORD_SIZE, USER_NAME_SIZE};
use crate::message::{AnswerContext, ServiceContext};

/// The verdict of the rules on a request.
#[derive(Debug)]
pub(super) enum Judgement {
    /// It is let in, with the name of its user if it has shown one.
    Admitted(Option<Box<str>>),
    /// It is not.
    Refused(Refusal),
    /// A password has to be verified first.
    Unknown(Box<PasswordCheck>),
    /// A password is being verified: the process is resumed.
    Awaited,
    /// Too many passwords are being verified.
    Crowded,
}

/// A refusal, with what the client could show.
#[derive(Debug, Default)]
pub(super) struct Refusal {
    /// The realms whose passwords would help.
    realms: Vec<String>,
    /// Whether a token would help.
    token: Option<TokenWanted>,
}

/// Why a token would help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenWanted {
    /// None was shown.
    Missing,
    /// The one that was shown is not valid.
    Invalid,
}

/// How far a rule of admission is met.
enum Met {
    Yes(Option<Box<str>>),
    No,
    Not(Standing),
}

impl Refusal {
    /// 401 if the client could show something (RFC 9110, 15.5.2), otherwise 403.
    fn status(&self) -> Status {
        let helps = !self.realms.is_empty() || self.token.is_some();
        if helps { Status::UNAUTHORIZED } else { Status::FORBIDDEN }
    }

    /// The challenges (RFC 9110, 11.6.1; RFC 7617; RFC 6750, 3).
    fn fields(&self) -> FieldList {
        let mut fields = FieldList::new();
        let mut add = |challenge: &str| {
            // A realm was checked when the configuration was read.
            let _valid = fields.add("WWW-Authenticate", challenge.as_bytes());
        };
        for realm in &self.realms {
            add(&format!("Basic realm=\"{realm}\", charset=\"UTF-8\""));
        }
        match self.token {
            Some(TokenWanted::Missing) => add("Bearer"),
            Some(TokenWanted::Invalid) => add("Bearer error=\"invalid_token\""),
            None => {}
        }
        fields
    }
}

impl Site {
    /// Refuses a request that the rules of its route do not let in, or lets it wait until that is known. `None`: it is
    /// let in.
    #[inline]
    pub(super) fn let_in(
        &mut self,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Option<Answer> {
        if found.terms.access.is_empty()
            || exchange.place.is_admitted()
            || exchange.reply.is_begun()
        {
            return None;
        }
        self.check_rules(found, exchange, context)
    }

    #[inline(never)]
    fn check_rules(
        &mut self,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Option<Answer> {
        let (status, fields) = match self.judge(&found.terms.access, exchange.request, context) {
            Judgement::Admitted(user) => {
                self.entry.forget_password(context.id);
                exchange.place.admit(user);
                if trace::is_on() {
                    traced::let_in(context.id, exchange.request, exchange.place.user());
                }
                return None;
            }
            Judgement::Awaited => return Some(Answer::Wait),
            Judgement::Unknown(check) => {
                if self.entry.verify_password(check, exchange.request.peer.address, context.mail) {
                    return Some(Answer::Wait);
                }
                (Status::SERVICE_UNAVAILABLE, try_again_soon())
            }
            Judgement::Crowded => (Status::SERVICE_UNAVAILABLE, try_again_soon()),
            Judgement::Refused(refusal) => (refusal.status(), refusal.fields()),
        };
        Some(self.refuse(status, &fields, found, exchange, context))
    }

    /// Applies the rules in their order.
    pub(super) fn judge(
        &self,
        rules: &[AccessRule],
        request: &Request<'_>,
        context: &AnswerContext<'_>,
    ) -> Judgement {
        let mut refusal = Refusal::default();
        let mut open = None;
        for rule in rules {
            match rule {
                AccessRule::Deny(clients) if are_among(request, clients) => break,
                AccessRule::Deny(_) => {}
                AccessRule::Admit(admission) => {
                    match self.meets(admission, request, context, &mut refusal) {
                        Met::Yes(user) => return Judgement::Admitted(user),
                        Met::No => {}
                        Met::Not(standing) => {
                            open.get_or_insert(standing);
                        }
                    }
                }
            }
        }
        match open {
            Some(Standing::Awaited) => Judgement::Awaited,
            Some(Standing::Unknown(check)) => Judgement::Unknown(check),
            Some(Standing::Crowded) => Judgement::Crowded,
            Some(Standing::Right | Standing::Wrong) | None => Judgement::Refused(refusal),
        }
    }

    /// Whether a request meets all that a rule names. What costs least is looked at first.
    fn meets(
        &self,
        admission: &Admission,
        request: &Request<'_>,
        context: &AnswerContext<'_>,
        refusal: &mut Refusal,
    ) -> Met {
        let Admission { from, users, token, certificate } = admission;
        if !from.is_empty() && !are_among(request, from) {
            return Met::No;
        }
        if certificate.as_ref().is_some_and(|names| !has_certificate(request, names)) {
            return Met::No;
        }
        let mut user = None;
        if let Some(names) = token {
            match self.user_of_token(names, request, context) {
                Ok(name) => user = name,
                Err(wanted) => {
                    refusal.token = refusal.token.or(wanted);
                    return Met::No;
                }
            }
        }
        let Some(users) = users else { return Met::Yes(user) };
        let unmet = |refusal: &mut Refusal| {
            if !refusal.realms.contains(&users.realm) {
                refusal.realms.push(users.realm.clone());
            }
            Met::No
        };
        let decoded = basic_of(request);
        let shown = decoded.as_deref().and_then(shown_in);
        let (Some(file), Some(shown)) = (self.data.users.of(&users.path), shown) else {
            return unmet(refusal);
        };
        let (process, now_ms) = (context.id, context.now.monotonic_ms());
        match self.entry.look_up_password(file, shown, (process, request.peer.address), now_ms) {
            Standing::Right => Met::Yes(Some(shown.name.into())),
            Standing::Wrong => unmet(refusal),
            open => Met::Not(open),
        }
    }

    /// The user of the token in a request; `None` for an API key. An error says whether another token would help.
    fn user_of_token(
        &self,
        names: &AcceptedNames,
        request: &Request<'_>,
        context: &AnswerContext<'_>,
    ) -> Result<Option<Box<str>>, Option<TokenWanted>> {
        let query = request.head.split_target().1;
        let rights = self.rights_shown(request, query, context.now.unix_seconds);
        let rights = rights.map_err(|_| Some(TokenWanted::Invalid))?;
        let user = rights.pass().and_then(|pass| pass.user());
        match (names, user) {
            _ if matches!(rights.shown(), channels::Credential::Nothing) => {
                Err(Some(TokenWanted::Missing))
            }
            _ if rights.are_all() => Ok(None),
            (AcceptedNames::Any, user) => Ok(user.map(Box::from)),
            (AcceptedNames::These(known), Some(user)) if known.iter().any(|name| name == user) => {
                Ok(Some(user.into()))
            }
            // It is valid, but of somebody else.
            (AcceptedNames::These(_), _) => Err(None),
        }
    }

    /// The helper has verified a password.
    pub(crate) fn on_password(&mut self, checked: Checked, context: &mut ServiceContext<'_>) {
        self.entry.learn_password(checked, context.now.monotonic_ms());
        context.command(SchedulerCommand::Resume(checked.process));
    }

    /// A body begins to arrive that is handed over in pieces. Its password is verified meanwhile, so that the body of a
    /// stranger is read for no longer than that takes.
    pub(super) fn begin_password(
        &mut self,
        request: &Request<'_>,
        context: &mut AnswerContext<'_>,
    ) {
        // Of several files one verdict says little, and the body would be lost.
        let judged = self.with_rules(request, |rules| {
            let mut files = paths_in(rules);
            let first = files.next();
            files.all(|file| Some(file) == first).then(|| self.judge(rules, request, context))
        });
        if let Some(Some(Judgement::Unknown(check))) = judged {
            // If the helper has no room, the request is refused when its body has come.
            let _sent = self.entry.verify_password(check, request.peer.address, context.mail);
        }
    }

    /// Does something with the rules of a request whose route is not known yet; `None` if it has none.
    fn with_rules<T>(
        &self,
        request: &Request<'_>,
        act: impl FnOnce(&[AccessRule]) -> T,
    ) -> Option<T> {
        let (mut place, mut scratch) = (AnswerPlace::default(), Vec::new());
        let path = self.resolve(request, &mut place, &mut scratch).ok()?;
        let found = self.find_route(request, &path, &place, &self.data);
        (!found.terms.access.is_empty()).then(|| act(&found.terms.access))
    }
}

fn are_among(request: &Request<'_>, clients: &[Clients]) -> bool {
    clients.iter().any(|clients| match clients {
        Clients::All => true,
        Clients::At(peers) => peers.contain(request.peer.address),
    })
}

/// Whether the connection has a certificate of one of these. The handshake has verified it.
fn has_certificate(request: &Request<'_>, names: &AcceptedNames) -> bool {
    let shown = request.secured.and_then(|agreed| agreed.client.as_ref());
    shown.is_some_and(|certificate| match names {
        AcceptedNames::Any => true,
        AcceptedNames::These(names) => names.iter().any(|name| certificate.is_named(name)),
    })
}

/// The credentials in `Authorization: Basic` of a request, decoded (RFC 7617, 2). One that comes twice shows nothing.
fn basic_of(request: &Request<'_>) -> Option<Vec<u8>> {
    use base64::Engine as _;
    let mut fields = request.head.fields.all("authorization");
    let field = fields.next()?;
    if fields.next().is_some() {
        return None;
    }
    let (scheme, shown) = field.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    base64::engine::general_purpose::STANDARD.decode(shown.trim_ascii()).ok()
}

/// The name before the first colon, and the password after it.
fn shown_in(decoded: &[u8]) -> Option<Shown<'_>> {
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    let (name, password) = (str::from_utf8(&decoded[..colon]).ok()?, &decoded[colon + 1..]);
    let fits = name.len() <= USER_NAME_SIZE && password.len() <= PASSWORD_SIZE;
    fits.then_some(Shown { name, password })
}
