//! A result in the cache of a scheduler.
//!
//! Owns what a result costs and what may still be needed of it. Never knows how old it is (`cache`
//! does).

use std::sync::Arc;

use wire::http::encoding::{Accepted, Available, Coding};

use super::compress::ON_THE_FLY;
use super::job::{Errand, FileState, PathContent};
use super::limits;

/// The result at a path, ready for answers.
#[derive(Debug)]
pub struct CachedEntry {
    content: PathContent,
    cost: usize,
}

/// Whether there is anything to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Positive,
    Negative,
}

impl CachedEntry {
    pub(crate) fn new(content: PathContent) -> Self {
        let cost = limits::SLOT_COST
            + match &content {
                PathContent::File(file) => {
                    let bodies = file.representations.iter().map(|body| body.cost());
                    file.known.relative.len() + bodies.sum::<usize>()
                }
                PathContent::Listing(listing) => listing.html.cost() + listing.json.cost(),
                PathContent::Redirect | PathContent::Missing(_) | PathContent::Failed(_) => 0,
            };
        Self { content, cost }
    }

    /// The content.
    pub fn content(&self) -> &PathContent {
        &self.content
    }

    /// Bytes of memory, including its slot in the cache.
    pub fn cost(&self) -> usize {
        self.cost
    }

    pub(crate) fn sign(&self) -> Sign {
        match self.content {
            PathContent::File(_) | PathContent::Listing(_) => Sign::Positive,
            PathContent::Redirect | PathContent::Missing(_) | PathContent::Failed(_) => {
                Sign::Negative
            }
        }
    }

    /// The coding that this client would get if it existed; `None` if what exists is as good.
    pub(crate) fn wish(&self, accepted: &Accepted) -> Option<Coding> {
        let PathContent::File(file) = &self.content else { return None };
        if file.possible == Available::IDENTITY {
            return None;
        }
        let is_possible = |coding: &Coding| file.possible.contains(*coding);
        let all = ON_THE_FLY.into_iter().filter(is_possible).fold(file.available, Available::with);
        accepted.choose(all).filter(|&coding| !file.available.contains(coding))
    }

    /// The errand of the next lookup: codings that were produced stay wanted.
    pub(crate) fn errand(&self, wish: Option<Coding>) -> Errand {
        let known = match &self.content {
            PathContent::File(file) => Some(Arc::clone(&file.known)),
            _ => None,
        };
        let tried =
            known.as_ref().map_or(Available::IDENTITY, |known: &Arc<FileState>| known.tried);
        Errand { known, wanted: wish.map_or(tried, |coding| tried.with(coding)) }
    }
}

/// The errand when nothing is known: the coding that this client likes best among those that can be produced.
pub(crate) fn first_errand(accepted: &Accepted) -> Errand {
    let possible = ON_THE_FLY.into_iter().fold(Available::IDENTITY, Available::with);
    let wish = accepted.choose(possible).unwrap_or(Coding::Identity);
    Errand { known: None, wanted: Available::IDENTITY.with(wish) }
}
