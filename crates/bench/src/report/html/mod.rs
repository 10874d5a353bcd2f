//! The report as an HTML page: one self-contained file, for screen and print.
//!
//! Owns the order of its parts. Never leaves out the verdict, and never loads anything from
//! elsewhere: style and plots are in the page, and there is no script.

mod date;
pub(crate) mod headline;
pub(crate) mod host;
pub(crate) mod load;
mod page;
mod percentiles;
pub(crate) mod plot;
mod scale;
mod seconds;
pub(crate) mod tables;

use crate::report::figures::numbered;
use crate::report::schema::Report;
pub use page::{Attribute, HtmlPage};
pub use tables::write as write_table;

/// Colours, sizes and rules for paper.
const STYLE: &str = include_str!("style.css");

/// The permissions of the page in a browser, whatever a text in it says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The page of a report. A ramp's seconds make a plot of times against load.
pub fn write_html(report: &Report) -> String {
    document(&headline::title(&report.tool, &report.plan), |page| write_parts(report, page))
}

/// A whole page: its header, and the parts.
pub fn document(title: &str, parts: impl FnOnce(&mut HtmlPage)) -> String {
    let mut page = HtmlPage::new();
    page.element("html", &[("lang", &"en")], |page| {
        page.element("head", &[], |page| {
            page.empty("meta", &[("charset", &"utf-8")]);
            page.empty("meta", &[("http-equiv", &"Content-Security-Policy"), ("content", &POLICY)]);
            let width = "width=device-width, initial-scale=1";
            page.empty("meta", &[("name", &"viewport"), ("content", &width)]);
            page.empty("meta", &[("name", &"color-scheme"), ("content", &"light dark")]);
            page.leaf("title", &[], title);
            page.style(STYLE);
        });
        page.element("body", &[], |page| {
            page.element("main", &[], parts);
        });
    });
    page.into_text()
}

fn write_parts(report: &Report, page: &mut HtmlPage) {
    let runs = numbered(report.runs.len() as u64, "run");
    let words = headline::plan_in_words(&report.plan, runs);
    headline::write_plan(&report.tool, &report.plan, &[words], report.begun_unix_s, page);
    headline::write_verdict(report, page);
    headline::write_figures(report, page);
    section(page, "Latency by percentile", |page| {
        percentiles::draw(report, page);
        tables::write_times(report, page);
    });
    section(page, "Over time", |page| seconds::draw(report, page));
    if let Some(ramp) = load::of_ramp(report) {
        section(page, "Latency against load", |page| ramp.draw(page));
    }
    section(page, "Requests and connections", |page| tables::write_runs(report, page));
    if report.plan.tls.is_some() {
        section(page, "TLS", |page| tables::write_encryption(report, page));
    }
    section(page, "Processors", |page| tables::write_processors(report, page));
    let steal = report.runs.iter().filter_map(|run| run.steal_share).reduce(f64::max);
    section(page, "Host", |page| host::write(&report.host, steal, page));
    section(page, "Command line", |page| {
        host::write_command(&report.command, &report.tool, &report.plan, page);
    });
}

/// A part with its heading.
pub fn section(page: &mut HtmlPage, title: &str, content: impl FnOnce(&mut HtmlPage)) {
    page.element("section", &[], |page| {
        page.leaf("h2", &[], title);
        content(page);
    });
}
