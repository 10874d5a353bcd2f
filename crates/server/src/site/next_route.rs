//! The route of a request, and the one after a route of files that has no file for it.
//!
//! Owns which requests ask such a route at all: what a page answers, and those that read a file, have no body and begin
//! no WebSocket. The route decides whether a body is collected, so it is known before the disk is asked. Never looks
//! for a file.

use config::RouteAction;
use config::route::FoundRoute;
use http::Request;
use wire::http::head::Framing;
use wire::http::method::Method;

use super::Site;
use super::exchange::route_request;
use super::route::AnswerPlace;
use crate::site_data::SiteData;

impl Site {
    /// The route of a request with this path. `place`: how far its answer has come in an earlier configuration.
    #[inline]
    pub(super) fn find_route<'a>(
        &self,
        request: &Request<'a>,
        path: &'a str,
        place: &AnswerPlace,
        data: &'a SiteData,
    ) -> FoundRoute<'a> {
        let query = request.head.split_target().1;
        let mut found = data.table.find(&route_request(request, path, query, data));
        while leads_on(&found) && (place.has_led_on() || !self.may_answer(&found, request, data)) {
            found = find_after(&found, request, path, data);
        }
        found
    }

    /// The route after one that has led on; `None`: it has not.
    pub(super) fn route_after<'a>(
        found: &FoundRoute<'a>,
        place: &mut AnswerPlace,
        request: &Request<'a>,
        path: &'a str,
        data: &'a SiteData,
    ) -> Option<FoundRoute<'a>> {
        place.take_lead().then(|| find_after(found, request, path, data))
    }

    fn may_answer(&self, found: &FoundRoute<'_>, request: &Request<'_>, data: &SiteData) -> bool {
        let has_body = !matches!(request.head.framing, Framing::None | Framing::Length(0));
        let protocol = request.head.upgrade.unwrap_or_default();
        let reads = matches!(request.method(), Method::Get | Method::Head) && !has_body;
        if reads && !protocol.eq_ignore_ascii_case(b"websocket") {
            return true;
        }
        let Ok(RouteAction::Files { rules, tries, .. }) = &found.action else { return true };
        data.root_of(rules)
            .is_some_and(|root| self.page_of_tries(root, tries, &found.path).is_some())
    }
}

#[cold]
fn find_after<'a>(
    found: &FoundRoute<'a>,
    request: &Request<'a>,
    path: &'a str,
    data: &'a SiteData,
) -> FoundRoute<'a> {
    let query = request.head.split_target().1;
    data.table.find_after(&route_request(request, path, query, data), found.rule)
}

/// Whether the routes after this one answer what it has no file for.
pub(super) fn leads_on(found: &FoundRoute<'_>) -> bool {
    found.action.as_ref().is_ok_and(|action| action.leads_on())
}
