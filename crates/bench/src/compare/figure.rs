//! The figures that are compared.

use std::fmt;

use crate::report::{Percentile, PlanReport, RunReport};

/// A figure that every run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Answered requests a second.
    Rate,
    /// A percentile of the service times.
    Service(Percentile),
    /// A percentile of the response times.
    Response(Percentile),
    /// A percentile of the times of TLS handshakes.
    Handshake(Percentile),
    /// The server's CPU time for each request.
    ServerCpu,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Better {
    More,
    Less,
}

/// The percentiles that are compared.
const PERCENTILES: [Percentile; 4] =
    [Percentile::P50, Percentile::P90, Percentile::P99, Percentile::P999];

impl Figure {
    /// All figures.
    pub fn all() -> impl Iterator<Item = Figure> {
        let service = PERCENTILES.into_iter().map(Figure::Service);
        let response = PERCENTILES.into_iter().map(Figure::Response);
        let handshake = [Percentile::P50, Percentile::P99].map(Figure::Handshake);
        let first = [Figure::Rate, Figure::ServerCpu].into_iter();
        first.chain(service).chain(response).chain(handshake)
    }

    /// The figure of a run; none where the server cannot be seen, or where no handshake was made.
    pub fn of(self, run: &RunReport) -> Option<f64> {
        match self {
            Self::Rate => Some(run.rate_per_s),
            Self::Service(percentile) => Some(percentile.of(&run.service) as f64),
            Self::Response(percentile) => Some(percentile.of(&run.response) as f64),
            Self::Handshake(percentile) => {
                let handshake = &run.tls.as_ref()?.handshake;
                (handshake.count > 0).then(|| percentile.of(handshake) as f64)
            }
            Self::ServerCpu => run.server.as_ref()?.cpu_per_request_ns,
        }
    }

    pub(super) fn better(self) -> Better {
        match self {
            Self::Rate => Better::More,
            Self::Service(_) | Self::Response(_) | Self::Handshake(_) | Self::ServerCpu => {
                Better::Less
            }
        }
    }

    /// Whether the overall verdict uses it: the rate, and the times that include waiting. In a closed loop service and
    /// response times are the same, and one of them is enough. Handshakes are in the rate and the response times if
    /// each connection carries few requests, and otherwise happen before the run.
    pub(super) fn is_judged(self, plan: &PlanReport) -> bool {
        match self {
            Self::Rate | Self::ServerCpu => true,
            Self::Service(_) => plan.rate_from_per_s.is_none(),
            Self::Response(_) => plan.rate_from_per_s.is_some(),
            Self::Handshake(_) => false,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate => formatter.pad("rate"),
            Self::ServerCpu => formatter.pad("server CPU"),
            Self::Service(percentile) => formatter.pad(&format!("service {percentile}")),
            Self::Handshake(percentile) => formatter.pad(&format!("handshake {percentile}")),
            Self::Response(percentile) => formatter.pad(&format!("response {percentile}")),
        }
    }
}
