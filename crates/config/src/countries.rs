//! The country of an address: the file of the key `countries`, with networks and their countries.
//!
//! Owns the form of a row, and the lookup in a sorted list. Never reads the file: [`Outside`](crate::Outside) does.

use std::fmt;
use std::net::IpAddr;

use wire::network::Network;

use crate::limits::{COUNTRY_ROWS_MAX, MAP_PROBLEMS_MAX};
use crate::separated::rows;
use crate::wording::shown;

/// A country by its two letters (ISO 3166-1), in upper case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Country([u8; 2]);

impl Country {
    /// Two letters in any case.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let letters: [u8; 2] = text.as_bytes().try_into().ok()?;
        let is_code = letters.iter().all(u8::is_ascii_alphabetic);
        is_code.then(|| Self(letters.map(|letter| letter.to_ascii_uppercase())))
    }
}

impl fmt::Display for Country {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|letter| write!(out, "{}", char::from(*letter)))
    }
}

/// The countries of all addresses.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Countries {
    /// Where a part begins and what it is; ascending. A part ends where the next begins.
    parts: Vec<(u128, Option<Country>)>,
}

/// Addresses from the first to the last.
struct Span {
    first: u128,
    last: u128,
    country: Option<Country>,
}

impl Countries {
    /// The country of an address, if the file has it.
    pub fn of(&self, address: IpAddr) -> Option<Country> {
        let number = number(address);
        let after = self.parts.partition_point(|(first, _)| *first <= number);
        self.parts.get(after.checked_sub(1)?)?.1
    }

    /// Reads rows `network,country` or `first,last,country`; the smallest network that contains an address decides.
    ///
    /// # Errors
    /// Each mistake in the file, with its line.
    pub(super) fn parse(text: &str) -> Result<Self, Vec<String>> {
        let mut spans: Vec<Span> = Vec::new();
        let mut problems = Vec::new();
        for row in rows(text) {
            let read = row
                .map_err(|line| (line, "the quotes of this row do not match".to_owned()))
                .and_then(|row| match spans.len() {
                    COUNTRY_ROWS_MAX => {
                        Err((row.line, format!("there are more than {COUNTRY_ROWS_MAX} rows")))
                    }
                    _ => span(&row.fields).map_err(|why| (row.line, why)),
                });
            match read {
                Ok(span) => spans.push(span),
                Err((line, why)) => problems.push(format!("line {line}: {why}")),
            }
            if problems.len() == MAP_PROBLEMS_MAX {
                problems.push("and perhaps more".to_owned());
                break;
            }
        }
        if problems.is_empty() { Ok(Self::of_spans(spans)) } else { Err(problems) }
    }

    /// Spans within others cut these; of two that overlap otherwise, the one that begins later has the common part.
    fn of_spans(mut spans: Vec<Span>) -> Self {
        spans.sort_by(|one, other| {
            one.first.cmp(&other.first).then_with(|| other.last.cmp(&one.last))
        });
        let mut countries = Self::default();
        let mut open: Vec<(u128, Option<Country>)> = Vec::new();
        for span in spans {
            countries.close_before(&mut open, Some(span.first));
            countries.begin(span.first, span.country);
            open.push((span.last, span.country));
        }
        countries.close_before(&mut open, None);
        countries
    }

    /// Ends the spans that end before `next`, or all.
    fn close_before(&mut self, open: &mut Vec<(u128, Option<Country>)>, next: Option<u128>) {
        while let Some(&(last, _)) = open.last() {
            if next.is_some_and(|next| last >= next) {
                return;
            }
            open.pop();
            // One that ended inside the other already is over.
            while open.last().is_some_and(|(outer, _)| *outer <= last) {
                open.pop();
            }
            if let Some(behind) = last.checked_add(1) {
                self.begin(behind, open.last().and_then(|(_, country)| *country));
            }
        }
    }

    fn begin(&mut self, first: u128, country: Option<Country>) {
        match self.parts.last_mut() {
            Some(part) if part.0 == first => part.1 = country,
            _ => self.parts.push((first, country)),
        }
    }
}

/// IPv4 and IPv6 in one order: RFC 4291 section 2.5.5.2 has a place for the former in the latter.
fn number(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn span(fields: &[impl AsRef<str>]) -> Result<Span, String> {
    let address = |text: &str| {
        text.parse::<IpAddr>().map_err(|_| format!("`{}` is not an address", shown(text)))
    };
    let (first, last, country) = match fields {
        [network, country] => {
            let network = network.as_ref();
            let network: Network =
                network.parse().map_err(|error| format!("`{}`: {error}", shown(network)))?;
            (network.first(), network.last(), country)
        }
        [first, last, country] => (address(first.as_ref())?, address(last.as_ref())?, country),
        _ => return Err("write `network,country` or `first,last,country`".to_owned()),
    };
    if first.is_ipv4() != last.is_ipv4() || first > last {
        return Err("the first address is behind the last".to_owned());
    }
    let country = match country.as_ref() {
        // Many such files have a row for addresses that are in no country.
        "" | "-" => None,
        text => Some(
            Country::parse(text)
                .ok_or_else(|| format!("`{}` is not a country of two letters", shown(text)))?,
        ),
    };
    Ok(Span { first: number(first), last: number(last), country })
}
