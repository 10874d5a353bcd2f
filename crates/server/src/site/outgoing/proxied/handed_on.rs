//! `request:proxy`: a module has a server of an upstream answer a request.
//!
//! Owns whether the request can go on. It then goes the way of any that is passed on.

use std::rc::Rc;

use config::route::FoundRoute;
use http::Answer;
use pages::{Page, SetIndex};
use runtime::diagnostic::Level;
use wire::http::status::Status;

use crate::message::AnswerContext;
use crate::site::Site;
use crate::site::exchange::Exchange;
use crate::site::handed_on::HandedOn;
use crate::site::page_fields::is_of_page;

impl Site {
    /// A module has answered that a server of an upstream answers.
    pub(in crate::site) fn hand_on(
        &mut self,
        (page, set): (&Page, SetIndex),
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let output = self.pages.runner().map(|runner| runner.output());
        let handed_on = output.and_then(|output| HandedOn::of(output, found, is_of_page));
        let handed_on =
            handed_on.ok_or_else(|| "a field that it sets for the server is not UTF-8".to_owned());
        let checked = handed_on.and_then(|handed_on| {
            let name = &handed_on.route().upstream;
            let is_it = |upstream: &config::UpstreamSettings| upstream.name == *name;
            if !self.data.config.upstreams.iter().any(is_it) {
                return Err(format!("there is no [[upstream]] with the name \"{name}\""));
            }
            if self.underway.form(context.id).is_some() {
                let why = "a form with files cannot go on to a server, because its files are here";
                return Err(why.to_owned());
            }
            Ok(handed_on)
        });
        match checked {
            Ok(handed_on) => {
                exchange.place.hand_on(Rc::new(handed_on));
                self.answer_upstream(found, exchange, context)
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
