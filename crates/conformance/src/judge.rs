//! Owns the verdict over one played case. Never talks to the server.

use crate::case::{Case, ConnectionAfter, ExpectedStatus};
use crate::connection::{End, Trouble};
use crate::escape::quote;
use crate::facts::Facts;
use crate::matchers;
use crate::play::{After, Played};

/// The expectation, and what came instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) expected: String,
    pub(crate) problem: String,
}

/// Whether the case passed.
pub(crate) fn judge(case: &Case, played: &Played, facts: &Facts) -> Result<(), Complaint> {
    let first = played.exchanges.first().map(|exchange| &exchange.response);
    for (index, expectation) in case.responses.iter().enumerate() {
        let position = format!("response {} of {}", index + 1, case.responses.len());
        let complaint = |problem: String| Complaint {
            expected: format!("{position}: {}", matchers::describe(expectation)),
            problem,
        };
        match played.exchanges.get(index) {
            Some(exchange) => {
                matchers::check(expectation, exchange, first, facts).map_err(complaint)?
            }
            None => {
                let closing = expectation.status.contains(&ExpectedStatus::Close)
                    || expectation.or.iter().any(|or| or.status.contains(&ExpectedStatus::Close));
                return match &played.trouble {
                    Some(Trouble::Ended(end)) if closing => {
                        judge_end(case.connection, &After::Closed(*end))
                    }
                    Some(trouble) => Err(complaint(trouble.to_string())),
                    None => Err(complaint("no response".to_owned())),
                };
            }
        }
    }
    if !played.surplus.is_empty() {
        return Err(Complaint {
            expected: format!("nothing after {} response(s)", case.responses.len()),
            problem: format!("more came: {}", quote(&played.surplus)),
        });
    }
    judge_end(case.connection, &played.after)
}

fn judge_end(expected: ConnectionAfter, after: &After) -> Result<(), Complaint> {
    let problem = match (expected, after) {
        (ConnectionAfter::Closed, After::Closed(_))
        | (ConnectionAfter::ClosedCleanly, After::Closed(End::Finished))
        | (
            ConnectionAfter::AsAnnounced | ConnectionAfter::KeptIfSaid,
            After::Closed(End::Finished) | After::Serving,
        )
        | (ConnectionAfter::Open, After::Serving)
        | (ConnectionAfter::AsAnnounced, After::NotServing(Trouble::Ended(_)))
        | (ConnectionAfter::Either, _) => return Ok(()),
        (_, After::Closed(End::Finished)) => "it was closed".to_owned(),
        (_, After::Closed(End::Reset)) => "it was reset".to_owned(),
        (_, After::Quiet) => "it stayed open".to_owned(),
        (_, After::Serving) => "it served one more request".to_owned(),
        (_, After::NotServing(trouble)) => format!("one more request on it: {trouble}"),
    };
    let expected = match expected {
        ConnectionAfter::Open => "the connection serves one more request",
        ConnectionAfter::Closed => "the connection is closed",
        ConnectionAfter::ClosedCleanly => "the connection is closed without a reset",
        ConnectionAfter::AsAnnounced => "the connection does what the response announced",
        ConnectionAfter::KeptIfSaid => {
            "the connection is kept if the response says keep-alive, and closed otherwise"
        }
        ConnectionAfter::Either => "the connection is open or closed",
    };
    Err(Complaint { expected: expected.to_owned(), problem })
}
