//! The view of a scheduler for those who look: the times of requests, and one list of what it has.
//!
//! Owns what can be asked for ([`ViewRequest`]), and the shape of the part of the answer that only the scheduler knows.
//! `conn/look` and `site/shown` fill it, `admin/live` puts the parts of all schedulers together.

mod choice;
mod one;

use runtime::account::nanoseconds_of;

use live::{Info, LatencyFigures, List, LiveHistogram, TableRow};

pub(crate) use choice::Choice;
pub(crate) use one::{Id, info_of_row};

use crate::limits::LIVE_ROWS_MAX;

/// The things that a client of the admin service wants to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewRequest {
    /// The list, if one is wanted.
    pub list: Option<List>,
    /// The key of the column by which its rows are chosen; empty: that of the list.
    pub sort: String,
    /// Only rows with this text.
    pub filter: String,
    /// Only the row of this id.
    pub only: Option<String>,
    /// The number of rows.
    pub most: usize,
}

impl ViewRequest {
    /// Reads a query such as `list=connections&sort=cpu_us&most=50`.
    ///
    /// # Errors
    /// The word that is not understood, and what may stand in its place.
    pub fn parse(query: &str) -> Result<Self, String> {
        let mut wish = Self { most: 100, ..Self::default() };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "list" => {
                    let names = || List::ALL.map(List::name).join(", ");
                    let unknown = || format!("no list `{value}`; there are {}", names());
                    wish.list = Some(List::of_name(&value).ok_or_else(unknown)?);
                }
                "sort" => wish.sort = value.into_owned(),
                "filter" => wish.filter = value.into_owned(),
                "most" => {
                    let most = value.parse().ok().filter(|most| (1..=LIVE_ROWS_MAX).contains(most));
                    let wrong = || format!("`most={value}` is not 1 to {LIVE_ROWS_MAX}");
                    wish.most = most.ok_or_else(wrong)?;
                }
                other => {
                    return Err(format!(
                        "unknown `{other}`; there are list, sort, filter and most"
                    ));
                }
            }
        }
        Ok(wish)
    }
}

/// The answer of a scheduler.
#[derive(Clone, Debug, Default)]
pub struct LiveAnswer {
    /// The times of requests, by what was timed.
    pub times: Vec<LatencyFigures>,
    /// Rows of the list, if only the scheduler knows them.
    pub rows: Vec<TableRow>,
    /// Rows that were not chosen.
    pub left_out: u64,
    /// The longest run of one process since the last question.
    pub longest_run: Option<LongestRun>,
    /// The thing that was asked for, or what it was before it was ended.
    pub info: Option<Info>,
}

/// The longest run of one process for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongestRun {
    /// How long it took.
    pub us: u64,
    /// The kind of the process.
    pub kind: usize,
}

/// Times that were counted in ticks, as they are told.
pub(crate) fn latency(of: &str, name: &str, counted: &metric::Histogram) -> LatencyFigures {
    let buckets = counted.filled().map(|(most, count)| (nanoseconds_of(most), count));
    let times = LiveHistogram { sum_ns: nanoseconds_of(counted.sum()), buckets: buckets.collect() };
    LatencyFigures { of: of.to_owned(), name: name.to_owned(), times }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_or_refused_with_its_mend() {
        let wish = ViewRequest::parse("list=pages&sort=cpu_us&most=7&filter=a%20b").unwrap();
        assert_eq!(
            (wish.list, &*wish.sort, &*wish.filter, wish.most),
            (Some(List::Pages), "cpu_us", "a b", 7)
        );
        assert_eq!(ViewRequest::parse("").unwrap().list, None);
        for (query, told) in [
            ("list=dogs", "no list `dogs`; there are connections, "),
            ("most=0", "`most=0` is not 1 to "),
            ("most=x", "`most=x` is not 1 to "),
            ("colour=red", "unknown `colour`"),
        ] {
            let error = ViewRequest::parse(query).unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
    }
}
