//! The site on one scheduler: answers requests according to the configuration.
//!
//! Owns the components of a site, each of which owns its fields. `application` handles its events. A request goes
//! through `answer` (its route) to the target of the route: `file` -> `file_desk` -> the cache, `script` (a page or
//! module), or a reply that is written at once. `crate::site_data` is immutable and shared by all schedulers.

mod access;
mod answer;
mod application;
mod asking;
mod channel;
mod client;
mod early_hints;
mod endpoints;
mod engine;
mod entry;
mod error_page;
mod exchange;
mod explain;
mod file;
mod file_desk;
mod form;
mod handed_on;
mod head_judgement;
mod https;
mod json_checks;
mod maintained;
mod next_route;
mod orders;
mod outgoing;
mod pack;
mod packer;
mod page_fields;
mod records;
mod resolve;
mod room;
mod route;
mod script;
mod shown;
mod slow;
mod slow_lines;
mod stage;
mod state;
mod talking;
pub(crate) mod traced;
mod tries;
mod tuned;
mod turn;
mod underway;
mod upgraded;
mod waiting;

use std::rc::Rc;
use std::sync::Arc;

use local::Local;

use self::engine::PageEngine;
use self::entry::EntryChecks;
use self::file_desk::FileDesk;
use self::outgoing::Outgoing;
use self::slow_lines::SlowLines;
use self::underway::Underway;
use crate::site_data::SiteData;

pub(crate) use asking::{Question, Veto, Withheld};
pub(crate) use channel::{members_object, wish_of};
pub use endpoints::Helpers;
pub(crate) use orders::{message_of, written_value};
pub(crate) use outgoing::Tunnelled;
pub(crate) use talking::Said;
pub(crate) use upgraded::{Upgrade, Upgraded};

/// The site of one scheduler.
pub struct Site {
    #[expect(
        clippy::redundant_allocation,
        reason = "this scheduler counts for itself: a request that holds on to \
        the site must not write the count that all schedulers share"
    )]
    data: Rc<Arc<SiteData>>,
    helpers: Helpers,
    files: FileDesk,
    /// The checks that decide whether a request is answered at all.
    entry: EntryChecks,
    /// The things that are kept for single requests.
    underway: Underway,
    /// The requests to other servers.
    outgoing: Outgoing,
    /// Runs pages, if there are any.
    pages: PageEngine,
    /// The store and the channels of this scheduler, which all its protocols share.
    local: Rc<Local>,
    /// How many slow requests were logged.
    slow_lines: SlowLines,
}
