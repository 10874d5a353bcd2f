//! `forward_auth`: a server says whether a request may pass, before anything answers it.
//!
//! Owns what its answer means: a 2xx lets the request pass, with fields of that answer in place of its own; any other
//! answer is the client's; without one the request is refused. Nothing passes because a server does not answer.

use std::rc::Rc;

use client::{OutgoingBody, ResponseHead};
use config::route::FoundRoute;
use config::{ForwardAuth, is_same_field};
use http::{Answer, FieldList, Intake, Request, Status};

use crate::message::AnswerContext;
use crate::site::Site;
use crate::site::exchange::Exchange;
use crate::site::outgoing::proxy::carried::{Parcel, Refused};
use crate::site::outgoing::proxy::introduction;
use crate::site::outgoing::proxy::question::Heard;
use crate::site::outgoing::proxy::request_head::question_of;
use crate::site::route::{GivenFields, Kept};
use crate::site_data::SiteData;

impl Site {
    /// Has a request wait until a server has said whether it may pass, or refuses it. `None`: it may.
    #[inline]
    pub(in crate::site) fn ask_permission(
        &mut self,
        path: &str,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Option<Answer> {
        if exchange.place.is_permitted() || exchange.reply.is_begun() {
            return None;
        }
        let Some(asked) = &found.terms.forward_auth else {
            // A reload may have removed the question.
            if self.outgoing.proxies.is_question(context.id) {
                self.outgoing.proxies.forget(context.id, self.outgoing.client.exchanges());
            }
            exchange.place.permit(None);
            return None;
        };
        self.hear_permission((path, asked), found, exchange, context)
    }

    #[inline(never)]
    fn hear_permission(
        &mut self,
        (path, asked): (&str, &ForwardAuth),
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Option<Answer> {
        let (process, now_ns) = (context.id, context.now.monotonic_ns);
        if !self.outgoing.proxies.is_question(process)
            && !self.ask_server_about(exchange.request, path, asked, context)
        {
            return Some(self.refuse_proxied(Refused::Request, found, exchange, context));
        }
        match self.outgoing.proxies.hear(process, self.outgoing.client.exchanges(), now_ns) {
            Heard::Nothing => Some(Answer::Wait),
            Heard::Refused(why) => Some(self.refuse_proxied(why, found, exchange, context)),
            Heard::No => {
                exchange.place.pass_on();
                Some(self.answer_proxied(found, exchange, context))
            }
            Heard::Yes => {
                let Ok(given) = self.end_question(exchange.request, asked, context) else {
                    return Some(self.refuse_proxied(Refused::Failed, found, exchange, context));
                };
                exchange.place.permit(given);
                None
            }
        }
    }

    /// Asks a server about a request. `false`: the request cannot be told of.
    fn ask_server_about(
        &mut self,
        request: &Request<'_>,
        path: &str,
        asked: &ForwardAuth,
        context: &AnswerContext<'_>,
    ) -> bool {
        let Ok(head) = question_of(request, path, asked) else { return false };
        let question = Parcel { method: "GET", head, body: OutgoingBody::None, upgrade: None };
        let wish = self.outgoing.proxies.wish_of(&asked.upstream, request, path);
        let client = introduction::client_of(request, &self.data);
        self.outgoing.proxies.ask(context.id, wish, (client, question), context.now.monotonic_ns);
        true
    }

    /// The server lets the request pass. Returns the fields that it has from now on, if the server changes any. Nobody
    /// wants the rest of the server's answer.
    fn end_question(
        &mut self,
        request: &Request<'_>,
        asked: &ForwardAuth,
        context: &AnswerContext<'_>,
    ) -> Result<Option<Rc<GivenFields>>, Refused> {
        let (process, now_ns) = (context.id, context.now.monotonic_ns);
        let early = self.outgoing.proxies.take_early(process);
        let (id, mut early) = early.ok_or(Refused::Failed)?;
        let head = early.pop_front().ok_or(Refused::Failed)?;
        let told = (head.status, request);
        self.outgoing.proxies.note_head(process, told, self.outgoing.client.exchanges(), now_ns);
        let place = self.outgoing.proxies.remove(process);
        self.drop_answer(id, now_ns);
        place.into_iter().for_each(|place| self.outgoing.proxies.end(place, now_ns));
        if asked.copy.is_empty() {
            return Ok(None);
        }
        let fields = fields_with(request, &head, &asked.copy).ok_or(Refused::Failed)?;
        Ok(Some(Rc::new(GivenFields { fields, copied: asked.copy.clone() })))
    }

    /// Whether a body may come that is collected before the request is answered: a server that is asked first says so
    /// by the head. What it does not say by then is asked when the body is there.
    pub(in crate::site) fn ask_for_body(
        &mut self,
        request: &Request<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Intake {
        if self.entry.is_delayed(context.id) {
            return Intake::Pause;
        }
        let data = Rc::clone(&self.data);
        let Some(mut kept) = context.take_kept::<Kept>() else { return Intake::More };
        let intake = if kept.is_of(&data) {
            self.judge_body(request, &mut kept, &data, context)
        } else {
            // Another configuration asks anew.
            self.outgoing.proxies.forget(context.id, self.outgoing.client.exchanges());
            Intake::More
        };
        context.keep(kept);
        intake
    }

    fn judge_body(
        &mut self,
        request: &Request<'_>,
        kept: &mut Kept,
        data: &SiteData,
        context: &AnswerContext<'_>,
    ) -> Intake {
        let (process, now_ns) = (context.id, context.now.monotonic_ns);
        let found = kept.route(data);
        // The server hears of a request when it is not refused before.
        let is_let_in = found.terms.access.is_empty() || kept.is_admitted();
        let Some(asked) = found.terms.forward_auth.as_ref().filter(|_| is_let_in) else {
            return Intake::More;
        };
        if !self.outgoing.proxies.is_question(process)
            && !self.ask_server_about(request, kept.path(), asked, context)
        {
            return Intake::More;
        }
        match self.outgoing.proxies.hear(process, self.outgoing.client.exchanges(), now_ns) {
            Heard::Nothing => Intake::Pause,
            Heard::No | Heard::Refused(_) => Intake::Enough,
            Heard::Yes => {
                let given = self.end_question(request, asked, context);
                drop(found);
                match given {
                    Ok(given) => {
                        kept.place_mut().permit(given);
                        Intake::More
                    }
                    Err(_) => {
                        kept.place_mut().refuse_later(Status::BAD_GATEWAY, FieldList::new());
                        Intake::Enough
                    }
                }
            }
        }
    }

    /// The body of a request with files begins to arrive: a server is asked meanwhile, and the body waits. `None`:
    /// nobody is asked now.
    pub(in crate::site) fn begin_question(
        &mut self,
        request: &Request<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Option<Intake> {
        let data = Rc::clone(&self.data);
        let kept = context.take_kept::<Kept>()?;
        let found = kept.route(&data);
        // The server hears of a request when it is not refused before.
        let is_let_in = found.terms.access.is_empty() || kept.is_admitted();
        let asked = found.terms.forward_auth.as_ref().filter(|_| is_let_in);
        let is_asked =
            asked.is_some_and(|asked| self.ask_server_about(request, kept.path(), asked, context));
        drop(found);
        context.keep(kept);
        is_asked.then(|| self.intake_of_question(Intake::More, context))
    }

    /// The intake of a body while a server is asked; `intake`: if the request may pass.
    pub(in crate::site) fn intake_of_question(
        &mut self,
        intake: Intake,
        context: &AnswerContext<'_>,
    ) -> Intake {
        let now_ns = context.now.monotonic_ns;
        match self.outgoing.proxies.hear(context.id, self.outgoing.client.exchanges(), now_ns) {
            Heard::Yes => intake,
            Heard::Nothing => Intake::Pause,
            Heard::No | Heard::Refused(_) => Intake::Enough,
        }
    }

    /// Goes on with a request as it may pass: with the fields that the server has given it.
    #[inline]
    pub(in crate::site) fn as_permitted(
        &mut self,
        exchange: &mut Exchange<'_, '_>,
        go_on: impl FnOnce(&mut Self, &mut Exchange<'_, '_>) -> Answer,
    ) -> Answer {
        let Some(given) = exchange.place.given_fields().map(Rc::clone) else {
            return go_on(self, exchange);
        };
        let mut head = exchange.request.head.clone();
        head.fields = given.fields.fields();
        let request = Request { head: &head, ..*exchange.request };
        exchange.with_request(&request, |exchange| go_on(self, exchange))
    }
}

/// The fields of a request, of which those with these names are the ones of an answer. `None`: there are too many.
fn fields_with(
    request: &Request<'_>,
    answer: &ResponseHead,
    names: &[String],
) -> Option<FieldList> {
    let mut list = FieldList::new();
    let is_copied = |name: &str| names.iter().any(|copied| is_same_field(copied, name));
    for (name, value) in request.head.fields.iter().filter(|(name, _)| !is_copied(name)) {
        if name.eq_ignore_ascii_case("connection") {
            // Fields that a client names there are removed before the next server, and must not be those just given.
            let kept = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            let kept = kept.filter(|one| !str::from_utf8(one).is_ok_and(is_copied));
            list.add_as_spelt(name, &kept.collect::<Vec<_>>().join(&b", "[..])).ok()?;
        } else {
            list.add_as_spelt(name, value).ok()?;
        }
    }
    let answer = answer.fields.fields();
    for (name, value) in answer.iter() {
        if names.iter().any(|copied| name.eq_ignore_ascii_case(copied)) {
            list.add_as_spelt(name, value).ok()?;
        }
    }
    Some(list)
}
