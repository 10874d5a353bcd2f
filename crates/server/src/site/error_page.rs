//! Error pages: the configured one if there is one, otherwise the built-in one.
//!
//! Owns the refusal of a request while the file of its error page is looked up. Never decides to
//! refuse.

use std::rc::Rc;
use std::sync::Arc;

use config::route::FoundRoute;
use files::error_page::ErrorPages;
use files::job::PathContent;
use files::representation::BodySource;
use files::{EntryKey, RootIndex};
use files::{ListingForm, error_page, form_of, policy};
use http::{Answer, FieldList, Fields, Reply};
use runtime::output::{FileName, FileRegion, SharedBytes};
use runtime::trace;
use wire::http::encoding::Accepted;
use wire::http::status::Status;

use super::Site;
use super::exchange::Exchange;
use super::file_desk::NotNow;
use super::traced;
use crate::message::AnswerContext;

/// A configured page that can be sent now.
#[derive(Debug)]
struct Page {
    media_type: Arc<str>,
    body: PageBody,
}

#[derive(Debug)]
enum PageBody {
    Memory(Arc<[u8]>),
    /// A file, which is not opened for HEAD.
    File(Option<FileRegion>, u64),
}

impl Site {
    /// Answers with an error: its fields, and a page.
    pub(super) fn refuse(
        &mut self,
        status: Status,
        fields: &FieldList,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        if trace::is_noting() {
            traced::refused(context.id, status);
        }
        let page = self.configured_page(status, found, exchange, context);
        if matches!(page, Err(Answer::Wait)) {
            exchange.place.refuse_later(status, fields.clone());
        }
        match page {
            Ok(Some(Page { media_type, body })) => {
                exchange.reply.begin(status);
                exchange.reply.fields(fields.fields());
                exchange.configured_fields_beside(fields.fields());
                let _valid = exchange.reply.field("Content-Type", media_type.as_bytes());
                match body {
                    PageBody::Memory(bytes) => {
                        exchange.reply.end_head_with_length(bytes.len() as u64);
                        let (end, bytes) = (bytes.len(), bytes.into());
                        exchange.reply.body_shared(SharedBytes { bytes, start: 0, end });
                    }
                    PageBody::File(region, length) => {
                        exchange.reply.end_head_with_length(length);
                        if let Some(region) = region {
                            exchange.reply.body_file(region);
                        }
                    }
                }
                Answer::Done
            }
            Ok(None) => self.page_with_fields(status, fields, exchange),
            Err(answer) => answer,
        }
    }

    /// The page that the host's configuration names for a status, from the cache.
    fn configured_page(
        &mut self,
        status: Status,
        found: &FoundRoute<'_>,
        exchange: &Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Result<Option<Page>, Answer> {
        let data = Rc::clone(&self.data);
        let Some(host) = data.host(found.host) else { return Ok(None) };
        let Some(page) = host.error_pages.iter().find(|page| page.status == status.code()) else {
            return Ok(None);
        };
        let Some(RootIndex(root)) = data.root_of(&host.files) else { return Ok(None) };
        let key = EntryKey { root: RootIndex(root), path: &page.path };
        let entry = match self.files.look(key, &Accepted::default(), &data, context) {
            Ok(entry) => entry,
            Err(NotNow::Wait) => return Err(Answer::Wait),
            // The built-in page of this error is better than another error.
            Err(NotNow::Busy) => return Ok(None),
        };
        let PathContent::File(file) = entry.content() else { return Ok(None) };
        let Some(identity) = file.representations.first() else { return Ok(None) };
        let media_type = Arc::clone(&identity.media_type);
        let body = match &identity.body {
            BodySource::Memory(bytes) => PageBody::Memory(Arc::clone(bytes)),
            BodySource::Large(large) if !exchange.reply.sends_body() => {
                PageBody::File(None, large.metadata.size)
            }
            BodySource::Large(large) => match self.files.open_large(key, large, &data, context) {
                Ok(file) => {
                    let name = FileName { root, relative: Arc::clone(&large.relative) };
                    let length = large.metadata.size;
                    PageBody::File(Some(FileRegion { file, name, offset: 0, length }), length)
                }
                Err(NotNow::Wait) => return Err(Answer::Wait),
                Err(NotNow::Busy) => return Ok(None),
            },
        };
        Ok(Some(Page { media_type, body }))
    }

    /// Redirects the client, with a page for clients that do not follow.
    pub(super) fn redirect(
        &mut self,
        status: Status,
        location: &str,
        exchange: &mut Exchange<'_, '_>,
    ) -> Answer {
        exchange.reply.begin(status);
        // It was percent-encoded by the code that made it, so it is valid.
        let _valid = exchange.reply.field("Location", location.as_bytes());
        exchange.configured_fields_under(policy::ERROR_PAGE, Fields::default());
        finish_page(&self.data.error_pages.redirect(status.code(), location), exchange.reply)
    }

    /// The built-in page for a status, with the route's fields.
    fn page_with_fields(
        &mut self,
        status: Status,
        fields: &FieldList,
        exchange: &mut Exchange<'_, '_>,
    ) -> Answer {
        exchange.reply.begin(status);
        exchange.reply.fields(fields.fields());
        if form_of(exchange.request.field("accept")) == ListingForm::Json {
            exchange.configured_fields_beside(fields.fields());
            let _valid = exchange.reply.field("Vary", b"Accept");
            let problem = match status.code() {
                500.. => ErrorPages::problem_of(status, &exchange.request.id()),
                _ => ErrorPages::problem(status),
            };
            return finish(problem.as_bytes(), error_page::PROBLEM_TYPE, exchange.reply);
        }
        exchange.configured_fields_under(policy::ERROR_PAGE, fields.fields());
        if status.code() >= 500 {
            let page = self.data.error_pages.page_of(status.code(), &exchange.request.id());
            return finish_page(&page, exchange.reply);
        }
        finish_page(self.data.error_pages.page(status.code()), exchange.reply)
    }

    /// The page shown to the author of a page that failed.
    pub(super) fn fault_page(
        status: Status,
        fields: &FieldList,
        page: &[u8],
        exchange: &mut Exchange<'_, '_>,
    ) -> Answer {
        exchange.reply.begin(status);
        exchange.reply.fields(fields.fields());
        exchange.configured_fields_under(pages::FAULT_POLICY, fields.fields());
        finish_page(page, exchange.reply)
    }

    /// The built-in page for a status, when no route was found.
    pub(super) fn builtin_page(
        &mut self,
        status: Status,
        fields: &FieldList,
        reply: &mut Reply<'_>,
    ) -> Answer {
        reply.begin(status);
        reply.fields(fields.fields());
        let _valid = reply.field(policy::FIELD, policy::ERROR_PAGE.as_bytes());
        finish_page(self.data.error_pages.page(status.code()), reply)
    }
}

fn finish_page(page: &[u8], reply: &mut Reply<'_>) -> Answer {
    finish(page, error_page::MEDIA_TYPE, reply)
}

fn finish(body: &[u8], media_type: &str, reply: &mut Reply<'_>) -> Answer {
    let _valid = reply.field("Content-Type", media_type.as_bytes());
    reply.end_head_with_length(body.len() as u64);
    reply.body(body);
    Answer::Done
}
