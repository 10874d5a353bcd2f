//! `request:proxy`: a module has a server of an upstream answer a request.
//!
//! Owns what the module has said of it. The request then goes the way of any that is passed on.

use std::rc::Rc;

use config::route::Found;
use config::{Header, HeaderEdits, Place, ProxiedPath, ProxyRoute};
use http::{Answer, AnswerContext, FieldList, Request};
use pages::{Page, SetIndex};
use runtime::diagnostic::Level;
use script::engine::Output;
use wire::http::status::Status;

use super::super::exchange::Exchange;
use super::super::page_fields::is_of_page;
use super::super::state::Site;
use crate::message::Message;

/// What a module has said of a request that goes on to a server.
#[derive(Debug)]
pub(in crate::site) struct HandedOn {
    /// As a route has it.
    pub(in crate::site) route: ProxyRoute,
    /// The path to ask for, perhaps with a query; `None`: that of the request.
    path: Option<Box<str>>,
    /// The fields that the answer gets where it has none of that name: those of the module and of the route.
    pub(in crate::site) headers: FieldList,
}

impl HandedOn {
    /// What a module has said; `None` if it is not text.
    fn of(output: &Output, found: &Found<'_>) -> Option<Self> {
        let passed_on = output.passed_on()?;
        let set = passed_on
            .fields
            .iter()
            .map(|(name, value)| Header { name: (*name).to_owned(), value: (*value).to_owned() });
        let route = ProxyRoute {
            place: Place::default(),
            upstream: passed_on.upstream.to_owned(),
            path: ProxiedPath::Whole,
            // The module has decided for this request only.
            cached: false,
            request_headers: HeaderEdits { set: set.collect(), remove: Vec::new() },
            response_headers: HeaderEdits::default(),
            intercept_errors: Vec::new(),
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
        for (name, value) in found.headers.fields().iter().filter(|(name, _)| !is_own(name)) {
            let _valid = headers.add(name, value);
        }
        Some(Self { route, path: passed_on.path.map(Into::into), headers })
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

impl Site {
    /// A module has answered that a server of an upstream answers.
    pub(in crate::site) fn hand_on(
        &mut self,
        (page, set): (&Page, SetIndex),
        found: &Found<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        let output = self.runner.as_ref().map(|runner| runner.output());
        let handed_on = output.and_then(|output| HandedOn::of(output, found));
        let handed_on =
            handed_on.ok_or_else(|| "what it sets for the server is not UTF-8".to_owned());
        let checked = handed_on.and_then(|handed_on| {
            let name = &handed_on.route.upstream;
            let is_it = |upstream: &config::Upstream| upstream.name == *name;
            if !self.data.config.upstreams.iter().any(is_it) {
                return Err(format!("there is no [[upstream]] with the name \"{name}\""));
            }
            if self.uploads.form(context.id).is_some() {
                let why = "a form with files cannot go on to a server, because its files are here";
                return Err(why.to_owned());
            }
            Ok(handed_on)
        });
        match checked {
            Ok(handed_on) => {
                exchange.place.hand_on(Rc::new(handed_on));
                self.answer_proxied(found, exchange, context)
            }
            Err(why) => {
                self.tell_at(Level::Error, page, &why);
                let status = Status::INTERNAL_SERVER_ERROR;
                let shown = self.shown(&pages::FaultReport::of_text(page), status, set);
                self.answer_fault(status, shown, found, exchange, context)
            }
        }
    }
}
