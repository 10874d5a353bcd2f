//! The decisions about a request when its head has come, so that the body of one that is refused is not read.
//!
//! Owns the order: a redirect to https, the limits of clients, access, the limits of users, maintenance. It is that of
//! `answer`, which does what this leaves open. Before a body is collected, the server of `forward_auth` is asked, too
//! (`proxied/permission`). Never answers.

use std::rc::Rc;

use config::RouteAction;
use config::route::FoundRoute;
use http::{BodyPolicy, Request};
use wire::http::status::Status;

use super::Site;
use super::access::Judgement;
use super::entry::Metering;
use super::maintained::try_later;
use super::route::{AnswerPlace, Kept};
use super::stage::Stage;
use crate::message::AnswerContext;

/// The judgement of a request by its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadJudgement {
    /// It is answered without its body.
    Refused,
    /// Nothing refuses it any more.
    LetIn,
    /// A password has to be verified, a server asked, or the request waits for a limit.
    Open,
}

impl Site {
    /// How the body of a request is handled. Its route and what was decided are kept for the answer.
    pub(super) fn plan_body(
        &mut self,
        request: &Request<'_>,
        context: &mut AnswerContext<'_>,
    ) -> BodyPolicy {
        let (mut place, mut scratch) = (AnswerPlace::default(), Vec::new());
        let Ok(path) = self.resolve(request, &mut place, &mut scratch) else {
            return BodyPolicy::Ignore;
        };
        let path = &*path;
        let data = Rc::clone(&self.data);
        let found = self.find_route(request, path, &place, &data);
        let policy = match self.judge_head(path, &found, request, &mut place, context) {
            HeadJudgement::Refused => BodyPolicy::Ignore,
            judged => match found.action {
                Ok(RouteAction::Channels) => self.channel_body_policy(path, request),
                Ok(RouteAction::Database(_)) => Self::record_body_policy(request),
                Ok(RouteAction::BrowserClient) => BodyPolicy::Ignore,
                _ => self.body_policy_of(&found, request, judged, &mut place),
            },
        };
        let policy = match policy {
            BodyPolicy::Collect { limit } if found.terms.forward_auth.is_some() => {
                BodyPolicy::Admit { limit }
            }
            policy => policy,
        };
        context.keep(Kept::new(path, found, place, data.generation));
        policy
    }

    /// Judges a request with a body by its head. What was counted or decided is noted in its place.
    fn judge_head(
        &mut self,
        path: &str,
        found: &FoundRoute<'_>,
        request: &Request<'_>,
        place: &mut AnswerPlace,
        context: &mut AnswerContext<'_>,
    ) -> HeadJudgement {
        if Self::leads_to_https(path, found, request.scheme()) {
            return HeadJudgement::Refused;
        }
        let mut judged = HeadJudgement::LetIn;
        for stage in [Stage::Client, Stage::User] {
            match self.entry.count_use(path, stage, (request, place), &self.data, context) {
                Metering::LetIn => {}
                Metering::Delayed => judged = HeadJudgement::Open,
                Metering::Refused(fields) => {
                    place.refuse_later(Status::TOO_MANY_REQUESTS, fields);
                    return HeadJudgement::Refused;
                }
            }
            if stage == Stage::Client && !found.terms.access.is_empty() {
                match self.judge(&found.terms.access, request, context) {
                    Judgement::Admitted(user) => place.admit(user),
                    Judgement::Refused(_) => return HeadJudgement::Refused,
                    Judgement::Unknown(_) | Judgement::Awaited | Judgement::Crowded => {
                        judged = HeadJudgement::Open;
                        break;
                    }
                }
            }
        }
        if found.terms.forward_auth.is_some() {
            judged = HeadJudgement::Open;
        }
        if self.entry.is_maintained_for(request, &self.data) {
            // Also if the password would be wrong: without the body nothing else can be answered later.
            place.refuse_later(Status::SERVICE_UNAVAILABLE, try_later(&self.data));
            return HeadJudgement::Refused;
        }
        judged
    }
}
