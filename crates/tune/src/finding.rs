//! The finding of a check on a host.

/// The evidence that something costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// Counters of this host show it.
    Seen,
    /// The setting costs under a load of that kind.
    Set,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// Nothing that costs, and what was seen.
    Good(String),
    /// It costs: the evidence, what was seen, and which part of the expected gain is possible here, from 0 to 1.
    Costs(Evidence, String, f64),
    /// This host does not have the subject of the check.
    NotHere(String),
    /// It cannot be judged: the reason.
    Unknown(String),
}

impl Finding {
    /// It costs, as counters show.
    pub(crate) fn seen(text: impl Into<String>, share: f64) -> Self {
        Self::Costs(Evidence::Seen, text.into(), share.clamp(0.0, 1.0))
    }

    /// The setting may cost.
    pub(crate) fn set(text: impl Into<String>, share: f64) -> Self {
        Self::Costs(Evidence::Set, text.into(), share.clamp(0.0, 1.0))
    }

    pub(crate) fn good(text: impl Into<String>) -> Self {
        Self::Good(text.into())
    }

    pub(crate) fn unknown(text: impl Into<String>) -> Self {
        Self::Unknown(text.into())
    }

    pub(crate) fn not_here(text: impl Into<String>) -> Self {
        Self::NotHere(text.into())
    }

    /// What was seen, or the reason why nothing was.
    pub fn text(&self) -> &str {
        match self {
            Self::Good(text)
            | Self::Costs(_, text, _)
            | Self::NotHere(text)
            | Self::Unknown(text) => text,
        }
    }
}
