//! Numbers as short texts: counts, bytes, times, shares.
//!
//! Owns the units. Every text has at most seven characters, but those of times in days.

use live::{ColumnGrowth, ColumnUnit};

/// A number of things: `812`, `51.2k`, `3.40M`.
pub(crate) fn count(number: f64) -> String {
    let size = number.abs();
    match size {
        _ if size < 9.95 && number.fract() != 0.0 => format!("{number:.1}"),
        _ if size < 9_999.5 => format!("{number:.0}"),
        _ if size < 999_950.0 => format!("{:.1}k", number / 1e3),
        _ if size < 999_950_000.0 => format!("{:.1}M", number / 1e6),
        _ if size < 999_950_000_000.0 => format!("{:.1}G", number / 1e9),
        _ => format!("{:.1}T", number / 1e12),
    }
}

/// Bytes in powers of 1024: `812 B`, `51.2 K`, `3.4 M`.
pub(crate) fn bytes(number: f64) -> String {
    const UNITS: [&str; 6] = ["B", "K", "M", "G", "T", "P"];
    let mut left = number;
    let mut unit = 0;
    while left.abs() >= 999.5 && unit + 1 < UNITS.len() {
        left /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{left:.0} B"),
        _ => format!("{left:.1} {}", UNITS[unit]),
    }
}

/// A time, given in nanoseconds: `812 ns`, `51.2 us`, `3.4 ms`, `12.0 s`, `3.0 m`, `27.0 h`.
pub(crate) fn time_ns(number: f64) -> String {
    let size = number.abs();
    match size {
        _ if size == 0.0 => "0".to_owned(),
        _ if size < 999.5 => format!("{number:.0} ns"),
        _ if size < 999_950.0 => format!("{:.1} us", number / 1e3),
        _ if size < 999_950_000.0 => format!("{:.1} ms", number / 1e6),
        _ if size < 600e9 => format!("{:.1} s", number / 1e9),
        _ if size < 7_200e9 => format!("{:.0} m", number / 60e9),
        _ if size < 172_800e9 => format!("{:.1} h", number / 3_600e9),
        _ => format!("{:.1} d", number / 86_400e9),
    }
}

/// A share of the whole: `0.4%`, `61%`.
pub(crate) fn share(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 9.95 && percent != 0.0 {
        format!("{percent:.1}%")
    } else {
        format!("{percent:.0}%")
    }
}

/// The time since a start, in seconds: `12s`, `3m 4s`, `2h 1m`, `3d 4h`.
pub(crate) fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h {}m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{}d {}h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// A value of a column; one that counts is shown per second.
pub(crate) fn of_column(number: f64, unit: ColumnUnit, counts: ColumnGrowth) -> String {
    match (unit, counts) {
        (ColumnUnit::Bytes, _) => bytes(number),
        // Microseconds of each second are a share of it.
        (ColumnUnit::Microseconds, ColumnGrowth::Up) => share(number / 1e6),
        (ColumnUnit::Milliseconds, ColumnGrowth::Up) => share(number / 1e3),
        (ColumnUnit::Microseconds, ColumnGrowth::Now) => time_ns(number * 1e3),
        (ColumnUnit::Milliseconds, ColumnGrowth::Now) => time_ns(number * 1e6),
        (ColumnUnit::Percent, _) => share(number / 100.0),
        (ColumnUnit::Text | ColumnUnit::Count, _) => count(number),
    }
}

/// A change, with its sign: `+12`, `-3.4 M`; `=` for none.
pub(crate) fn change(difference: f64, shown: impl Fn(f64) -> String) -> String {
    let text = shown(difference.abs());
    match difference {
        _ if text == shown(0.0) => "=".to_owned(),
        _ if difference > 0.0 => format!("+{text}"),
        _ => format!("-{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let counts = [0.0, 0.5, 9.0, 812.0, 9_999.0, 51_200.0, 999_960.0, 3.4e9, 5e13];
        let shown = counts.map(count);
        assert_eq!(shown, ["0", "0.5", "9", "812", "9999", "51.2k", "1.0M", "3.4G", "50.0T"]);
        assert_eq!([0.0, 999.0, 1_000.0, 1.5e9].map(bytes), ["0 B", "999 B", "1.0 K", "1.4 G"]);
        let times = [0.0, 900.0, 1_500.0, 2.5e6, 3e9, 700e9, 9_000e9, 90_000e10];
        let shown = times.map(time_ns);
        assert_eq!(shown, ["0", "900 ns", "1.5 us", "2.5 ms", "3.0 s", "12 m", "2.5 h", "10.4 d"]);
        assert_eq!([0.0, 0.004, 0.61, 1.0].map(share), ["0%", "0.4%", "61%", "100%"]);
        assert_eq!([5, 65, 3_700, 273_600].map(age), ["5s", "1m 5s", "1h 1m", "3d 4h"]);
    }

    #[test]
    fn counter_is_shown_per_second_and_change_has_sign() {
        assert_eq!(of_column(10_000.0, ColumnUnit::Microseconds, ColumnGrowth::Up), "1.0%");
        assert_eq!(of_column(10_000.0, ColumnUnit::Microseconds, ColumnGrowth::Now), "10.0 ms");
        assert_eq!(of_column(250.0, ColumnUnit::Milliseconds, ColumnGrowth::Now), "250.0 ms");
        assert_eq!(of_column(50.0, ColumnUnit::Percent, ColumnGrowth::Now), "50%");
        assert_eq!([3.0, -2_048.0, 0.2].map(|by| change(by, bytes)), ["+3 B", "-2.0 K", "="]);
    }
}
