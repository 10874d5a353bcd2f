//! One request and its reply, on their way from the route to the part that answers.
//!
//! Owns what the configuration adds to a reply, and how a path is read. Never answers.

use std::net::IpAddr;

use config::RouteAction;
use config::route::{Circumstances, FoundRoute, RouteRequest, RouteTerms};
use files::policy;
use http::{FieldList, Fields, Reply, Request, Scheme};
use wire::http::target::DotFiles;

use super::route::AnswerPlace;
use crate::site_data::SiteData;

/// Dot files are hidden by the rules for files, where they can be configured.
pub(super) const PATH_RULES: DotFiles = DotFiles::Show;

/// The parts of a request by which its route is found.
pub(super) fn route_request<'a>(
    request: &Request<'a>,
    path: &'a str,
    query: Option<&'a [u8]>,
    data: &'a SiteData,
) -> RouteRequest<'a> {
    let listener = data.config.listeners.get(usize::from(request.listener.0));
    RouteRequest {
        host: request.host(),
        method: request.method().as_str(),
        path,
        query: query.and_then(|query| str::from_utf8(query).ok()),
        circumstances: Circumstances {
            scheme: request.scheme(),
            fields: Some(&request.head.fields),
            address: address_of(request),
            listener: listener.map(|listener| &listener.address),
        },
    }
}

/// The address of a client; `None` for a Unix socket.
pub(super) fn address_of(request: &Request<'_>) -> Option<IpAddr> {
    Some(request.peer.address).filter(|address| !address.is_unspecified())
}

/// The path of a request that a page or a module answers. Plain data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// The whole path.
    pub(crate) path: &'a str,
    /// The part of it that is compared with a module's routes.
    pub(crate) rest: &'a str,
}

impl<'a> Asked<'a> {
    pub(super) fn whole(path: &'a str) -> Self {
        Self { path, rest: path }
    }

    /// The path for the action of a route.
    pub(super) fn by(found: &'a FoundRoute<'_>) -> Self {
        let path = &*found.path;
        if !matches!(found.action, Ok(RouteAction::Module(_))) {
            return Self::whole(path);
        }
        let rest = path.get(found.rest..).filter(|rest| !rest.is_empty()).unwrap_or("/");
        Self { path, rest }
    }
}

/// The parts that every step after the route needs. The request, its path, the reply and its place are plain data; the
/// fields of the configuration are its own.
pub(super) struct Exchange<'a, 'r> {
    pub(crate) request: &'a Request<'a>,
    /// Its decoded path.
    pub(crate) path: &'a str,
    pub(crate) reply: &'a mut Reply<'r>,
    headers: &'a FieldList,
    terms: &'a RouteTerms,
    /// How far the answer has come.
    pub(crate) place: &'a mut AnswerPlace,
}

impl<'a, 'r> Exchange<'a, 'r> {
    /// A request with this route, whose answer has come that far.
    pub(super) fn new(
        (request, path): (&'a Request<'a>, &'a str),
        reply: &'a mut Reply<'r>,
        terms: &'a RouteTerms,
        place: &'a mut AnswerPlace,
    ) -> Self {
        Self { request, path, reply, headers: &terms.headers, terms, place }
    }

    /// Begins the head after which its client speaks WebSocket, with this token if it needs one. `false`: it cannot
    /// change ([`Reply::switch_protocols`]), and nothing was written.
    pub(super) fn begin_socket(&mut self, token: Option<[u8; 28]>) -> bool {
        let changes = self.reply.switch_protocols("websocket");
        if let Some(token) = token.filter(|_| changes) {
            // In base64.
            let _valid = self.reply.field("Sec-WebSocket-Accept", &token);
        }
        changes
    }

    /// The same reply to a request that was changed on the way.
    pub(super) fn with_request<T>(
        &mut self,
        request: &Request<'_>,
        go_on: impl FnOnce(&mut Exchange<'_, 'r>) -> T,
    ) -> T {
        self.with(request, self.headers, go_on)
    }

    /// The same request, whose answer gets these fields of the configuration.
    pub(super) fn with_headers<T>(
        &mut self,
        headers: &FieldList,
        go_on: impl FnOnce(&mut Exchange<'_, 'r>) -> T,
    ) -> T {
        self.with(self.request, headers, go_on)
    }

    fn with<T>(
        &mut self,
        request: &Request<'_>,
        headers: &FieldList,
        go_on: impl FnOnce(&mut Exchange<'_, 'r>) -> T,
    ) -> T {
        let (path, terms) = (self.path, self.terms);
        go_on(&mut Exchange { request, path, reply: self.reply, headers, terms, place: self.place })
    }

    /// The configured `Cache-Control`; empty if there is none.
    pub(super) fn cache_control(&self) -> &'a str {
        self.terms.cache_control.as_deref().unwrap_or_default()
    }

    /// The links of the route for a client that waits, if they were not sent.
    pub(super) fn take_unsent_hints(&mut self) -> Option<&'a FieldList> {
        self.place.take_unsent_hints(&self.terms.early_hints)
    }

    /// Adds the fields that the configuration adds to every answer of the route.
    pub(super) fn configured_fields(&mut self) {
        self.reply.fields(self.headers.fields());
        self.secure_fields();
        self.cache_control_but(|_| false);
    }

    /// The same for an answer with fields of its own, which replace configured ones. Cookies are distinguished by
    /// their names, so those of both are sent.
    pub(super) fn configured_fields_but(&mut self, is_set: impl Fn(&str) -> bool) {
        for (name, value) in self.headers.fields().iter() {
            if name.eq_ignore_ascii_case("set-cookie") || !is_set(name) {
                // Checked when the configuration was loaded.
                let _valid = self.reply.field(name, value);
            }
        }
        if !is_set("Strict-Transport-Security") {
            self.secure_fields();
        }
        self.cache_control_but(is_set);
    }

    /// Adds the fields for encrypted connections to an answer over one.
    fn secure_fields(&mut self) {
        if self.request.scheme() == Scheme::Https {
            self.reply.fields(self.terms.https.fields.fields());
        }
    }

    fn cache_control_but(&mut self, is_set: impl Fn(&str) -> bool) {
        if let Some(value) = &self.terms.cache_control
            && !is_set("Cache-Control")
        {
            let _valid = self.reply.field("Cache-Control", value.as_bytes());
        }
    }

    /// The same for an answer with these fields of its own.
    pub(super) fn configured_fields_beside(&mut self, own: Fields<'_, '_>) {
        self.configured_fields_but(|name| own.has(name));
    }

    /// The same for one of the server's own pages, whose policy replaces a configured one.
    pub(super) fn configured_fields_under(&mut self, policy: &str, own: Fields<'_, '_>) {
        self.configured_fields_but(|name| {
            name.eq_ignore_ascii_case(policy::FIELD) || own.has(name)
        });
        let _valid = self.reply.field(policy::FIELD, policy.as_bytes());
    }
}

/// The field of an answer that names the methods of its resource (RFC 9110 section 10.2.1).
pub(super) fn allow(methods: &str) -> FieldList {
    FieldList::of(&[("Allow", methods)])
}

/// The field of an answer to a client that should try again in a second.
pub(super) fn try_again_soon() -> FieldList {
    FieldList::of(&[("Retry-After", "1")])
}
