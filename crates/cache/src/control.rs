//! `Cache-Control` (RFC 9111 section 5.2): the directives of an answer and those of a request.
//!
//! Owns how the field is read, also where it is malformed: then the more careful meaning counts. Never decides.

use wire::http::head::Fields;

use crate::limits::SECONDS_MAX;

/// The directives of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// Section 5.2.2.5.
    pub no_store: bool,
    /// Section 5.2.2.4; also if it names fields.
    pub no_cache: bool,
    /// Section 5.2.2.7; also if it names fields.
    pub private: bool,
    /// Section 5.2.2.9.
    pub public: bool,
    /// Section 5.2.2.2.
    pub must_revalidate: bool,
    /// Section 5.2.2.8.
    pub proxy_revalidate: bool,
    /// Section 5.2.2.3.
    pub must_understand: bool,
    /// Section 5.2.2.1, in seconds.
    pub max_age: Option<u64>,
    /// Section 5.2.2.10, in seconds.
    pub s_maxage: Option<u64>,
    /// RFC 5861 section 3, in seconds.
    pub stale_while_revalidate: Option<u64>,
    /// RFC 5861 section 4, in seconds.
    pub stale_if_error: Option<u64>,
}

impl Control {
    /// The directives of an answer with these fields.
    pub fn of(fields: &Fields<'_, '_>) -> Self {
        let mut control = Self::default();
        for line in fields.all("cache-control") {
            for (name, argument) in (Directives { rest: line }) {
                control.take(name, argument);
            }
        }
        control
    }

    fn take(&mut self, name: &[u8], argument: Option<&[u8]>) {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        let number = match name.len() {
            8 if is("no-store") => return self.no_store = true,
            8 if is("no-cache") => return self.no_cache = true,
            7 if is("private") => return self.private = true,
            6 if is("public") => return self.public = true,
            15 if is("must-revalidate") => return self.must_revalidate = true,
            16 if is("proxy-revalidate") => return self.proxy_revalidate = true,
            15 if is("must-understand") => return self.must_understand = true,
            7 if is("max-age") => &mut self.max_age,
            8 if is("s-maxage") => &mut self.s_maxage,
            22 if is("stale-while-revalidate") => &mut self.stale_while_revalidate,
            14 if is("stale-if-error") => &mut self.stale_if_error,
            _ => return,
        };
        least(number, seconds(argument));
    }

    /// Whether an answer to a request with `Authorization` may be stored and used for others (section 3.5).
    pub fn is_for_all(&self) -> bool {
        self.public || self.must_revalidate || self.s_maxage.is_some()
    }
}

/// The directives of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Section 5.2.1.4.
    pub no_cache: bool,
    /// Section 5.2.1.5.
    pub no_store: bool,
    /// Section 5.2.1.7.
    pub only_if_cached: bool,
    /// Section 5.2.1.1, in seconds.
    pub max_age: Option<u64>,
    /// Section 5.2.1.3, in seconds.
    pub min_fresh: Option<u64>,
    /// Section 5.2.1.2, in seconds; without an argument any number.
    pub max_stale: Option<u64>,
}

impl Wishes {
    /// The directives of a request with these fields. `Pragma` counts if there is no `Cache-Control` (section 5.4).
    pub fn of(fields: &Fields<'_, '_>) -> Self {
        let mut wishes = Self::default();
        let mut lines = fields.all("cache-control").peekable();
        if lines.peek().is_none() {
            let mut pragmas = fields.all("pragma").flat_map(|line| Directives { rest: line });
            wishes.no_cache = pragmas.any(|(name, _)| name.eq_ignore_ascii_case(b"no-cache"));
        }
        for (name, argument) in lines.flat_map(|line| Directives { rest: line }) {
            wishes.take(name, argument);
        }
        wishes
    }

    fn take(&mut self, name: &[u8], argument: Option<&[u8]>) {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        match name.len() {
            8 if is("no-store") => self.no_store = true,
            8 if is("no-cache") => self.no_cache = true,
            14 if is("only-if-cached") => self.only_if_cached = true,
            7 if is("max-age") => least(&mut self.max_age, seconds(argument)),
            9 if is("max-stale") => {
                let most = if argument.is_none() { SECONDS_MAX } else { seconds(argument) };
                least(&mut self.max_stale, most);
            }
            9 if is("min-fresh") => {
                let least = seconds(argument);
                self.min_fresh = Some(self.min_fresh.map_or(least, |known| known.max(least)));
            }
            _ => {}
        }
    }
}

/// Of two values of a directive the smaller one counts (section 4.2.1).
fn least(place: &mut Option<u64>, value: u64) {
    *place = Some(place.map_or(value, |known| known.min(value)));
}

/// A number of seconds (section 1.2.2). One that cannot be read is 0, so that nothing is fresh by it.
pub(crate) fn seconds(argument: Option<&[u8]>) -> u64 {
    seconds_up_to(argument.unwrap_or_default(), SECONDS_MAX)
}

/// The same of digits, at most so many.
pub(crate) fn seconds_up_to(digits: &[u8], most: u64) -> u64 {
    let value = digits.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        Some(value.saturating_mul(10).saturating_add(digit))
    });
    value.unwrap_or(0).min(most)
}

/// The members of one line: names, and arguments without their quotation marks.
#[derive(Clone)]
struct Directives<'b> {
    rest: &'b [u8],
}

impl<'b> Iterator for Directives<'b> {
    type Item = (&'b [u8], Option<&'b [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let end = end_of_member(self.rest);
            let (member, rest) = self.rest.split_at(end);
            self.rest = rest.get(1..).unwrap_or_default();
            let member = member.trim_ascii();
            if member.is_empty() {
                continue;
            }
            let Some(at) = member.iter().position(|byte| *byte == b'=') else {
                return Some((member, None));
            };
            let (name, argument) = member.split_at(at);
            let argument = argument.get(1..).unwrap_or_default();
            let inner = argument.strip_prefix(b"\"").and_then(|it| it.strip_suffix(b"\""));
            return Some((name.trim_ascii(), Some(inner.unwrap_or(argument))));
        }
    }
}

/// Where the first member ends: at a comma that is not within quotation marks (RFC 9110 sections 5.6.1 and 5.6.4).
fn end_of_member(text: &[u8]) -> usize {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => return at,
            _ => {}
        }
    }
    text.len()
}
