//! Owns the comparison of one response with one expectation. Never sees the connection.

use crate::case::{Expectation, ExpectedBody, ExpectedStatus, Interim};
use crate::connection::Exchange;
use crate::escape::quote;
use crate::facts::Facts;
use crate::formats::has_form;
use crate::multipart::{self, slice};
use crate::response::ParsedResponse;
use crate::template;

/// Whether the response is the expected one, or one of the other correct answers.
pub(crate) fn check(
    expectation: &Expectation,
    exchange: &Exchange,
    first: Option<&ParsedResponse>,
    facts: &Facts,
) -> Result<(), String> {
    let problem = match check_one(expectation, exchange, first, facts) {
        Ok(()) => return Ok(()),
        Err(problem) => problem,
    };
    let other = expectation.or.iter().any(|or| check_one(or, exchange, first, facts).is_ok());
    if other { Ok(()) } else { Err(problem) }
}

/// The expectation in one line.
pub(crate) fn describe(expectation: &Expectation) -> String {
    let mut text = describe_one(expectation);
    for or in &expectation.or {
        text.push_str(", or ");
        text.push_str(&describe_one(or));
    }
    text
}

fn describe_one(expectation: &Expectation) -> String {
    let status: Vec<String> = expectation.status.iter().map(ToString::to_string).collect();
    let mut text = format!("status {}", status.join(" or "));
    for name in &expectation.present {
        text.push_str(&format!(", {name}"));
    }
    for name in &expectation.absent {
        text.push_str(&format!(", no {name}"));
    }
    for (name, value) in expectation.equals.iter().chain(&expectation.contains) {
        text.push_str(&format!(", {name}: {value}"));
    }
    for (name, format) in &expectation.format {
        text.push_str(&format!(", {name} as {format:?}"));
    }
    for (name, value) in &expectation.lacks {
        text.push_str(&format!(", no '{value}' in {name}"));
    }
    for name in &expectation.same_as_first {
        text.push_str(&format!(", {name} as in the first response"));
    }
    for name in &expectation.differs_from_first {
        text.push_str(&format!(", {name} other than in the first response"));
    }
    if expectation.interim != Interim::Allowed {
        text.push_str(&format!(", interim responses {:?}", expectation.interim));
    }
    if let Some(body) = &expectation.body {
        text.push_str(&format!(", content {body:?}"));
    }
    text
}

fn check_one(
    expectation: &Expectation,
    exchange: &Exchange,
    first: Option<&ParsedResponse>,
    facts: &Facts,
) -> Result<(), String> {
    let response = &exchange.response;
    check_status(&expectation.status, response.status)?;
    check_interims(expectation.interim, &exchange.interims)?;
    check_fields(expectation, response, facts)?;
    check_against_first(expectation, response, first)?;
    match &expectation.body {
        None => Ok(()),
        Some(body) => check_body(body, response, facts),
    }
}

fn check_status(allowed: &[ExpectedStatus], status: u16) -> Result<(), String> {
    let fits = allowed.iter().any(|answer| match answer {
        ExpectedStatus::Status(allowed) => *allowed == status,
        ExpectedStatus::Class(class) => *class == status / 100,
        ExpectedStatus::Close => false,
    });
    if fits { Ok(()) } else { Err(format!("status {status}")) }
}

fn check_interims(expected: Interim, interims: &[ParsedResponse]) -> Result<(), String> {
    let statuses: Vec<u16> = interims.iter().map(|interim| interim.status).collect();
    let only_continue = statuses.iter().all(|status| *status == 100);
    let fits = match expected {
        Interim::Allowed => true,
        Interim::Forbidden => statuses.is_empty(),
        Interim::Continue => !statuses.is_empty() && only_continue,
        Interim::ContinueOnce => statuses == [100],
        Interim::ContinueOrNone => only_continue,
    };
    if fits { Ok(()) } else { Err(format!("interim responses {statuses:?}")) }
}

fn check_fields(
    expectation: &Expectation,
    response: &ParsedResponse,
    facts: &Facts,
) -> Result<(), String> {
    for name in &expectation.present {
        response.field(name).ok_or_else(|| format!("no {name}"))?;
    }
    for name in &expectation.absent {
        if let Some(value) = response.field(name) {
            return Err(format!("{name}: {}", quote(value)));
        }
    }
    for (name, wanted) in &expectation.equals {
        let wanted = template::expand(wanted, facts).map_err(|error| error.to_string())?;
        let value = response.field(name).ok_or_else(|| format!("no {name}"))?;
        if value != wanted {
            return Err(format!("{name}: {} instead of {}", quote(value), quote(&wanted)));
        }
    }
    for (name, member) in &expectation.contains {
        if !response.lists(name, member) {
            let values: Vec<String> = response.values(name).map(quote).collect();
            return Err(format!("no {member} in {name}: {}", values.join(", ")));
        }
    }
    for (name, text) in &expectation.lacks {
        for value in response.values(name) {
            if find(value, text.as_bytes()) {
                return Err(format!("'{text}' in {name}: {}", quote(value)));
            }
        }
    }
    for (name, format) in &expectation.format {
        for value in response.values(name) {
            if !has_form(value, *format, facts.host()) {
                return Err(format!("not a valid {name}: {}", quote(value)));
            }
        }
    }
    Ok(())
}

fn check_against_first(
    expectation: &Expectation,
    response: &ParsedResponse,
    first: Option<&ParsedResponse>,
) -> Result<(), String> {
    let Some(first) = first else { return Ok(()) };
    let show = |value: Option<&[u8]>| value.map_or_else(|| "absent".to_owned(), quote);
    for name in &expectation.same_as_first {
        let (before, now) = (first.field(name), response.field(name));
        if before != now {
            return Err(format!("{name} was {}, now {}", show(before), show(now)));
        }
    }
    for name in &expectation.differs_from_first {
        let (before, now) = (first.field(name), response.field(name));
        if before.is_some() && before == now {
            return Err(format!("{name} is {} again", show(now)));
        }
    }
    Ok(())
}

fn check_body(
    expected: &ExpectedBody,
    response: &ParsedResponse,
    facts: &Facts,
) -> Result<(), String> {
    let body = response.body.as_slice();
    let content =
        || facts.content().ok_or_else(|| "the content of the file is not known".to_owned());
    let wanted = match expected {
        ExpectedBody::Empty => Vec::new(),
        ExpectedBody::File => content()?.to_vec(),
        ExpectedBody::Slice(first, last) => slice(content()?, *first, *last)?.to_vec(),
        ExpectedBody::Tail(count) => {
            let content = content()?;
            let from = content.len().saturating_sub(usize::try_from(*count).unwrap_or(usize::MAX));
            content[from..].to_vec()
        }
        ExpectedBody::Is(text) => {
            template::expand(text, facts).map_err(|error| error.to_string())?
        }
        ExpectedBody::Lacks(text) if find(body, text.as_bytes()) => {
            return Err(format!("'{text}' in the content: {}", quote(body)));
        }
        ExpectedBody::Lacks(_) => return Ok(()),
        ExpectedBody::Multipart(ranges) => return multipart::check(response, ranges, content()?),
    };
    if body == wanted {
        return Ok(());
    }
    Err(format!("{} bytes of content instead of {}: {}", body.len(), wanted.len(), quote(body)))
}

fn find(bytes: &[u8], text: &[u8]) -> bool {
    !text.is_empty() && bytes.windows(text.len()).any(|window| window == text)
}
