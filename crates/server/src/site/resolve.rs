//! The path of a request, decoded once, for all that ask for its route.
//!
//! Owns that a path with an encoded slash is for servers of upstreams only, and only where its two readings have one
//! route and the same limits, and no rewrite: what guards the one guards the other. Never looks for a file.

use std::borrow::Cow;

use config::RouteAction;
use config::route::{FoundRoute, RouteRequest};
use http::Request;
use wire::http::target::{self, PathError, SlashReadings};

use super::Site;
use super::exchange::{PATH_RULES, route_request};
use super::next_route::leads_on;
use super::route::AnswerPlace;
use crate::site_data::SiteData;

impl Site {
    /// The path of a request. Its place in the answer is noted, where its path is for servers only.
    #[inline]
    pub(super) fn resolve<'s>(
        &self,
        request: &Request<'_>,
        place: &mut AnswerPlace,
        scratch: &'s mut Vec<u8>,
    ) -> Result<Cow<'s, str>, PathError> {
        let (path, query) = request.head.split_target();
        let wanted = || route_request(request, "/", query, &self.data);
        let path = self.data.resolve(path, wanted, scratch)?;
        if matches!(path, Cow::Owned(_)) {
            place.pass_files();
        }
        Ok(path)
    }
}

impl SiteData {
    /// The path of a request; an owned one is for servers only, whose route is past those of files that lead on.
    ///
    /// # Errors
    /// If it cannot be resolved.
    #[inline]
    pub(super) fn resolve<'s, 'r>(
        &self,
        path: &[u8],
        request: impl FnOnce() -> RouteRequest<'r>,
        scratch: &'s mut Vec<u8>,
    ) -> Result<Cow<'s, str>, PathError> {
        match target::resolve_with(path, PATH_RULES, scratch) {
            Ok(path) => Ok(Cow::Borrowed(path)),
            Err(PathError::Separator) => self.resolve_for_server(path, &request()).map(Cow::Owned),
            Err(error) => Err(error),
        }
    }

    /// The path of a request with encoded slashes, whose route is past those of files that lead on: no file has a slash
    /// in its name.
    ///
    /// # Errors
    /// If it is not for a server, or one of its readings has another route, other limits or another way there.
    #[cold]
    fn resolve_for_server(
        &self,
        path: &[u8],
        request: &RouteRequest<'_>,
    ) -> Result<String, PathError> {
        let SlashReadings { slashes, letters } = SlashReadings::of(path)?;
        let one = self.past_files(&RouteRequest { path: &slashes, ..*request });
        let other = self.past_files(&RouteRequest { path: &letters, ..*request });
        let is_for_server = matches!(one.action, Ok(RouteAction::Proxy(_)));
        let is_one = (one.rule, one.host) == (other.rule, other.host);
        // A rewrite would have made another path of the one or the other.
        let is_as_it_came = *one.path == *slashes && *other.path == *letters;
        let scheme = request.circumstances.scheme;
        let leads_to_https = |path: &str, found| Site::leads_to_https(path, found, scheme);
        let is_alike = leads_to_https(&slashes, &one) == leads_to_https(&letters, &other)
            && self.config.quotas.iter().all(|quota| quota.fits(&slashes) == quota.fits(&letters));
        match is_for_server && is_one && is_as_it_came && is_alike {
            true => Ok(slashes.clone()),
            false => Err(PathError::Separator),
        }
    }

    fn past_files<'a>(&'a self, request: &RouteRequest<'a>) -> FoundRoute<'a> {
        let mut found = self.table.find(request);
        while leads_on(&found) {
            found = self.table.find_after(request, found.rule);
        }
        found
    }
}
