//! The route of a request, and its place in the answer: found once, and kept while the request waits.
//!
//! Owns how long a kept route is valid: as long as the configuration it was found in. Never answers.

use std::rc::Rc;

use config::route::{FoundRoute, KeptRoute, RuleId};
use http::{FieldList, ProxiedNotes};
use pages::SetIndex;
use wire::http::status::Status;

use super::handed_on::HandedOn;
use super::room::Room;
use super::stage::Stage;
use crate::limits::ROUTES_TIMED;
use crate::site_data::SiteData;

/// The things kept of a request that waits, or whose answer is sent in parts.
#[derive(Debug)]
pub(super) struct Kept {
    /// The decoded path of the request.
    path: Box<str>,
    route: KeptRoute,
    /// The number of the configuration with the route.
    generation: u64,
    place: AnswerPlace,
}

/// A request that goes on. Plain data.
pub(super) struct Resumed<'k> {
    pub(crate) path: &'k str,
    pub(crate) found: FoundRoute<'k>,
    pub(crate) place: &'k mut AnswerPlace,
}

/// How far an answer has come.
#[derive(Debug, Default)]
pub(super) struct AnswerPlace {
    room: Option<Room>,
    page: Option<(SetIndex, usize)>,
    /// Whether a server of an upstream answers.
    is_proxied: bool,
    /// The directions of a module for it, if a module has it go there.
    handed_on: Option<Rc<HandedOn>>,
    /// How it went there, for the access log.
    passed_on: Option<Box<ProxiedNotes>>,
    permission: Permission,
    refusal: Option<Refusal>,
    /// How many paths of `try` are known to have no file.
    tried: usize,
    admission: Admission,
    /// The limits that have counted it.
    metered: Option<Stage>,
    /// Whether it has begun to be made, which may have changed something: maintenance cannot refuse the request.
    is_begun: bool,
    /// Whether the links of the route were sent to the client.
    has_hinted: bool,
    lead: Lead,
}

/// Whether routes of files have led on to those after them, because they have no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Lead {
    /// None has.
    #[default]
    None,
    /// The one that was just asked has.
    Now,
    /// One has, and the next was asked; or no route of files can have one for it.
    Before,
}

/// Whether the rules of access have let a request in.
#[derive(Debug, Default)]
enum Admission {
    /// They were not asked yet, or are not at their end.
    #[default]
    Open,
    /// Yes, with the name of its user if it has shown one.
    Given(Option<Box<str>>),
}

/// Whether the server that is asked first lets a request pass.
#[derive(Debug, Default)]
enum Permission {
    /// It was not asked, or has not answered.
    #[default]
    Open,
    /// It does, and gives it these fields if it changes any. Nobody is asked again, whatever the next configuration
    /// says.
    Given(Option<Rc<GivenFields>>),
}

/// The fields of a request that a server has let pass. Plain data.
#[derive(Debug)]
pub(super) struct GivenFields {
    pub(crate) fields: FieldList,
    /// The names of those that are the server's, or are not there because it has none: never the client's.
    pub(crate) copied: Vec<String>,
}

/// How a request is refused.
#[derive(Debug)]
struct Refusal {
    status: Status,
    fields: FieldList,
}

impl AnswerPlace {
    /// Before an answer: a body arrives, with this room.
    pub(super) fn make_room(&mut self, room: Room) {
        self.room = Some(room);
    }

    /// The limits of this stage have counted it.
    pub(super) fn note_metered(&mut self, stage: Stage) {
        self.metered = Some(stage);
    }

    /// Whether they have.
    pub(super) fn is_metered(&self, stage: Stage) -> bool {
        self.metered >= Some(stage)
    }

    /// Its answer begins to be made. It is finished though maintenance begins meanwhile.
    pub(super) fn begin_service(&mut self) {
        self.is_begun = true;
    }

    /// Whether its answer has begun to be made.
    pub(super) fn is_service_begun(&self) -> bool {
        self.is_begun
    }

