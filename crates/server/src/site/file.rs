//! Answers with a page or file below a root.
//!
//! Owns the path of a file request: the cache, the choice of the representation, the reply. Never
//! reads the disk.

use std::rc::Rc;
use std::sync::Arc;

use config::route::FoundRoute;
use config::{FileSettings, RouteAction};
use files::EntryKey;
use files::answer::{self, AnswerFields, BodyPart, FileAnswer, FileRequest};
use http::{Answer, FieldList, Fields, Request};
use runtime::output::{FileName, FileRegion, SharedBytes};
use sys::file::FileHandle;
use wire::http::conditional::{Preconditions, SafeMethod};
use wire::http::encoding::Accepted;
use wire::http::method::Method;
use wire::http::status::Status;

use super::Site;
use super::exchange::{Asked, Exchange, allow, try_again_soon};
use super::file_desk::NotNow;
use crate::message::AnswerContext;

/// The methods for files.
pub(super) const FILE_METHODS: &str = "GET, HEAD, OPTIONS";

impl Site {
    /// Answers with the page or file below a root. Files support only some methods.
    pub(super) fn answer_below(
        &mut self,
        rules: &FileSettings,
        query: Option<&[u8]>,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let path = &*found.path;
        let Some(root) = self.files.root_of(found.rule, rules, &self.data) else {
            return self.refuse(Status::NOT_FOUND, &FieldList::new(), found, exchange, context);
        };
        if let Some(page) = self.page_at(root, path) {
            return self.answer_with_page(page, Asked::whole(path), found, exchange, context);
        }
        if matches!(exchange.request.method(), Method::Get | Method::Head) {
            return self.answer_file(EntryKey { root, path }, query, found, exchange, context);
        }
        // A method that files do not support may be handled by the main module.
        match self.main_module(found) {
            Some(main) => self.answer_with_page(main, Asked::whole(path), found, exchange, context),
            None => self.answer_other_method(found, exchange, context),
        }
    }

    /// Answers with the file at a path.
    pub(super) fn answer_file(
        &mut self,
        key: EntryKey<'_>,
        query: Option<&[u8]>,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let asked = if is_below_own_root(found) { exchange.path } else { key.path };
        let request = self.file_request(asked, query, exchange.request);
        let entry = match self.files.look(key, &request.accepted, &self.data, context) {
            Ok(entry) => entry,
            Err(not_now) => return self.put_off(not_now, found, exchange, context),
        };
        let answer = answer::answer(&request, &entry, context.now.unix_seconds);
        if let Some(location) = &answer.location {
            if matches!(
                found.action,
                Ok(RouteAction::Files { rules: FileSettings { only: Some(_), .. }, .. })
            ) {
                // The one file of the route is a directory.
                return self.refuse(Status::NOT_FOUND, &FieldList::new(), found, exchange, context);
            }
            return self.redirect(answer.status, location, exchange);
        }
        if answer.wants_page() {
            if answer.status == Status::NOT_FOUND
                && let Some(main) = self.main_module(found)
            {
                let asked = Asked::whole(key.path);
                return self.answer_with_page(main, asked, found, exchange, context);
            }
            let fields = match &answer.fields {
                AnswerFields::Own(fields) => fields,
                // Those of a file that is not sent.
                AnswerFields::Prepared(_) => &FieldList::new(),
            };
            return self.refuse(answer.status, fields, found, exchange, context);
        }
        let file = match answer.large {
            Some(large) if exchange.reply.sends_body() => {
                match self.files.open_large(key, large, &self.data, context) {
                    Ok(file) => Some(file),
                    Err(not_now) => return self.put_off(not_now, found, exchange, context),
                }
            }
            _ => None,
        };
        write(&answer, key, file.as_ref(), exchange);
        Answer::Done
    }

    /// Answers a method that files do not support.
    pub(super) fn answer_other_method(
        &mut self,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        if exchange.request.method() != Method::Options {
            let status = Status::METHOD_NOT_ALLOWED;
            return self.refuse(status, &allow(FILE_METHODS), found, exchange, context);
        }
        exchange.reply.begin(Status::NO_CONTENT);
        exchange.reply.fields(allow(FILE_METHODS).fields());
        exchange.configured_fields();
        exchange.reply.end_head();
        Answer::Done
    }

    /// The answer when the file is not available now.
    pub(super) fn put_off(
        &mut self,
        not_now: NotNow,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        match not_now {
            NotNow::Wait => Answer::Wait,
            NotNow::Busy => {
                let status = Status::SERVICE_UNAVAILABLE;
                self.refuse(status, &try_again_soon(), found, exchange, context)
            }
        }
    }

    fn file_request<'r>(
        &mut self,
        path: &'r str,
        query: Option<&'r [u8]>,
        request: &Request<'r>,
    ) -> FileRequest<'r> {
        let mut preconditions = Preconditions::default();
        let mut accepted = Accepted::default();
        let mut accept = None;
        for (name, value) in request.head.fields.iter() {
            match name.len() {
                5 | 8 | 13 | 17 | 19 => preconditions.note(name.as_bytes(), value),
                6 if name.eq_ignore_ascii_case("accept") => accept = Some(value),
                15 if name.eq_ignore_ascii_case("accept-encoding") => accepted.read_line(value),
                _ => {}
            }
        }
        let unique = self.files.next_boundary();
        let method =
            if request.method() == Method::Head { SafeMethod::Head } else { SafeMethod::Get };
        FileRequest { method, preconditions, accepted, accept, path, query, unique }
    }
}

/// Whether the path of a file is shorter than the one that the client asked for, which a redirect has to lengthen.
pub(super) fn is_below_own_root(found: &FoundRoute<'_>) -> bool {
    matches!(found.action, Ok(RouteAction::Files { own_root: true, .. }))
}

fn write(
    answer: &FileAnswer<'_>,
    key: EntryKey<'_>,
    file: Option<&Rc<FileHandle>>,
    exchange: &mut Exchange<'_, '_>,
) {
    exchange.reply.begin(answer.status);
    exchange.reply.fields(answer.fields.fields());
    match answer.policy {
        None => exchange.configured_fields(),
        Some(policy) => exchange.configured_fields_under(policy, Fields::default()),
    }
    exchange.reply.end_head_of_length(answer.length);
    for part in answer.parts.as_slice() {
        match part {
            BodyPart::Memory { bytes, range } => exchange.reply.body_shared(SharedBytes {
                bytes: Arc::clone(bytes).into(),
                start: range.start,
                end: range.end,
            }),
            BodyPart::File { offset, length } => {
                let (Some(file), Some(large)) = (file, answer.large) else { continue };
                exchange.reply.body_file(FileRegion {
                    file: Rc::clone(file),
                    name: FileName { root: key.root.0, relative: Arc::clone(&large.relative) },
                    offset: *offset,
                    length: *length,
                });
            }
        }
    }
}
