//! The tables of a page: times, requests, runs, processors.
//!
//! Owns their rows and columns. Figures are those of the report, in the same format as in its text.

use super::page::HtmlPage;
use crate::report::encryption::sum_faults;
use crate::report::figures::{bytes, count, duration, percent, rate};
use crate::report::run::{LatencyReport, RunReport};
use crate::report::schema::Report;
use crate::report::summary::LatencySummary;
use crate::report::text::encryption::NOT_CHECKED;
use crate::report::text::median_run;
use crate::report::text::table::{COLUMNS, figures, spreads};
use crate::tally::FailureKind;

/// A table with a name for each row in its first column.
pub fn write(page: &mut HtmlPage, columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    page.element("div", &[("class", &"wide")], |page| {
        page.element("table", &[], |page| {
            page.element("thead", &[], |page| {
                page.element("tr", &[], |page| {
                    columns.iter().for_each(|name| page.leaf("th", &[("scope", &"col")], name));
                });
            });
            page.element("tbody", &[], |page| {
                rows.into_iter().for_each(|cells| write_row(page, &cells));
            });
        });
    });
}

fn write_row(page: &mut HtmlPage, cells: &[String]) {
    page.element("tr", &[], |page| {
        for (at, cell) in cells.iter().enumerate() {
            match at {
                0 => page.leaf("th", &[("scope", &"row")], cell),
                _ => page.leaf("td", &[], cell),
            }
        }
    });
}

fn row(name: &str, cells: impl IntoIterator<Item = String>) -> Vec<String> {
    [name.to_owned()].into_iter().chain(cells).collect()
}

/// Times by percentile: medians of all runs with their spread, connects and lateness from the median run.
pub(super) fn write_times(report: &Report, page: &mut HtmlPage) {
    let Some((summary, run)) = report.summary.as_ref().zip(median_run(report)) else { return };
    let mut rows = Vec::new();
    let mut summarised = |name: &str, summary: &LatencySummary| {
        let spreads = spreads(summary);
        rows.push(row(name, spreads.map(|spread| duration(spread.median))));
        if report.runs.len() > 1 {
            rows.push(row("spread of the runs", spreads.map(|spread| percent(spread.spread))));
        }
    };
    // Without an answer there is no time, and 0 ns would be one.
    if report.runs.iter().any(|run| run.service.count > 0) {
        summarised("service time", &summary.service);
        if report.plan.rate_from_per_s.is_some() {
            summarised("response time", &summary.response);
        }
    }
    let single = |name, latency: &LatencyReport| {
        (latency.count > 0).then(|| row(name, figures(latency).map(duration)))
    };
    rows.extend(single("connect time", &run.connect));
    rows.extend(run.tls.as_ref().and_then(|tls| single("handshake time", &tls.handshake)));
    rows.extend(single("sent late", &run.late));
    let columns: Vec<&str> = [""].into_iter().chain(COLUMNS).collect();
    write(page, &columns, rows);
}

/// The results of requests and connections, run by run.
pub(super) fn write_runs(report: &Report, page: &mut HtmlPage) {
    let mut columns = vec!["run", "answered/s", "p50", "p99", "asked", "sent", "answered"];
    columns.extend(report.plan.failure_kinds().map(FailureKind::name));
    let rows = report.runs.iter().enumerate().map(|(at, run)| {
        let requests = &run.requests;
        let of_answers = |time_ns: u64| or_dash((requests.answered > 0).then_some(time_ns as f64));
        let times = [run.response.p50_ns, run.response.p99_ns].map(of_answers);
        let counts = [requests.asked, requests.sent, requests.answered].map(count);
        let failed = report.plan.failure_kinds().map(|kind| count(requests.failed_by.of(kind)));
        let cells = [rate(run.rate_per_s)].into_iter().chain(times).chain(counts).chain(failed);
        row(&(at + 1).to_string(), cells)
    });
    write(page, &columns, rows);
    let columns =
        ["run", "connections asked", "open", "opened", "refused", "closed", "read", "written"];
    let rows = report.runs.iter().enumerate().map(|(at, run)| {
        let of = &run.connections;
        let counts = [of.asked, of.open, of.opened, of.refused, of.closed].map(count);
        let sizes = [run.bytes.read, run.bytes.written].map(|size| bytes(size as f64));
        row(&(at + 1).to_string(), counts.into_iter().chain(sizes))
    });
    write(page, &columns, rows);
}

