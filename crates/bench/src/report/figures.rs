//! The format of figures.
//!
//! Owns digits, separators and units. Every figure except a plain count has its unit.

use std::fmt::{self, Write};

/// The column where the text of a line begins, after its name.
pub(in crate::report) const NAME_COLUMNS: usize = 12;

/// An integer with separators: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut written = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    written
}

/// A time with three significant digits and its unit: `812 ns`, `38.1 us`, `1.23 ms`, `12.3 s`.
pub fn duration(nanoseconds: f64) -> String {
    let units = [(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")];
    // 999.5 of a unit would be written as 1000 of it.
    let fitting = units.iter().find(|(size, _)| nanoseconds / size < 999.5);
    let (size, name) = fitting.unwrap_or(&(1e9, "s"));
    // The clock has whole nanoseconds, so a mean is not more exact.
    let value = if *name == "ns" { nanoseconds.round() } else { nanoseconds / size };
    let written = if *name == "ns" { format!("{value:.0}") } else { three_digits(value) };
    format!("{written} {name}")
}

/// A number of bytes with three significant digits and its unit, by 1000: `812 B`, `38.1 kB`, `1.23 MB`.
pub(in crate::report) fn bytes(bytes: f64) -> String {
    let units = [(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB")];
    let fitting = units.iter().find(|(size, _)| bytes / size < 999.5);
    let (size, name) = fitting.unwrap_or(&(1e9, "GB"));
    let written = if *name == "B" { format!("{bytes:.0}") } else { three_digits(bytes / size) };
    format!("{written} {name}")
}

/// A rate of events: with separators, and with decimals for small ones.
pub fn rate(per_second: f64) -> String {
    match per_second {
        0.0 => "0".to_owned(),
        0.0..99.95 => three_digits(per_second),
        _ => count(per_second.round() as u64),
    }
}

fn three_digits(value: f64) -> String {
    if value >= 99.95 {
        format!("{value:.0}")
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A share as a percentage: `97.3 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Begins a line of the report.
pub(in crate::report) fn name(out: &mut impl Write, name: &str) -> fmt::Result {
    write!(out, "{name:NAME_COLUMNS$}")
}

/// A number and what it counts: `1 run`, `2 runs`.
pub fn numbered(number: u64, noun: &str) -> String {
    numbered_plural(number, noun, "s")
}

pub(in crate::report) fn numbered_plural(number: u64, noun: &str, ending: &str) -> String {
    let ending = if number == 1 { "" } else { ending };
    format!("{} {noun}{ending}", count(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_separators() {
        let written = [0, 999, 1_000, 12_345, 1_234_567].map(count);
        assert_eq!(written, ["0", "999", "1,000", "12,345", "1,234,567"]);
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let times = [0.0, 812.4, 999.4, 999.5, 38_123.0, 99_949.0, 99_950.0, 999_499.0, 999_500.0];
        let written = times.map(duration);
        let expected = [
            "0 ns", "812 ns", "999 ns", "1.00 us", "38.1 us", "99.9 us", "100 us", "999 us",
            "1.00 ms",
        ];
        assert_eq!(written, expected);
        assert_eq!(duration(9_994_000.0), "9.99 ms");
        assert_eq!(duration(9_996_000.0), "10.0 ms");
        assert_eq!(duration(60e9), "60.0 s");
        assert_eq!(duration(86_400e9), "86400 s");
    }

    #[test]
    fn sizes_rates_and_shares_have_units_too() {
        assert_eq!(bytes(999.0), "999 B");
        assert_eq!(bytes(21_234_000.0), "21.2 MB");
        assert_eq!(bytes(5e12), "5000 GB");
        assert_eq!([0.5, 12.34, 99.96, 182_345.4].map(rate), ["0.50", "12.3", "100", "182,345"]);
        assert_eq!(percent(0.9734), "97.3 %");
    }
}
