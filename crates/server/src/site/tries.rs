//! Answers with the first of several paths that has a page or a file: the `try` of a route.
//!
//! Owns the order, and what of a directory counts. Never writes a reply: `file` and `script` do.

use config::route::FoundRoute;
use config::{FileSettings, TargetTemplate};
use files::{EntryKey, PathContent, RootIndex};
use http::{Answer, FieldList};
use pages::SetIndex;
use wire::http::encoding::Accepted;
use wire::http::method::Method;
use wire::http::status::Status;
use wire::http::target::encode_path;

use super::Site;
use super::exchange::{Asked, Exchange};
use super::next_route::leads_on;
use crate::message::AnswerContext;

impl Site {
    /// Answers with the first path that has something to answer with. A request that waits for the disk goes on where
    /// it was: what a path had when it was looked at decides, so a request ends however the files change.
    pub(super) fn answer_first(
        &mut self,
        (rules, tries): (&FileSettings, &[TargetTemplate]),
        query: Option<&[u8]>,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let missing = |site: &mut Self, exchange: &mut Exchange<'_, '_>, context: &mut _| {
            if leads_on(found) {
                exchange.place.lead_on();
                return Answer::Wait;
            }
            site.refuse(Status::NOT_FOUND, &FieldList::new(), found, exchange, context)
        };
        let Some(root) = self.files.root_of(found.rule, rules, &self.data) else {
            return missing(self, exchange, context);
        };
        while let Some(target) = tries.get(exchange.place.tried()) {
            let Some(path) = target.path_from(&found.path) else {
                exchange.place.has_tried_another();
                continue;
            };
            let is_read = matches!(exchange.request.method(), Method::Get | Method::Head);
            // The links of an index are relative to its directory.
            let is_redirected = is_read && target.adds_slash() && !exchange.path.ends_with('/');
            if let Some(page) = self.page_at(root, &path) {
                if is_redirected {
                    return self.redirect_to_directory(query, exchange);
                }
                // Such a page is often asked for any path, so it is told the one of the client.
                let asked = Asked::whole(&found.path);
                return self.answer_with_page(page, asked, found, exchange, context);
            }
            let key = EntryKey { root, path: &path };
            let content = match self.files.look(key, &Accepted::default(), &self.data, context) {
                Ok(entry) => Standing::of(entry.content()),
                Err(not_now) => return self.put_off(not_now, found, exchange, context),
            };
            match content {
                Standing::Missing => exchange.place.has_tried_another(),
                Standing::There if is_redirected => {
                    return self.redirect_to_directory(query, exchange);
                }
                Standing::There if !is_read => {
                    return self.answer_other_method(found, exchange, context);
                }
                Standing::There | Standing::Failed => {
                    return self.answer_file(key, query, found, exchange, context);
                }
            }
        }
        missing(self, exchange, context)
    }

    /// The page that would answer, if no file does before it.
    pub(super) fn page_of_tries(
        &self,
        root: RootIndex,
        tries: &[TargetTemplate],
        path: &str,
    ) -> Option<(SetIndex, usize)> {
        tries
            .iter()
            .filter_map(|target| target.path_from(path))
            .find_map(|path| self.page_at(root, &path))
    }

    fn redirect_to_directory(
        &mut self,
        query: Option<&[u8]>,
        exchange: &mut Exchange<'_, '_>,
    ) -> Answer {
        let mut location = Vec::with_capacity(exchange.path.len() + 16);
        encode_path(exchange.path, &mut location);
        location.push(b'/');
        if let Some(query) = query.filter(|query| query.iter().all(u8::is_ascii_graphic)) {
            location.push(b'?');
            location.extend_from_slice(query);
        }
        let location = String::from_utf8(location).unwrap_or_default();
        self.redirect(Status::MOVED_PERMANENTLY, &location, exchange)
    }
}

/// The kind of thing at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing for a client, or a directory that was asked for without its slash.
    Missing,
    /// A file, or a directory with an index or a listing.
    There,
    /// The disk failed, which is not the same as nothing.
    Failed,
}

impl Standing {
    pub(super) fn of(content: &PathContent) -> Self {
        match content {
            PathContent::File(_) | PathContent::Listing(_) => Self::There,
            PathContent::Redirect | PathContent::Missing(_) => Self::Missing,
            PathContent::Failed(_) => Self::Failed,
        }
    }
}