/// Handshakes run by run, what was agreed on, and the causes of failures.
pub(super) fn write_encryption(report: &Report, page: &mut HtmlPage) {
    let columns = ["run", "full handshakes", "resumed", "share resumed", "failed"];
    let of_run = |(at, run): (usize, &RunReport)| {
        let tls = run.tls.as_ref()?;
        let cells = [count(tls.full), count(tls.resumed), percent(tls.resumed_share())];
        let failed = count(tls.failures());
        Some(row(&(at + 1).to_string(), cells.into_iter().chain([failed])))
    };
    write(page, &columns, report.runs.iter().enumerate().filter_map(of_run));
    let is_insecure = report.plan.tls.as_ref().is_some_and(|tls| tls.insecure);
    let agreements = median_run(report).and_then(|run| run.tls.as_ref());
    let rows = agreements.iter().flat_map(|tls| &tls.agreements).map(|agreement| {
        let certificate = match &agreement.certificate {
            Some(certificate) if is_insecure => {
                format!("{}, {NOT_CHECKED}", certificate.words(report.begun_unix_s))
            }
            Some(certificate) => certificate.words(report.begun_unix_s),
            None => "-".to_owned(),
        };
        row(&agreement.words(), [count(agreement.connections), certificate])
    });
    write(page, &["agreed on", "connections", "certificate"], rows);
    let faults = sum_faults(report.runs.iter().filter_map(|run| run.tls.as_ref()));
    let failed: Vec<_> = faults
        .into_iter()
        .map(|fault| row(&fault.text, [count(fault.count), fault.mend.unwrap_or_default()]))
        .collect();
    if !failed.is_empty() {
        write(page, &["failed handshakes", "count", "mend"], failed);
    }
}

/// The resources that server and generator used, run by run.
pub(super) fn write_processors(report: &Report, page: &mut HtmlPage) {
    let columns = ["", "CPU per request", "user", "system", "busiest thread", "threads", "in RAM"];
    let several = report.runs.len() > 1;
    let rows = report.runs.iter().enumerate().flat_map(|(at, run)| {
        let of_run = if several { format!(", run {}", at + 1) } else { String::new() };
        [server_row(run, &of_run), generator_row(run, &of_run)]
    });
    write(page, &columns, rows);
    let columns = ["generator thread", "core", "on a core", "in vain", "waited", "worked"];
    let threads = report.runs.iter().enumerate().flat_map(|(at, run)| {
        run.generator.threads.iter().enumerate().map(move |(number, thread)| {
            let of_run = if several { format!(", run {}", at + 1) } else { String::new() };
            let core = thread.core.map_or("any".to_owned(), |core| core.to_string());
            let times = [thread.cpu_ns, thread.spun_ns, thread.waited_ns];
            let times = times.map(|time| duration(time as f64));
            let cells = [core].into_iter().chain(times).chain([percent(thread.busy_share)]);
            row(&format!("{}{of_run}", number + 1), cells)
        })
    });
    write(page, &columns, threads);
}

fn server_row(run: &RunReport, of_run: &str) -> Vec<String> {
    let Some(server) = &run.server else {
        return row(&format!("server{of_run}: not to be seen"), vec!["-".to_owned(); 6]);
    };
    let times =
        [server.cpu_per_request_ns, server.user_per_request_ns, server.system_per_request_ns];
    let rest = [
        percent(server.busiest_thread_share),
        count(u64::from(server.threads)),
        bytes(server.resident_bytes as f64),
    ];
    let cells = times.map(or_dash).into_iter().chain(rest);
    row(&format!("server {}{of_run}", server.name), cells)
}

fn generator_row(run: &RunReport, of_run: &str) -> Vec<String> {
    let generator = &run.generator;
    let busiest = generator.threads.iter().map(|thread| thread.busy_share).fold(0.0, f64::max);
    let dash = || "-".to_owned();
    let cells = [
        or_dash(generator.cpu_per_request_ns),
        dash(),
        dash(),
        percent(busiest),
        count(generator.threads.len() as u64),
        dash(),
    ];
    row(&format!("generator{of_run}"), cells)
}

fn or_dash(time_ns: Option<f64>) -> String {
    time_ns.map_or("-".to_owned(), duration)
}
