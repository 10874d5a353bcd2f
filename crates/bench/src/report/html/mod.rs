//! The report as a page: one file that needs no other, on a screen or on paper.
//!
//! Owns the order of its parts. Never leaves out the verdict, and never asks for anything from elsewhere: style and
//! plots are in the page, and there is no script.

mod date;
mod headline;
mod host;
mod load;
mod page;
mod percentiles;
mod plot;
mod scale;
mod seconds;
mod tables;

use crate::report::schema::Report;
pub use load::LoadPoint;
use page::Page;

/// Colours, sizes and what paper needs.
const STYLE: &str = include_str!("style.css");

/// What a browser may do with the page, whatever a text in it says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The page of a report. A ramp's seconds make a plot of times against load.
pub fn write_html(report: &Report) -> String {
    write_html_of_steps(report, &load::points_of(report))
}

/// The page of a report with times against load from steps that were measured one by one.
pub fn write_html_of_steps(report: &Report, steps: &[LoadPoint]) -> String {
    let mut page = Page::new();
    page.element("html", &[("lang", &"en")], |page| {
        page.element("head", &[], |page| {
            page.empty("meta", &[("charset", &"utf-8")]);
            page.empty("meta", &[("http-equiv", &"Content-Security-Policy"), ("content", &POLICY)]);
            let width = "width=device-width, initial-scale=1";
            page.empty("meta", &[("name", &"viewport"), ("content", &width)]);
            page.empty("meta", &[("name", &"color-scheme"), ("content", &"light dark")]);
            page.leaf("title", &[], headline::title(report));
            page.style(STYLE);
        });
        page.element("body", &[], |page| {
            page.element("main", &[], |page| write_parts(report, steps, page));
        });
    });
    page.into_text()
}

fn write_parts(report: &Report, steps: &[LoadPoint], page: &mut Page) {
    page.element("header", &[], |page| headline::write_plan(report, page));
    headline::write_verdict(report, page);
    headline::write_figures(report, page);
    section(page, "Latency by percentile", |page| {
        percentiles::draw(report, page);
        tables::write_times(report, page);
    });
    section(page, "Over time", |page| seconds::draw(report, page));
    if !steps.is_empty() {
        section(page, "Latency against load", |page| load::draw(steps, page));
    }
    section(page, "Requests and connections", |page| tables::write_runs(report, page));
    section(page, "Processors", |page| tables::write_processors(report, page));
    section(page, "Host", |page| host::write(report, page));
    section(page, "Command line", |page| host::write_command(report, page));
}

fn section(page: &mut Page, title: &str, content: impl FnOnce(&mut Page)) {
    page.element("section", &[], |page| {
        page.leaf("h2", &[], title);
        content(page);
    });
}
