//! The finding of a check on a host.

/// The evidence that something costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// Counters of this host show it.
    Seen,
    /// The setting costs under a load of that kind.
    Set,
}

/// A price in percent, from the least to the most that is likely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent {
    /// At least this.
    pub low: f64,
    /// At most this.
    pub high: f64,
}

impl Percent {
    /// A range; both ends are kept within 0 to 100.
    pub fn between(low: f64, high: f64) -> Self {
        let within = |percent: f64| if percent.is_nan() { 0.0 } else { percent.clamp(0.0, 100.0) };
        let (low, high) = (within(low), within(high));
        Self { low: low.min(high), high: low.max(high) }
    }

    /// Its middle.
    pub fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }
}

/// How a price is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Price {
    /// A published constant: this share of the expected gain, from 0 to 1.
    Published(f64),
    /// Counts of this host, multiplied by what one of them costs elsewhere.
    Scaled(Percent),
    /// Time that this host has counted.
    Measured(Percent),
}

impl Price {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published(_) => "published",
            Self::Scaled(_) => "scaled",
            Self::Measured(_) => "measured",
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// Nothing that costs, and what was seen.
    Good(String),
    /// It costs: the evidence, what was seen, and its price.
    Costs(Evidence, String, Price),
    /// This host does not have the subject of the check.
    NotHere(String),
    /// It cannot be judged: the reason.
    Unknown(String),
}

/// How a check ends: as an error where the host does not have its subject, or a fact that it needs is not known.
pub type Judged = Result<Finding, Finding>;

impl Finding {
    /// It costs, as counters show.
    pub(crate) fn seen(text: impl Into<String>, share: f64) -> Judged {
        Ok(Self::Costs(Evidence::Seen, text.into(), Price::Published(share.clamp(0.0, 1.0))))
    }

    /// The setting may cost.
    pub(crate) fn set(text: impl Into<String>, share: f64) -> Judged {
        Ok(Self::Costs(Evidence::Set, text.into(), Price::Published(share.clamp(0.0, 1.0))))
    }

    /// It costs as much as this host has counted.
    pub(crate) fn measured(text: impl Into<String>, price: Percent) -> Judged {
        Ok(Self::Costs(Evidence::Seen, text.into(), Price::Measured(price)))
    }

    /// It costs as much as its counts, multiplied by what one costs elsewhere.
    pub(crate) fn scaled(text: impl Into<String>, price: Percent) -> Judged {
        Ok(Self::Costs(Evidence::Seen, text.into(), Price::Scaled(price)))
    }

    pub(crate) fn good(text: impl Into<String>) -> Judged {
        Ok(Self::Good(text.into()))
    }

    pub(crate) fn unknown<T>(text: impl Into<String>) -> Result<T, Self> {
        Err(Self::Unknown(text.into()))
    }

    pub(crate) fn not_here<T>(text: impl Into<String>) -> Result<T, Self> {
        Err(Self::NotHere(text.into()))
    }

    /// A fact that a check needs; `otherwise` says that it is not known.
    pub(crate) fn known<T>(fact: Option<T>, otherwise: &str) -> Result<T, Self> {
        fact.ok_or_else(|| Self::Unknown(otherwise.to_owned()))
    }

    /// The observation, or the reason why there is none.
    pub fn text(&self) -> &str {
        match self {
            Self::Good(text)
            | Self::Costs(_, text, _)
            | Self::NotHere(text)
            | Self::Unknown(text) => text,
        }
    }
}
