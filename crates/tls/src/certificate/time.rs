//! The two forms of a time in a certificate (RFC 5280 section 4.1.2.5).

use jiff::civil::DateTime;
use jiff::tz::Offset;

use super::MalformedCertificate;
use super::der::{Element, GENERALIZED_TIME, UTC_TIME};

/// Seconds since 1970: `YYMMDDHHMMSSZ`, with years from 1950 to 2049, or `YYYYMMDDHHMMSSZ`.
pub(super) fn read(element: Element<'_>) -> Result<i64, MalformedCertificate> {
    let (year_digits, digits) = match element.tag {
        UTC_TIME => (2, element.body),
        GENERALIZED_TIME => (4, element.body),
        _ => return Err(MalformedCertificate),
    };
    let digits = digits.strip_suffix(b"Z").ok_or(MalformedCertificate)?;
    if digits.len() != year_digits + 10 {
        return Err(MalformedCertificate);
    }
    let (year, rest) = digits.split_at(year_digits);
    let year = match (year_digits, number(year)?) {
        (2, year) if year < 50 => 2000 + year,
        (2, year) => 1900 + year,
        (_, year) => year,
    };
    let mut fields = rest.chunks_exact(2).map(number);
    let mut field = || {
        let value = fields.next().ok_or(MalformedCertificate)??;
        i8::try_from(value).map_err(|_| MalformedCertificate)
    };
    let (month, day, hour, minute, second) = (field()?, field()?, field()?, field()?, field()?);
    let time = DateTime::new(year, month, day, hour, minute, second, 0)
        .map_err(|_| MalformedCertificate)?;
    let time = Offset::UTC.to_timestamp(time).map_err(|_| MalformedCertificate)?;
    Ok(time.as_second())
}

fn number(digits: &[u8]) -> Result<i16, MalformedCertificate> {
    digits.iter().try_fold(0_i16, |number, digit| {
        let digit =
            digit.is_ascii_digit().then(|| i16::from(digit - b'0')).ok_or(MalformedCertificate)?;
        Ok(number * 10 + digit)
    })
}
