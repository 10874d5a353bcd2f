//! The route of a request, and its place in the answer: found once, and kept while the request waits.
//!
//! Owns how long a kept route is valid: as long as the configuration it was found in. Never answers.

use config::route::{Found, KeptRoute};
use http::FieldList;
use pages::SetIndex;
use wire::http::status::Status;

use crate::site_data::SiteData;

/// What is kept of a request that waits, or whose answer is sent in parts.
#[derive(Debug)]
pub(super) struct Kept {
    /// The decoded path of the request.
    path: Box<str>,
    route: KeptRoute,
    /// The number of the configuration with the route.
    generation: u64,
    pub(super) place: AnswerPlace,
}

/// How far an answer has come.
#[derive(Debug, Default)]
pub(super) struct AnswerPlace {
    /// The page that has begun to answer, whatever the path means in a later configuration.
    pub(super) page: Option<(SetIndex, usize)>,
    /// The request is refused once the file of its error page has been looked up. This is final: it is not answered in
    /// any other way, such as by running the failed page again.
    pub(super) refusal: Option<Refusal>,
}

/// How a request is refused.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: Status,
    pub(super) fields: FieldList,
}

impl Kept {
    /// Keeps a route of the configuration with this number.
    pub(super) fn new(
        path: &str,
        found: Found<'_>,
        place: AnswerPlace,
        generation: u64,
    ) -> Box<Self> {
        let route = found.keep(path);
        Box::new(Self { path: path.into(), route, generation, place })
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
    pub(super) fn route<'k>(&'k self, data: &'k SiteData) -> Found<'k> {
        data.table.recall(&self.route, &self.path)
    }
}
