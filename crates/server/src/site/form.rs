//! Bodies of requests to pages: collected, or received as forms with files.
//!
//! Owns the handling of such a body, and what pages request from files. Never parses a form.

use std::path::Path;
use std::rc::Rc;

use config::RouteAction;
use config::route::FoundRoute;
use files::{EntryKey, RootIndex};
use http::{BodyPolicy, Intake, Request};
use pages::SetIndex;
use pages::uploads::{FileAcceptance, UploadReport};
use wire::http::multipart::{Boundary, MultipartError};

use super::Site;
use super::head_judgement::HeadJudgement;
use super::room::{BodyKind, Room};
use super::route::{AnswerPlace, Kept};
use crate::message::{AnswerContext, ServiceContext};
use crate::origin::is_forged;

impl Site {
    /// The body of a request is collected for a page, up to the limit of its route.
    pub(super) fn body_policy_of(
        &mut self,
        found: &FoundRoute<'_>,
        request: &Request<'_>,
        judged: HeadJudgement,
        place: &mut AnswerPlace,
    ) -> BodyPolicy {
        if let Some(policy) = self.proxied_body_policy(found, judged) {
            return policy;
        }
        let Some(room) = self.room_at(found, request) else { return BodyPolicy::Ignore };
        let policy = room.policy(self.kind_of(request), request.head.framing);
        place.make_room(room);
        policy
    }

    fn kind_of(&self, request: &Request<'_>) -> BodyKind {
        match boundary_of(request) {
            Ok(None) => BodyKind::Plain,
            _ if self.helpers.uploads.is_empty() => BodyKind::Form,
            _ => BodyKind::StorableForm,
        }
    }

    /// The room for the body of a request with this route, if a page or a module answers it.
    fn room_at(&mut self, found: &FoundRoute<'_>, request: &Request<'_>) -> Option<Room> {
        let place = self.place_of_page(found)?;
        let reads = |(set, index)| self.pages.runner()?.takes_files(set, index).then_some(());
        // Only a form has files, so the texts of pages are not looked at for other bodies.
        let place = place.filter(|_| boundary_of(request) != Ok(None));
        let files = match place.and_then(reads) {
            None => FileAcceptance::NotRead,
            Some(()) if is_forged(request, &self.data.config.channel_settings.origins) => {
                FileAcceptance::Forged
            }
            Some(()) => FileAcceptance::Taken,
        };
        Some(Room::of(found, files))
    }

    /// The page or module that answers; `Some(None)` for a module that does not exist.
    fn place_of_page(&mut self, found: &FoundRoute<'_>) -> Option<Option<(SetIndex, usize)>> {
        let (rules, tries) = match &found.action {
            Ok(RouteAction::Files { rules, tries, .. }) => (rules, tries),
            Ok(RouteAction::Module(name)) => {
                let set = self.data.app_set();
                let runner = self.pages.runner()?;
                return Some(set.and_then(|set| Some((set, runner.find(set, name)?))));
            }
            _ => return None,
        };
        let root = self.files.root_of(found.rule, rules, &self.data)?;
        if !tries.is_empty() {
            return self.page_of_tries(root, tries, &found.path).map(Some);
        }
        let page = self.page_at(root, &found.path);
        page.or_else(|| self.main_module(found)).map(Some)
    }

    /// A form with files begins to arrive.
    pub(super) fn begin_form(
        &mut self,
        request: &Request<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Intake {
        let mut kept = context.take_kept::<Kept>();
        let room = kept.as_mut().and_then(|kept| kept.take_room());
        if let Some(kept) = kept {
            context.keep(kept);
        }
        let (files, allowance) = room.map_or((FileAcceptance::NotRead, 0), |room| room.of_form());
        let boundary = boundary_of(request);
        let boundary = match &boundary {
            Ok(Some(boundary)) => Ok(boundary),
            Ok(None) => Err(MultipartError::MissingBoundary),
            Err(error) => Err(*error),
        };
        self.underway.begin_form((context.id, request.path()), boundary, files, allowance)
    }

    /// An upload helper has reported.
    pub(crate) fn on_uploaded(&mut self, report: UploadReport, context: &mut ServiceContext<'_>) {
        let Some(answered) = self.underway.on_upload(report, context) else { return };
        if let Some(name) = &answered.saved {
            self.expire_saved(name);
        }
        self.pages.tell_of_file(answered.process, answered.told);
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
                self.files.expire(EntryKey { root: RootIndex(number), path });
            }
        }
    }
}

/// The boundary of a form with files.
fn boundary_of(request: &Request<'_>) -> Result<Option<Boundary>, MultipartError> {
    Boundary::of_content_type(request.field("content-type").unwrap_or_default())
}
