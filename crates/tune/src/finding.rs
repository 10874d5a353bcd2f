//! The finding of a check on a host.

/// How sure it is that something costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// Counters of this host show it.
    Seen,
    /// It is set so that it costs where the load is of that kind.
    Set,
}

/// What a check has found.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// Nothing that costs, and what was seen.
    Good(String),
    /// It costs: how sure that is, what was seen, and how much of the expected gain there is to have, from 0 to 1.
    Costs(Evidence, String, f64),
    /// This host has no such thing.
    NotHere(String),
    /// It cannot be judged, and why.
    Unknown(String),
}

impl Finding {
    /// It costs, as counters show.
    pub(crate) fn seen(text: impl Into<String>, share: f64) -> Self {
        Self::Costs(Evidence::Seen, text.into(), share.clamp(0.0, 1.0))
    }

    /// It is set so that it costs.
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

    /// What was seen, or why nothing was.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Good(text)
            | Self::Costs(_, text, _)
            | Self::NotHere(text)
            | Self::Unknown(text) => text,
        }
    }
}
