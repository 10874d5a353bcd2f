//! A trace that somebody asks for, as the query of `POST /trace` says it.
//!
//! Owns its bounds, and what is told about a wish that is none.

use live::TraceBegun;
use runtime::mailbox::Endpoint;
use runtime::trace::{ContentShown, TraceCommand, TracePattern, TracedKind};

use crate::limits::{TRACE_PATTERN_BYTES, TRACE_RATE_MAX, TRACE_SECONDS_MAX};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TraceWish {
    kind: TracedKind,
    pattern: String,
    per_second: u32,
    seconds: u64,
    content: ContentShown,
}

impl TraceWish {
    /// Reads a query such as `what=url&pattern=/api/*&max=100&for=30`.
    ///
    /// # Errors
    /// The word that is not understood, and what may stand in its place.
    pub(super) fn parse(query: &str) -> Result<Self, String> {
        let mut wish = Self {
            kind: TracedKind::Url,
            pattern: String::new(),
            per_second: 100,
            seconds: 30,
            content: ContentShown::LeftOut,
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "what" => {
                    let found = TracedKind::ALL.iter().find(|(name, _)| *name == value);
                    let names = TracedKind::ALL.map(|(name, _)| name).join(", ");
                    let unknown = || format!("nothing is called `{value}`; there are {names}");
                    wish.kind = found.ok_or_else(unknown)?.1;
                }
                "pattern" if value.len() <= TRACE_PATTERN_BYTES => {
                    wish.pattern = value.into_owned();
                }
                "pattern" => {
                    return Err(format!("the pattern is longer than {TRACE_PATTERN_BYTES} bytes"));
                }
                "max" => {
                    let most =
                        value.parse().ok().filter(|most| (1..=TRACE_RATE_MAX).contains(most));
                    let wrong = || format!("`max={value}` is not 1 to {TRACE_RATE_MAX} per second");
                    wish.per_second = most.ok_or_else(wrong)?;
                }
                "for" => {
                    let seconds =
                        value.parse().ok().filter(|time| (1..=TRACE_SECONDS_MAX).contains(time));
                    let wrong = || format!("`for={value}` is not 1 to {TRACE_SECONDS_MAX} seconds");
                    wish.seconds = seconds.ok_or_else(wrong)?;
                }
                "content" if value == "yes" => wish.content = ContentShown::Shown,
                "content" if value == "no" => wish.content = ContentShown::LeftOut,
                other => {
                    return Err(format!(
                        "unknown `{other}={value}`; there are what, pattern, max, for and content=yes"
                    ));
                }
            }
        }
        if wish.pattern.is_empty() {
            return Err("the pattern is missing; `*` means all".to_owned());
        }
        match wish.kind {
            TracedKind::Url => check_url(&wish.pattern).map(|()| wish),
            _ => Ok(wish),
        }
    }

    /// Its subject.
    pub(super) fn about(&self) -> String {
        format!("{} {}", self.kind.name(), self.pattern)
    }

    /// The first line of its answer, which says what was understood.
    pub(super) fn begun(&self, schedulers: usize, at_ms: u64) -> TraceBegun {
        TraceBegun {
            what: self.kind.name().to_owned(),
            pattern: self.pattern.clone(),
            most_per_second: self.per_second,
            seconds: self.seconds,
            at_ms,
            schedulers,
        }
    }

    /// The order to each of so many schedulers, which share the rate.
    pub(super) fn order(
        &self,
        number: u64,
        schedulers: usize,
        to: Endpoint,
        now_ns: u64,
    ) -> TraceCommand {
        let among = u32::try_from(schedulers).unwrap_or(u32::MAX).max(1);
        TraceCommand {
            number,
            to,
            kind: self.kind,
            pattern: TracePattern::new(&self.pattern),
            per_second: (self.per_second / among).max(1),
            until_ns: now_ns.saturating_add(self.seconds.saturating_mul(1_000_000_000)),
            content: self.content,
        }
    }
}

/// Refuses a pattern that no host and path can fit, so that nobody waits for what never comes.
fn check_url(pattern: &str) -> Result<(), String> {
    let mend = "write a path such as `/api/*`, or a host with a path such as `example.org/*`";
    let wrong = if pattern.contains("://") {
        "has a scheme"
    } else if pattern.contains(['?', '#']) {
        "has a query: requests are told apart by host and path"
    } else if !pattern.contains(['/', '*']) {
        "has no path"
    } else {
        return Ok(());
    };
    Err(format!("the pattern `{pattern}` {wrong}; {mend}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_read_or_refused_with_its_mend() {
        let wish = TraceWish::parse("what=channel&pattern=news.*&max=7&for=2&content=yes").unwrap();
        let read = (wish.kind, &*wish.pattern, wish.per_second, wish.seconds, wish.content);
        assert_eq!(read, (TracedKind::Channel, "news.*", 7, 2, ContentShown::Shown));
        for (query, told) in [
            ("what=dog&pattern=*", "nothing is called `dog`; there are conn, url, "),
            ("", "the pattern is missing"),
            ("pattern=example.org", "the pattern `example.org` has no path; write a path such as"),
            ("pattern=/a?b=1", "the pattern `/a?b=1` has a query: "),
            ("pattern=http://a/*", "the pattern `http://a/*` has a scheme; "),
            ("pattern=*&max=0", "`max=0` is not 1 to 1000 per second"),
            ("pattern=*&max=1001", "`max=1001` is not"),
            ("pattern=*&for=601", "`for=601` is not 1 to 600 seconds"),
            ("pattern=*&content=maybe", "unknown `content=maybe`"),
            (&format!("pattern={}", "x".repeat(1_025)), "the pattern is longer than 1024 bytes"),
        ] {
            let error = TraceWish::parse(query).unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
    }
}
