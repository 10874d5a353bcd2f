//! Pages of whole reports: well formed whatever the texts are, with the figures of the report, and with every point
//! inside its plot.

use bench::report::{LoadPoint, Measured, Report, write_html, write_html_of_steps};
use bench::tally::{FailureKind, Loop, Opening, Tally};

use crate::sample::{SECOND_NS, closed_plan, closed_run, of, open_plan, open_run};

const HOSTILE: &str = "http://127.0.0.1/\"'><script>alert(1)</script>&amp;\u{202e}\0";

/// A tag of a page, as the reader below found it.
struct Tag<'a> {
    name: &'a str,
    attributes: &'a str,
}

impl<'a> Tag<'a> {
    fn attribute(&self, name: &str) -> Option<&'a str> {
        let begin = self.attributes.find(&format!(" {name}=\""))? + name.len() + 3;
        self.attributes[begin..].split('"').next()
    }
}

/// All tags that open something. Fails when one is not closed, closed out of order, or cannot be read.
fn tags(page: &str) -> Vec<Tag<'_>> {
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let mut rest = page.strip_prefix("<!DOCTYPE html>").expect("a page says what it is");
    while let Some((text, after)) = rest.split_once('<') {
        assert!(open.last() == Some(&"style") || !text.contains('>'), "a stray > in {text:?}");
        let (tag, after) = after.split_once('>').expect("a tag has an end");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed out of order");
            continue;
        }
        let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_at(tag.find(' ').unwrap_or(tag.len()));
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric()), "<{name}>");
        assert_eq!(attributes.matches('"').count() % 2, 0, "<{tag}>");
        if !is_empty {
            open.push(name);
        }
        found.push(Tag { name, attributes });
    }
    assert!(open.is_empty(), "not closed: {open:?}");
    found
}

fn several_runs_of_an_open_loop() -> Measured {
    let mut bad = open_run();
    bad.steal_share = Some(0.033);
    bad.server = None;
    (0..1200).for_each(|_| bad.tally.fail(FailureKind::Timeout, 100_500_000_000));
    of(open_plan(), vec![open_run(), bad, open_run()])
}

fn steps() -> Vec<LoadPoint> {
    let point =
        |rate_per_s, p99_ns, p99_9_ns| LoadPoint { rate_per_s, p50_ns: 40_000, p99_ns, p99_9_ns };
    vec![
        point(20_000.0, 9_000_000, Some(80_000_000)),
        point(10_000.0, 90_000, Some(200_000)),
        point(0.0, 0, None),
    ]
}

#[test]
fn hostile_texts_stay_texts() {
    let mut measured = several_runs_of_an_open_loop();
    measured.plan.targets[0].url = HOSTILE.to_owned();
    measured.plan.check = Some(HOSTILE.to_owned());
    measured.command.push(HOSTILE.to_owned());
    measured.host.kernel = Some(HOSTILE.to_owned());
    measured.host.sysctls[0].value = HOSTILE.to_owned();
    let mut report = Report::of(measured);
    report.verdict.reasons[0].text = HOSTILE.to_owned();
    let page = write_html(&report);
    assert!(!tags(&page).iter().any(|tag| tag.name == "script"));
    assert!(!page.contains('\0') && !page.contains('\u{202e}'));
    let escaped = "&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;\u{fffd}\u{fffd}";
    // Title, headline, check, kernel, setting and reason; the command line is in a shell's quotes besides.
    assert_eq!(page.matches(escaped).count(), 6, "{page}");
    assert!(page.contains("&quot;&#39;\\&#39;&#39;&gt;&lt;script&gt;"), "{page}");
}

#[test]
fn pages_are_well_formed_and_need_nothing_from_elsewhere() {
    let reports = [
        Report::of(several_runs_of_an_open_loop()),
        Report::of(of(closed_plan(), vec![closed_run()])),
        Report::of(of(closed_plan(), Vec::new())),
    ];
    for report in &reports {
        let page = write_html_of_steps(report, &steps());
        for tag in tags(&page) {
            let loads =
                ["src", "href", "data"].into_iter().find(|name| tag.attribute(name).is_some());
            assert_eq!(loads, None, "<{}>", tag.name);
            let is_known = !["script", "link", "iframe", "object", "img"].contains(&tag.name);
            assert!(is_known, "<{}>", tag.name);
        }
        assert!(!page.contains("url(") && !page.contains("@import"));
    }
}

#[test]
fn figures_are_those_of_the_report() {
    let report = Report::of(several_runs_of_an_open_loop());
    let page = write_html(&report);
    for text in [
        "<strong>INVALID</strong>",
        "run 2: the hypervisor gave 3.3 % of the time of the cores to others (at most 1.0 %)",
        "note: run 2: 1,200 requests failed; the times are of the 1,000 that were answered",
        "<span class=\"figure\">1,000 /s</span>",
        "<span class=\"figure\">1,200</span>",
        "<span class=\"below\">3,000 answered</span>",
        "begun 2027-01-15 08:00:00 UTC",
        "<dd>Example 9000</dd>",
        "<dd>4096</dd>",
        "<pre>velodrome bench http</pre>",
    ] {
        assert!(page.contains(text), "{text} is missing in {page}");
    }
    let row = |name: &str, cell: &str| {
        let cells = format!("<td>{cell}</td>\n").repeat(8);
        format!("<th scope=\"row\">{name}</th>\n{cells}")
    };
    for (name, time) in
        [("service time", "100 us"), ("response time", "120 us"), ("sent late", "20.0 us")]
    {
        assert!(page.contains(&row(name, time)), "{name} is missing in {page}");
    }
    let valid = write_html(&Report::of(of(closed_plan(), vec![closed_run()])));
    assert!(valid.contains("<strong>VALID</strong>") && !valid.contains("INVALID"), "{valid}");
}

#[test]
fn without_an_answer_no_time_is_shown() {
    let mut run = open_run();
    run.tally = Tally::new(Loop::Open, 4, SECOND_NS);
    run.tally.begin(0, Opening::Kept);
    run.tally.ask();
    run.tally.fail(FailureKind::Status, 1000);
    let page = write_html(&Report::of(of(open_plan(), vec![run])));
    tags(&page);
    assert!(page.contains("so there is no time to draw"), "{page}");
    assert!(!page.contains(">0 ns<") && !page.contains("p99 of each second"), "{page}");
}

#[test]
fn points_are_inside_their_plots_and_where_they_belong() {
    let page = write_html_of_steps(&Report::of(several_runs_of_an_open_loop()), &steps());
    let number = |text: &str| text.parse::<f64>().expect("a place is a number");
    let is_inside = |x: f64, y: f64| (76.0..=878.0).contains(&x) && (26.0..=272.0).contains(&y);
    let (mut lines, mut thin) = (0, 0);
    for tag in tags(&page) {
        if tag.name == "polyline" {
            lines += 1;
            let is_thin = tag.attribute("class").is_some_and(|class| class.contains("thin"));
            thin += usize::from(is_thin);
            let points = tag.attribute("points").expect("a line has points");
            for point in points.split(' ') {
                let (x, y) = point.split_once(',').expect("a point is a pair");
                assert!(is_inside(number(x), number(y)), "{point}");
            }
        }
        if tag.name == "circle" {
            let place = |name| number(tag.attribute(name).expect("a dot has a place"));
            assert!(is_inside(place("cx"), place("cy")), "{}", tag.attributes);
        }
    }
    // Service, response, answered, failed and p99 of three runs; the medians of them, and three lines of steps.
    assert_eq!((lines, thin), (15 + 5 + 3, 15));
}
