//! From URLs to targets and peers.
//!
//! Owns that a server named by several URLs is one peer, and that every URL is looked up once.

use super::address::{LoadAddress, LoadAddressError, Ownership, resolve};
use super::request::{Afterwards, PlannedRequest, RequestError};
use super::url::{LoadUrl, LoadUrlError};
use super::{LoadTarget, TargetServer};
use crate::limits::{TARGETS_MAX, WEIGHT_MAX};

/// An error in the URLs of a run.
#[derive(Debug, thiserror::Error)]
pub enum AimError {
    /// There is none.
    #[error("no URL is given; write http://HOST:PORT/PATH")]
    None,
    /// There are too many.
    #[error(
        "{0} URLs are more than a run has; give {TARGETS_MAX} at most, or vary one with {{{{random:A..B}}}}"
    )]
    TooMany(usize),
    /// There are weights, but not one for each URL.
    #[error("{weights} weights for {urls} URLs; give one for each URL, in their order")]
    WeightCount {
        /// Weights.
        weights: usize,
        /// URLs.
        urls: usize,
    },
    /// An invalid weight.
    #[error("{0} is not a weight; give one from 1 to {WEIGHT_MAX}")]
    Weight(u32),
    /// A URL without a character.
    #[error("a URL is empty; write http://HOST:PORT/PATH")]
    EmptyUrl,
    /// An invalid URL.
    #[error("{text}: {error}")]
    Url {
        /// As given.
        text: String,
        /// The error.
        error: LoadUrlError,
    },
    /// An address that may not be loaded.
    #[error("{0}")]
    Address(LoadAddressError),
    /// The request cannot be made for a URL.
    #[error("{text}: {error}")]
    Request {
        /// As given.
        text: String,
        /// The error.
        error: RequestError,
    },
}

/// The targets and servers of a run.
#[derive(Clone, Debug)]
pub struct Aim {
    /// One for each URL.
    pub targets: Vec<LoadTarget>,
    /// The different addresses.
    pub peers: Vec<TargetServer>,
}

impl Aim {
    /// Parses URLs, looks up their hosts and compiles the request for each. Without weights all have the same.
    ///
    /// # Errors
    /// The first error.
    pub fn at(
        urls: &[String],
        weights: &[u32],
        request: &PlannedRequest,
        ownership: Ownership,
    ) -> Result<Self, AimError> {
        if urls.is_empty() {
            return Err(AimError::None);
        }
        if urls.len() > TARGETS_MAX {
            return Err(AimError::TooMany(urls.len()));
        }
        if !weights.is_empty() && weights.len() != urls.len() {
            return Err(AimError::WeightCount { weights: weights.len(), urls: urls.len() });
        }
        if let Some(wrong) = weights.iter().find(|weight| !(1..=WEIGHT_MAX).contains(*weight)) {
            return Err(AimError::Weight(*wrong));
        }
        let mut aim = Self { targets: Vec::with_capacity(urls.len()), peers: Vec::new() };
        for (index, text) in urls.iter().enumerate() {
            let weight = weights.get(index).copied().unwrap_or(1);
            aim.add(text, weight, request, ownership)?;
        }
        Ok(aim)
    }

    fn add(
        &mut self,
        text: &str,
        weight: u32,
        request: &PlannedRequest,
        ownership: Ownership,
    ) -> Result<(), AimError> {
        if text.is_empty() {
            return Err(AimError::EmptyUrl);
        }
        let url: LoadUrl =
            text.parse().map_err(|error| AimError::Url { text: text.to_owned(), error })?;
        let compiled = |afterwards| {
            let wrong = |error| AimError::Request { text: text.to_owned(), error };
            request.compile(&url, afterwards).map_err(wrong)
        };
        let (first, last) = (compiled(Afterwards::Keep)?, compiled(Afterwards::Close)?);
        let name = url.server_name();
        let is_same = |known: &LoadUrl| known.place == url.place && known.scheme == url.scheme;
        let peer = match self.targets.iter().find(|target| is_same(&target.url)) {
            Some(target) => target.peer,
            None => self.peer_at(resolve(&url.place, ownership).map_err(AimError::Address)?, name),
        };
        self.peers[peer].weight += u64::from(weight);
        self.targets.push(LoadTarget {
            url,
            method: request.method.clone(),
            peer,
            weight,
            request: first,
            last_request: last,
            answer_body: request.answer_body(),
        });
        Ok(())
    }

    fn peer_at(&mut self, address: LoadAddress, server_name: Option<String>) -> usize {
        let is_same =
            |peer: &TargetServer| peer.address == address && peer.server_name == server_name;
        self.peers.iter().position(is_same).unwrap_or_else(|| {
            self.peers.push(TargetServer { address, server_name, weight: 0 });
            self.peers.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aim(urls: &[&str], weights: &[u32]) -> Result<Aim, AimError> {
        let urls: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
        Aim::at(&urls, weights, &PlannedRequest::default(), Ownership::Unsaid)
    }

    #[test]
    fn urls_of_one_server_are_one_peer() {
        let urls = ["http://127.0.0.1:1/a", "127.0.0.1:2", "127.0.0.1:1/b", "127.0.0.1:1/a"];
        let aim = aim(&urls, &[1, 2, 3, 4]).unwrap();
        let peers: Vec<(String, u64)> =
            aim.peers.iter().map(|peer| (peer.address.to_string(), peer.weight)).collect();
        assert_eq!(peers, [("127.0.0.1:1".to_owned(), 8), ("127.0.0.1:2".to_owned(), 2)]);
        let targets: Vec<(usize, u32)> =
            aim.targets.iter().map(|target| (target.peer, target.weight)).collect();
        assert_eq!(targets, [(0, 1), (1, 2), (0, 3), (0, 4)]);
    }

    #[test]
    fn invalid_aim_is_named() {
        for (urls, weights, expected) in [
            (&[][..], &[][..], "no URL is given"),
            (&["h", "http://a/#b"], &[], "http://a/#b: the part behind `#`"),
            (&["127.0.0.1"], &[1, 2], "2 weights for 1 URLs"),
            (&["127.0.0.1"], &[0], "0 is not a weight"),
            (&["127.0.0.1/{{x}}"], &[], "127.0.0.1/{{x}}: in the path: nothing is known"),
            (&["8.8.8.8/"], &[], "8.8.8.8:80 is outside this host"),
        ] {
            let urls: Vec<&str> =
                urls.iter().map(|url| if *url == "h" { "localhost" } else { *url }).collect();
            let error = aim(&urls, weights).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
