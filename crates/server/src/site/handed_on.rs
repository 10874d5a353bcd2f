//! The directions of a module for a request that goes on to a server.
//!
//! Owns the shape: a route as the configuration could have it. Never passes a request on.

use config::route::FoundRoute;
use config::{Header, HeaderEdits, ProxiedPath, ProxyRoute, TextPosition};
use http::{FieldList, Request};
use script::engine::PageOutput;

/// The directions of a module for a request that goes on to a server.
#[derive(Debug)]
pub(in crate::site) struct HandedOn {
    route: ProxyRoute,
    /// The path to ask for, perhaps with a query; `None`: that of the request.
    path: Option<Box<str>>,
    headers: FieldList,
}

impl HandedOn {
    /// The directions of a module; `None` if they are not text. Of its fields, those that a page may set go out.
    pub(super) fn of(
        output: &PageOutput,
        found: &FoundRoute<'_>,
        is_of_page: fn(&str) -> bool,
    ) -> Option<Self> {
        let passed_on = output.passed_on()?;
        let set = passed_on
            .fields
            .iter()
            .map(|(name, value)| Header { name: (*name).to_owned(), value: (*value).to_owned() });
        let route = ProxyRoute {
            place: TextPosition::default(),
            upstream: passed_on.upstream.to_owned(),
            path: ProxiedPath::Whole,
            // The module has decided for this request only.
            cached: false,
            request_headers: HeaderEdits { set: set.collect(), ..HeaderEdits::default() },
            response_headers: HeaderEdits::default(),
            intercept_errors: Vec::new(),
            upgrade: vec!["websocket".to_owned()],
        };
        let mut headers = FieldList::new();
        for (name, value) in output.fields().filter(|(name, _)| is_of_page(name)) {
            if !name.eq_ignore_ascii_case("content-type") {
                // Checked when the module set it, and a module can set only few.
                let _valid = headers.add(name, value);
            }
        }
        let own = headers.clone();
        let is_own =
            |name: &str| !name.eq_ignore_ascii_case("set-cookie") && own.fields().has(name);
        for (name, value) in found.terms.headers.fields().iter().filter(|(name, _)| !is_own(name)) {
            let _valid = headers.add(name, value);
        }
        Some(Self { route, path: passed_on.path.map(Into::into), headers })
    }

    /// As the configuration could have it.
    pub(in crate::site) fn route(&self) -> &ProxyRoute {
        &self.route
    }

    /// The fields that the answer gets where it has none of that name: those of the module and of the route.
    pub(in crate::site) fn headers(&self) -> &FieldList {
        &self.headers
    }

    /// The target to ask for, if it is not that of the request. The client's query stays unless the module gives one.
    pub(in crate::site) fn target(&self, request: &Request<'_>) -> Option<String> {
        let path = self.path.as_deref()?;
        Some(match request.query().filter(|_| !path.contains('?')) {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        })
    }
}
