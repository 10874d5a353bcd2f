//! The bodies of stored answers, wherever they are.
//!
//! Owns that one on a disk is opened without a wait, and what follows if that fails: its answer is not stored any more.

use std::rc::Rc;
use std::sync::Arc;

use cache::{Label, Object};
use config::ProxyRoute;
use config::route::FoundRoute;
use files::roots::{NamedOpen, OpenWait};
use files::{RootIndex, Warm, limits};
use http::Answer;
use sys::file::FileHandle;

use crate::message::AnswerContext;
use crate::site::Site;
use crate::site::exchange::Exchange;
use crate::site::outgoing::caches::role::{Opening, Role};

/// A body that can be sent.
pub(super) enum OpenBody {
    /// It is in memory, or the client wants none.
    Held,
    /// In this file.
    File(Rc<FileHandle>, RootIndex),
}

/// Why a body cannot be sent.
pub(super) enum Unopened {
    /// A helper has to read the directory first.
    Cold(RootIndex),
    /// Its file has gone.
    Gone,
}

impl Site {
    /// Opens the body of an answer.
    pub(super) fn open_body(
        &mut self,
        upstream: &str,
        object: &Object,
        patience: OpenWait,
    ) -> Result<OpenBody, Unopened> {
        let Some(elsewhere) = object.body().elsewhere() else { return Ok(OpenBody::Held) };
        let directory = self.outgoing.caches.directory_of(upstream).ok_or(Unopened::Gone)?;
        let root = self.data.cache_root(directory).ok_or(Unopened::Gone)?;
        let size = Label::parse(&elsewhere.name).ok_or(Unopened::Gone)?.size;
        match self.files.open_named(root, &elsewhere.name, size, patience) {
            NamedOpen::Ready(file) => Ok(OpenBody::File(file, root)),
            NamedOpen::Cold => Err(Unopened::Cold(root)),
            NamedOpen::Gone => Err(Unopened::Gone),
        }
    }

    /// Answers with what is stored, once its body can be sent. `None`: it cannot, and the request goes on without it.
    pub(super) fn show_stored(
        &mut self,
        (opening, patience): (Opening, OpenWait),
        (found, route): (&FoundRoute<'_>, &ProxyRoute),
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Option<Answer> {
        let process = context.id;
        let body = if exchange.reply.sends_body() {
            self.open_body(&opening.upstream, &opening.object, patience)
        } else {
            Ok(OpenBody::Held)
        };
        match body {
            Ok(body) => {
                Some(self.show(&opening.object, &body, Some(route), &opening.told, exchange))
            }
            Err(Unopened::Cold(root)) => {
                let elsewhere = opening.object.body().elsewhere()?;
                let (relative, offset) = (Arc::clone(&elsewhere.name), elsewhere.offset);
                let length = elsewhere.length.min(limits::WARM_FIRST_SIZE);
                let warm = Warm { root, relative, offset, length };
                if !self.files.warm(process, warm, &self.data, context.mail) {
                    return self.go_on_without(&opening, (found, route), exchange, context);
                }
                self.outgoing.caches.set_role(process, Role::Opens(Box::new(opening)));
                Some(Answer::Wait)
            }
            Err(Unopened::Gone) => self.go_on_without(&opening, (found, route), exchange, context),
        }
    }

    /// A helper has read what a body is in.
    pub(super) fn show_opened(
        &mut self,
        (found, route): (&FoundRoute<'_>, &ProxyRoute),
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Option<Answer> {
        let Some(Role::Opens(opening)) = self.outgoing.caches.take_role(context.id) else {
            return None;
        };
        let patience = self.files.patience(context.id);
        self.show_stored((*opening, patience), (found, route), exchange, context)
    }

    fn go_on_without(
        &mut self,
        opening: &Opening,
        (found, route): (&FoundRoute<'_>, &ProxyRoute),
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Option<Answer> {
        self.outgoing.caches.forget_gone(opening, &exchange.request.head.fields);
        self.outgoing.caches.set_role(context.id, Role::Sought);
        self.look_up(found, route, exchange, context)
    }
}
