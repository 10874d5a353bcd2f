//! Bodies of requests to pages: collected, or received as forms with files.
//!
//! Owns the handling of such a body, and what pages request from files. Never parses a form.

use std::path::Path;
use std::rc::Rc;

use config::RouteAction;
use files::{Key, RootIndex};
use http::{BodyPolicy, Intake, Request};
use pages::uploads::Report;
use runtime::service::ServiceContext;
use runtime::slots::ProcessId;
use wire::http::head::Framing;
use wire::http::multipart::{Boundary, MultipartError};
use wire::http::target;

use super::exchange::{PATH_RULES, route_request};
use super::state::Site;
use crate::message::Message;

impl Site {
    /// The body of a request is collected for a page, up to the limit of its route.
    pub(super) fn body_policy_of(&mut self, request: &Request<'_>) -> BodyPolicy {
        let Some(limit) = self.body_size_of_page(request) else { return BodyPolicy::Ignore };
        let is_form = boundary_of(request) != Ok(None);
        let most = match is_form && !self.helpers.uploads.is_empty() {
            true => self.data.config.pages.upload_size,
            false => limit,
        };
        match request.head.framing {
            // It is refused as by its host, which accepts no body.
            Framing::Length(size) if size > most.max(limit) => BodyPolicy::Ignore,
            _ if is_form => BodyPolicy::Stream { limit: most },
            _ => BodyPolicy::Collect { limit },
        }
    }

    /// The maximum body size if a page answers the request.
    fn body_size_of_page(&mut self, request: &Request<'_>) -> Option<u64> {
        self.runner.as_ref()?;
        let (path, query) = request.head.split_target();
        let mut scratch = Vec::new();
        let path = target::resolve_with(path, PATH_RULES, &mut scratch).ok()?;
        let data = Rc::clone(&self.data);
        let found = data.table.find(&route_request(request, path, query));
        let rules = match found.action {
            Ok(RouteAction::Files { rules, .. }) => rules,
            Ok(RouteAction::Module(_)) => return Some(found.body_size),
            _ => return None,
        };
        let root = self.root_of(found.rule, rules)?;
        let page = data
            .set_of(root)
            .and_then(|set| self.runner.as_ref()?.find(set, found.path.trim_start_matches('/')));
        (page.is_some() || self.main_module(&found).is_some()).then_some(found.body_size)
    }

    /// A form with files begins to arrive.
    pub(super) fn begin_form(&mut self, request: &Request<'_>, process: ProcessId) -> Intake {
        let allowance = self.body_size_of_page(request).unwrap_or_default();
        let boundary = boundary_of(request);
        let boundary = match &boundary {
            Ok(Some(boundary)) => Ok(boundary),
            Ok(None) => Err(MultipartError::MissingBoundary),
            Err(error) => Err(*error),
        };
        self.uploads.begin(process, request.path(), boundary, allowance)
    }

    /// An upload helper has reported.
    pub(crate) fn on_uploaded(
        &mut self,
        report: Report,
        context: &mut ServiceContext<'_, Message>,
    ) {
        let Some(answered) = self.uploads.on_report(report, context) else { return };
        if let Some(name) = &answered.saved {
            self.expire_saved(name);
        }
        if let Some(runner) = &mut self.runner {
            runner.tell_of_file(answered.process, answered.told);
        }
    }

    /// Removes cache entries for a file that a page has saved in a served directory: the old content, its absence,
    /// and listings without it.
    fn expire_saved(&mut self, name: &str) {
        let data = Rc::clone(&self.data);
        let Some(uploads) = &data.config.pages.uploads else { return };
        for (number, root) in (0..).zip(&data.roots) {
            let below = uploads.strip_prefix(&root.path).ok().and_then(Path::to_str);
            let Some(below) = below else { continue };
            let directory = if below.is_empty() { "/".to_owned() } else { format!("/{below}/") };
            for path in [&format!("{directory}{name}"), &directory] {
                self.cache.expire(Key { root: RootIndex(number), path });
            }
        }
    }
}

/// The boundary of a form with files.
fn boundary_of(request: &Request<'_>) -> Result<Option<Boundary>, MultipartError> {
    Boundary::of_content_type(request.field("content-type").unwrap_or_default())
}
