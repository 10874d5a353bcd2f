//! Whether a request meets a condition.
//!
//! Owns the comparison. Its shape is in the model.

use std::net::IpAddr;

use wire::http::target::query_pairs;

use super::{Circumstances, RouteRequest};
use crate::model::when::{RouteCondition, WantedValue};
use crate::wildcard;

impl RouteCondition {
    /// Whether a request meets it.
    pub(super) fn is_met(&self, request: &RouteRequest<'_>) -> bool {
        let Circumstances { fields, address, listener, .. } = request.circumstances;
        match self {
            Self::Header { name, wanted } => {
                let values = fields.into_iter().flat_map(|fields| fields.iter());
                wanted.accepts(
                    values.filter_map(|(known, value)| {
                        known.eq_ignore_ascii_case(name).then_some(value)
                    }),
                )
            }
            Self::Query { name, wanted } => {
                // All of them: a condition that keeps requests out must see each. The head's bytes are bounded.
                let query = request.query.unwrap_or_default().as_bytes();
                let pairs = query_pairs(query, usize::MAX);
                wanted.accepts(
                    pairs
                        .filter_map(|(known, value)| (*known == *name.as_bytes()).then_some(value)),
                )
            }
            Self::Address(networks) => address.is_some_and(|address: IpAddr| {
                networks.iter().any(|network| network.contains(address))
            }),
            Self::Country { codes, map } => address
                .and_then(|address| map.of(address))
                .is_some_and(|country| codes.contains(&country)),
            Self::Listener(addresses) => {
                listener.is_some_and(|listener| addresses.contains(listener))
            }
        }
    }
}

impl WantedValue {
    /// Whether the values of one name are what is wanted: one of several is enough.
    fn accepts<B: AsRef<[u8]>>(&self, mut values: impl Iterator<Item = B>) -> bool {
        match self {
            Self::Present => values.next().is_some(),
            Self::Absent => values.next().is_none(),
            Self::Value(pattern) => values.any(|value| wildcard::fits(pattern, value.as_ref())),
        }
    }
}