    /// These links for a client that waits, once, if there are any.
    pub(super) fn take_unsent_hints<'l>(&mut self, links: &'l FieldList) -> Option<&'l FieldList> {
        let has_hinted = std::mem::replace(&mut self.has_hinted, true);
        (!has_hinted && !links.is_empty()).then_some(links)
    }

    /// Whether its route answers it, now or later: it is not refused once the file of its error page has been looked
    /// up, and the route does not lead on.
    pub(super) fn is_answered(&self) -> bool {
        self.refusal.is_none() && self.lead != Lead::Now
    }

    /// The route has no file for it, and the next one is asked: with rules of access, a server to ask and links of its
    /// own.
    pub(super) fn lead_on(&mut self) {
        if self.user().is_none() {
            // The limits of users have counted nobody.
            self.metered = self.metered.min(Some(Stage::Client));
        }
        (self.admission, self.permission) = (Admission::Open, Permission::Open);
        (self.tried, self.lead, self.has_hinted) = (0, Lead::Now, false);
    }

    /// Whether the route that was just asked has led on, once.
    pub(super) fn take_lead(&mut self) -> bool {
        let leads = self.lead == Lead::Now;
        if leads {
            self.lead = Lead::Before;
        }
        leads
    }

    /// No route of files has one for it, whatever is on the disk.
    pub(super) fn pass_files(&mut self) {
        self.lead = Lead::Before;
    }

    /// Whether a route has led on. Then one of files is not asked again after a change of the configuration: a server
    /// may have the request.
    pub(super) fn has_led_on(&self) -> bool {
        self.lead == Lead::Before
    }

    /// The rules of access let the request in. They are not asked again, whatever the next configuration says.
    pub(super) fn admit(&mut self, user: Option<Box<str>>) {
        self.admission = Admission::Given(user);
    }

    /// The user whom they have let in.
    pub(super) fn user(&self) -> Option<&str> {
        match &self.admission {
            Admission::Given(user) => user.as_deref(),
            Admission::Open => None,
        }
    }

    /// Whether they have.
    pub(super) fn is_admitted(&self) -> bool {
        matches!(self.admission, Admission::Given(_))
    }

    /// This page begins to answer, and is the one that ends, whatever the path means in a later configuration.
    pub(super) fn begin_page(&mut self, page: (SetIndex, usize)) {
        self.page = Some(page);
    }

    /// Notes that so many paths of `try` have no file.
    pub(super) fn tried(&self) -> usize {
        self.tried
    }

    /// In another configuration all paths of `try` are looked at again.
    pub(super) fn try_again(&mut self) {
        self.tried = 0;
    }

    /// One more path of `try` is known to have no file.
    pub(super) fn has_tried_another(&mut self) {
        self.tried += 1;
    }

    /// The page that has begun to answer.
    pub(super) fn page(&self) -> Option<(SetIndex, usize)> {
        self.page
    }

    /// A server of an upstream answers, whatever the path means in a later configuration.
    pub(super) fn pass_on(&mut self) {
        self.is_proxied = true;
    }

    /// A server of an upstream does not answer, after all.
    pub(super) fn refuse_to_pass_on(&mut self) {
        self.is_proxied = false;
    }

    /// The request may pass, with these fields in place of its own.
    pub(super) fn permit(&mut self, given: Option<Rc<GivenFields>>) {
        self.permission = Permission::Given(given);
    }

    /// Whether it may pass.
    pub(super) fn is_permitted(&self) -> bool {
        matches!(self.permission, Permission::Given(_))
    }

    /// The fields that it has now, if they are not those that came.
    pub(super) fn given_fields(&self) -> Option<&Rc<GivenFields>> {
        match &self.permission {
            Permission::Given(given) => given.as_ref(),
            Permission::Open => None,
        }
    }

    /// Whether a field of this name is of the server that was asked, not of the client.
    pub(super) fn has_given(&self, name: &str) -> bool {
        let is_it = |one: &String| config::is_same_field(one, name);
        self.given_fields().is_some_and(|given| given.copied.iter().any(is_it))
    }

    /// A module has it go on to a server.
    pub(super) fn hand_on(&mut self, handed_on: Rc<HandedOn>) {
        self.handed_on = Some(handed_on);
    }

    /// The directions of a module for it, if a module has it go on to a server.
    pub(super) fn handed_on(&self) -> Option<Rc<HandedOn>> {
        self.handed_on.clone()
    }

    /// Servers of an upstream have had it.
    pub(super) fn note_passed_on(&mut self, account: ProxiedNotes) {
        self.passed_on = Some(Box::new(account));
    }

    /// How it went there.
    pub(super) fn passed_on(&self) -> Option<&ProxiedNotes> {
        self.passed_on.as_deref()
    }

    /// Whether a server of an upstream answers.
    pub(super) fn is_proxied(&self) -> bool {
        self.is_proxied
    }

    /// The request is refused once the file of its error page has been looked up. This is final: it is not answered in
    /// any other way, such as by running the failed page again.
    pub(super) fn refuse_later(&mut self, status: Status, fields: FieldList) {
        self.refusal = Some(Refusal { status, fields });
    }

    /// The status and the fields that the request is refused with, if it is.
    pub(super) fn take_refusal(&mut self) -> Option<(Status, FieldList)> {
        self.refusal.take().map(|refusal| (refusal.status, refusal.fields))
    }
}

impl Kept {
    /// Keeps a route of the configuration with this number.
    pub(super) fn new(
        path: &str,
        found: FoundRoute<'_>,
        place: AnswerPlace,
        generation: u64,
    ) -> Box<Self> {
        let route = found.keep(path);
        Box::new(Self { path: path.into(), route, generation, place })
    }

    /// The room of the body, once.
    pub(super) fn take_room(&mut self) -> Option<Room> {
        self.place.room.take()
    }

    /// How far the answer had come.
    pub(super) fn take_place(&mut self) -> AnswerPlace {
        std::mem::take(&mut self.place)
    }

    /// The things that its answer goes on with, in the configuration that the route is of.
    pub(super) fn resume<'k>(&'k mut self, data: &'k SiteData) -> Resumed<'k> {
        let found = data.table.recall(&self.route, &self.path);
        Resumed { path: &self.path, found, place: &mut self.place }
    }

    /// The user whom the rules of access have let in.
    pub(super) fn user(&self) -> Option<&str> {
        self.place.user()
    }

    /// Whether the rules of access have let the request in.
    pub(super) fn is_admitted(&self) -> bool {
        self.place.is_admitted()
    }

    /// A server of an upstream answers.
    pub(super) fn pass_on(&mut self) {
        self.place.pass_on();
    }

    /// How far the answer has come.
    pub(super) fn place(&self) -> &AnswerPlace {
        &self.place
    }

    /// How far the answer has come.
    pub(super) fn place_mut(&mut self) -> &mut AnswerPlace {
        &mut self.place
    }

    /// The decoded path of the request.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Whether the route is one of this configuration.
    pub(super) fn is_of(&self, data: &SiteData) -> bool {
        self.generation == data.generation
    }

    /// The route, in the configuration that it is of.
    pub(super) fn route<'k>(&'k self, data: &'k SiteData) -> FoundRoute<'k> {
        data.table.recall(&self.route, &self.path)
    }
}

/// The number under which the times of a route are counted; 0 for those beyond the bound.
pub(super) fn number_of(RuleId(rule): RuleId) -> u16 {
    if rule < ROUTES_TIMED { u16::try_from(rule + 1).unwrap_or(0) } else { 0 }
}
