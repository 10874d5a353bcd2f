//! A rate of a limit, such as `"10/s"`: units in a time, and how many at once.
//!
//! Owns how it is written and read.

use std::fmt::Display;
use std::time::Duration;

use crate::item::Item;
use crate::key::show_text;
use crate::limits;
use crate::model::quotas::LimitRate;
use crate::quantity::parse_size;
use crate::value::{borrowed_text, cannot_be};

impl LimitRate {
    /// How many at once.
    #[must_use]
    pub fn burst(self) -> u64 {
        self.configured_burst.unwrap_or(self.units / self.window.as_secs()).max(1)
    }

    /// As it is written in the file, with its units in this form.
    pub(super) fn show(self, units: impl Display) -> String {
        let window = WINDOWS.into_iter().find(|(_, window)| *window == self.window);
        show_text(format_args!("{units}/{}", window.map_or("s", |(word, _)| word)))
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// Units of time in a rate.
const WINDOWS: [(&str, Duration); 4] = [
    ("s", SECOND),
    ("m", Duration::from_secs(60)),
    ("h", Duration::from_secs(3600)),
    ("d", Duration::from_secs(86_400)),
];

/// `"10/s"`: units, and the time in which they are given back.
fn rate(item: &Item<'_>, units: impl FnOnce(&str) -> Option<u64>) -> Result<LimitRate, String> {
    let text = borrowed_text(item, "a rate in quotes such as \"10/s\"")?;
    let read = text.rsplit_once('/').and_then(|(number, unit)| {
        let (_, window) = WINDOWS.into_iter().find(|(word, _)| *word == unit.trim())?;
        let units =
            units(number.trim()).filter(|units| (1..=limits::QUOTA_UNITS_MAX).contains(units))?;
        Some((units, window))
    });
    let (units, window) = read.ok_or_else(|| {
        cannot_be(item, text, "a rate is a number above zero, a slash and `s`, `m`, `h` or `d`")
    })?;
    Ok(LimitRate { units, window, configured_burst: None })
}

pub(super) fn rate_of_requests(item: &Item<'_>) -> Result<LimitRate, String> {
    rate(item, |digits| digits.parse().ok())
}

pub(super) fn rate_of_bytes(item: &Item<'_>) -> Result<LimitRate, String> {
    rate(item, |text| parse_size(text).ok())
}
