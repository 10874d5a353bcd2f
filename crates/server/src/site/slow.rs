//! The log of slow requests: one line for each, with where its time went.
//!
//! Owns the line. Never measures: the library and the pages do.

use http::{Notes, ProxiedNotes, Request, SlowRequest};
use pages::Spent;
use runtime::diagnostic::{self, Level};
use wire::escape::escape_log;

use super::Site;
use crate::limits::SLOW_PATH_SIZE;

impl Site {
    /// A request took long.
    pub(super) fn write_slow(&mut self, request: &Request<'_>, slow: &SlowRequest<'_>) {
        let spent = self.pages.take_spent(slow.process, slow.began_ns);
        let Some(left_out) = self.slow_lines.admit(slow.began_ns + slow.took_ns) else { return };
        let mut line = line_of(request, slow, spent.as_deref());
        if left_out > 0 {
            line += &format!(" ({left_out} lines before it were left out)");
        }
        diagnostic::write(Level::Warn, format_args!("{line}"));
    }
}

fn line_of(request: &Request<'_>, slow: &SlowRequest<'_>, spent: Option<&Spent>) -> String {
    let SlowRequest { status, took_ns, notes, .. } = slow;
    let (path, _) = request.head.split_target();
    let mut shown = Vec::new();
    escape_log(&mut shown, &path[..path.len().min(SLOW_PATH_SIZE)]);
    let parts = parts_of(slow, spent);
    format!(
        "slow request {}: {} {} {}, route {}, {} ms: {}",
        request.id(),
        request.method().as_str(),
        String::from_utf8_lossy(&shown),
        status.code(),
        named(notes),
        ms(*took_ns),
        parts.join(", "),
    )
}

fn named(notes: &Notes) -> &str {
    if notes.route.is_empty() { "-" } else { &notes.route }
}

/// Where its time went, in the order in which it was spent as far as that is known. What is in no part is the rest.
fn parts_of(slow: &SlowRequest<'_>, spent: Option<&Spent>) -> Vec<String> {
    let mut known: Vec<(String, u64)> = Vec::new();
    if let Some(spent) = spent {
        let queued_ns = spent.began_ns.saturating_sub(slow.began_ns);
        known.push(("before the page began".to_owned(), queued_ns));
        known.push(("page".to_owned(), spent.ran_ns));
        let waits = spent.waits.iter().map(|(name, ns)| (format!("waiting for {name}"), *ns));
        known.extend(waits);
    } else if let Some(passed_on) = &slow.notes.passed_on {
        known.extend(parts_passed_on(slow, passed_on));
    }
    let sum_ns = known.iter().map(|(_, ns)| ns).sum();
    known.push(("rest".to_owned(), slow.took_ns.saturating_sub(sum_ns)));
    known.iter().map(|(name, ns)| format!("{name} {}", ms(*ns))).collect()
}

fn parts_passed_on(slow: &SlowRequest<'_>, passed_on: &ProxiedNotes) -> Vec<(String, u64)> {
    let ProxiedNotes { upstream, began_ns, ended_ns, .. } = passed_on;
    let end_ns = ended_ns.unwrap_or(slow.began_ns + slow.took_ns);
    let server_ns = end_ns.saturating_sub(*began_ns);
    vec![
        ("before it was passed on".to_owned(), began_ns.saturating_sub(slow.began_ns)),
        (format!("upstream {upstream}"), server_ns),
    ]
}

/// Milliseconds with a digit behind the point.
fn ms(ns: u64) -> String {
    format!("{}.{}", ns / 1_000_000, ns / 100_000 % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_time_add_up() {
        let ms = 1_000_000;
        let notes = Notes::default();
        let status = wire::http::status::Status::OK;
        let process = runtime::slots::ProcessId::from_bits(1);
        let slow =
            SlowRequest { process, status, began_ns: 100 * ms, took_ns: 60 * ms, notes: &notes };
        let waits = vec![("the store", 30 * ms)];
        let mut spent = Spent::default();
        (spent.began_ns, spent.ran_ns, spent.waits) = (105 * ms, 20 * ms, waits);
        let parts = parts_of(&slow, Some(&spent));
        let expected =
            ["before the page began 5.0", "page 20.0", "waiting for the store 30.0", "rest 5.0"];
        assert_eq!(parts, expected);
        let passed_on = ProxiedNotes {
            upstream: "api".to_owned(),
            began_ns: 101 * ms,
            ended_ns: Some(151 * ms),
            ..ProxiedNotes::default()
        };
        let mut notes = Notes::default();
        notes.passed_on = Some(passed_on);
        let parts = parts_of(&SlowRequest { notes: &notes, ..slow }, None);
        assert_eq!(parts, ["before it was passed on 1.0", "upstream api 50.0", "rest 9.0"]);
    }
}
