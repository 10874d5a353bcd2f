//! Sums of decimal numbers.
//!
//! Owns which texts are numbers with a fraction, and how a sum is written: as Redis does, with up to 17 digits after
//! the point and no zeros at the end. Sums of short numbers are exact (0.1 and 0.2 are 0.3), and so are those of
//! integers of up to 38 digits.

use crate::failure::Misuse;
use crate::limits::{DECIMAL_SIZE, NUMBER_SIZE};

/// Digits after the point of a sum.
const FRACTION: usize = 17;

/// Digits of a number that is added exactly. Its sum with another fits 128 bits.
const EXACT_DIGITS: usize = 36;

/// Adds two numbers.
///
/// # Errors
/// If one is not a number, or the sum is not finite.
pub(crate) fn sum(one: &[u8], other: &[u8]) -> Result<String, Misuse> {
    let (first, second) = (parse(one)?, parse(other)?);
    if !(first + second).is_finite() {
        return Err(Misuse::NotFinite);
    }
    let whole = |text| str::from_utf8(text).ok()?.parse::<i128>().ok();
    if let Some(sum) = whole(one).zip(whole(other)).and_then(|(one, other)| one.checked_add(other))
    {
        return Ok(sum.to_string());
    }
    let exact = exact(one).zip(exact(other)).and_then(|(one, other)| one.checked_add(other));
    Ok(match exact {
        Some(units) => {
            let one = 10_u128.pow(FRACTION as u32);
            let (whole, rest) = (units.unsigned_abs() / one, units.unsigned_abs() % one);
            let sign = if units < 0 { "-" } else { "" };
            trimmed(&format!("{sign}{whole}.{rest:0FRACTION$}"))
        }
        None => trimmed(&format!("{:.FRACTION$}", first + second)),
    })
}

fn parse(text: &[u8]) -> Result<f64, Misuse> {
    if text.len() > DECIMAL_SIZE {
        return Err(Misuse::NotAFloat);
    }
    let number: Option<f64> = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.filter(|number| !number.is_nan()).ok_or(Misuse::NotAFloat)
}

/// A number in units of its last digit; `None` if it has an exponent or too many digits.
fn exact(text: &[u8]) -> Option<i128> {
    let text = str::from_utf8(text).ok()?;
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fits = whole.len() + FRACTION <= EXACT_DIGITS && fraction.len() <= FRACTION;
    if !fits || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let units: i128 = format!("0{whole}{fraction:0<FRACTION$}").parse().ok()?;
    Some(sign * units)
}

/// Without the zeros at the end, and without a point that nothing follows.
fn trimmed(text: &str) -> String {
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// An integer as Redis accepts it: no plus sign, no leading zeros, no spaces.
pub(crate) fn whole_number(bytes: &[u8]) -> Option<i64> {
    if bytes.len() > NUMBER_SIZE {
        return None;
    }
    let number: i64 = str::from_utf8(bytes).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == bytes).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_written_as_redis_writes_them() {
        let cases = [
            ("0", "1.5", "1.5"),
            ("0.1", "0.2", "0.3"),
            ("10.50", "0.1", "10.6"),
            ("5.0e3", "200", "5200"),
            ("-1.5", "1.5", "0"),
            ("3", "-5.25", "-2.25"),
            ("+1", ".5", "1.5"),
            ("100", "0", "100"),
            ("0", "1e20", "100000000000000000000"),
            ("0.00000000000000001", "0", "0.00000000000000001"),
            ("9999999999999999999", "1", "10000000000000000000"),
            ("19223372036854775807", "7", "19223372036854775814"),
        ];
        for (one, other, expected) in cases {
            let sum = sum(one.as_bytes(), other.as_bytes());
            assert_eq!(sum.as_deref(), Ok(expected), "{one} {other}");
        }
    }

    #[test]
    fn a_text_that_is_no_number_is_not_added() {
        for text in ["", "x", " 1", "1 ", "nan", "1.5.5", "0x", "1\0"] {
            assert_eq!(sum(text.as_bytes(), b"1"), Err(Misuse::NotAFloat), "{text:?}");
            assert_eq!(sum(b"1", text.as_bytes()), Err(Misuse::NotAFloat), "{text:?}");
        }
        assert_eq!(sum(b"inf", b"1"), Err(Misuse::NotFinite));
        assert_eq!(sum(b"1.7e308", b"1.7e308"), Err(Misuse::NotFinite));
    }
}
