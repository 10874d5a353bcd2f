//! A ladder as an HTML page: the staircase, and its tables.

use bench::report::figures::{duration, rate};
use bench::report::html::{HtmlPage, document, section, write_table};

use super::text::{Stair, gain, noise, stairs, subject};
use super::{Conclusion, LadderReport};

/// The size of the drawing, and of one step in it.
const WIDTH: f64 = 760.0;
const NAMES: f64 = 200.0;
const LABEL: f64 = 370.0;
const STAIR: f64 = 28.0;

/// The font size.
const LETTERS: f64 = 12.0;

/// The page of a ladder.
pub fn write_html(report: &LadderReport) -> String {
    document("velodrome tune ladder", |page| {
        page.element("header", &[], |page| {
            page.leaf("p", &[("class", &"tool")], "velodrome tune ladder");
            page.leaf("h1", &[], &report.server);
            for line in [subject(report), noise(report)] {
                page.leaf("p", &[("class", &"plan")], line);
            }
        });
        section(page, "Staircase", |page| draw(report, page));
        section(page, "Steps", |page| steps(report, page));
        section(page, "What each step is worth among the others", |page| without(report, page));
        section(page, "Command line", |page| {
            let words = report.command.iter().map(String::as_str);
            page.leaf(
                "p",
                &[],
                shlex::try_join(words).unwrap_or_else(|_| report.command.join(" ")),
            );
        });
    })
}

/// Draws a bar for each step: filled if the step was kept, an outline if it was reverted.
fn draw(report: &LadderReport, page: &mut HtmlPage) {
    let all: Vec<Stair> = stairs(report).collect();
    let highest = all.iter().map(|stair| stair.rate).fold(1.0, f64::max);
    let view = format!("0 0 {WIDTH} {}", STAIR * all.len() as f64);
    let label = "requests a second with each step";
    // A figure scrolls on a narrow screen, instead of becoming too small to read.
    page.element("figure", &[], |page| {
        page.element("div", &[], |page| {
            page.element(
                "svg",
                &[
                    ("viewBox", &view),
                    ("role", &"img"),
                    ("aria-label", &label),
                    ("font-size", &LETTERS),
                ],
                |page| {
                    for (place, stair) in all.iter().enumerate() {
                        draw_stair(page, stair, place as f64 * STAIR, stair.rate / highest);
                    }
                },
            );
        });
    });
    page.leaf(
        "p",
        &[],
        "Requests a second. Full bars are kept, and the steps below stand on them; outlines showed no gain \
         and were taken back.",
    );
}

fn draw_stair(page: &mut HtmlPage, stair: &Stair, top: f64, share: f64) {
    let middle = top + STAIR / 2.0 + 4.0;
    let length = share * (WIDTH - NAMES - LABEL);
    let (y, height) = (top + 6.0, STAIR - 12.0);
    let fill = if stair.is_kept { "#3b78c2" } else { "none" };
    page.leaf("text", &[("x", &0), ("y", &middle), ("fill", &"currentColor")], &stair.name);
    page.element(
        "rect",
        &[
            ("x", &NAMES),
            ("y", &y),
            ("width", &length),
            ("height", &height),
            ("fill", &fill),
            ("stroke", &"#3b78c2"),
        ],
        |_| {},
    );
    let x = NAMES + length + 8.0;
    let p99 = duration(stair.p99_ns);
    let told = format!("{}/s, p99 {p99}  {}", rate(stair.rate), stair.gain);
    page.leaf("text", &[("x", &x), ("y", &middle), ("fill", &"currentColor")], told);
}

fn steps(report: &LadderReport, page: &mut HtmlPage) {
    let measured = stairs(report).skip(1).map(|stair| {
        let step = report.steps.iter().find(|step| step.name == stair.name);
        let change = step.map_or_else(String::new, |step| step.change.clone());
        let (rate, p99, cpu) = (rate(stair.rate), duration(stair.p99_ns), stair.cpu());
        vec![stair.name, rate, p99, cpu, stair.gain, change]
    });
    let refused = report.steps.iter().filter(|step| step.conclusion == Conclusion::Refused);
    let refused = refused.map(|step| {
        let dash = || "-".to_owned();
        let why = format!("cannot be made here: {}", step.refused);
        vec![step.name.clone(), dash(), dash(), dash(), why, step.change.clone()]
    });
    let columns = ["step", "req/s", "p99", "CPU/request", "against the state before", "change"];
    write_table(page, &columns, measured.chain(refused));
}

fn without(report: &LadderReport, page: &mut HtmlPage) {
    if let Some(total) = &report.total {
        page.leaf("p", &[], format!("All against the baseline: {}.", gain(total)));
    }
    let rows = report.without.iter().map(|one| vec![one.name.clone(), gain(&one.comparison)]);
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        page.leaf("p", &[], "Fewer than two steps were kept.");
    } else {
        write_table(page, &["left out", "against all"], rows);
    }
}
