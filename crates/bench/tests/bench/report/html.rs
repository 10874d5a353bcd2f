//! Pages of whole reports: well formed whatever the texts are, with the figures of the report, and with every point
//! inside its plot.

use bench::knee::{End, KneeFound, KneeReport, KneeStep, SearchResult};
use bench::report::{Measured, Report, write_html};
use bench::tally::{FailureKind, Loop, Opening, Tally};

use crate::report::sample::{
    SECOND_NS, closed_plan, closed_run, hold, knee, of, open_plan, open_run, stage,
};

const HOSTILE: &str = "http://127.0.0.1/\"'><script>alert(1)</script>&amp;\u{202e}\0";

/// A tag of a page.
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

/// All opening tags. Panics if one is not closed, closed out of order, or cannot be parsed.
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

/// A run with a different rate in each second.
fn ramp() -> Measured {
    let plan = open_plan();
    let plan = bench::report::PlanReport {
        stages: vec![stage(1000.0, 2000.0), stage(2000.0, 1000.0)],
        ..plan
    };
    of(plan, vec![open_run()])
}

/// The pages of all reports that have one.
fn pages() -> Vec<String> {
    let reports = [
        several_runs_of_an_open_loop(),
        ramp(),
        of(closed_plan(), vec![closed_run()]),
        of(closed_plan(), Vec::new()),
    ];
    let pages = reports.map(|measured| write_html(&Report::of(measured)));
    let nothing = KneeReport { steps: Vec::new(), ..knee() };
    let knees = [knee(), nothing].map(|report| bench::knee::write_html(&report));
    pages.into_iter().chain(knees).collect()
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
    // Title, heading, check, kernel, setting and reason; the command line is quoted for a shell as well.
    assert_eq!(page.matches(escaped).count(), 6, "{page}");
    assert!(page.contains("&quot;&#39;\\&#39;&#39;&gt;&lt;script&gt;"), "{page}");
}

#[test]
fn pages_are_well_formed_and_need_nothing_from_elsewhere() {
    for page in pages() {
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
        "run 2: the hypervisor gave 3.3 % of the time of a core in use to others (at most 1.0 %)",
        "note: run 2: 1,200 requests failed (54.5 %: --fail-if makes that an exit status); the times are of \
         the 1,000 that were answered",
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
fn the_page_of_held_connections_tells_of_them() {
    let mut measured = of(closed_plan(), vec![closed_run()]);
    measured.hold = Some(hold());
    let page = write_html(&Report::of(measured));
    tags(&page);
    for (name, figure, below) in [
        ("connections held", "1,000", "2 dead"),
        ("opened", "50,000 /s", "in 20.0 ms"),
        ("server memory per connection", "104 B", "2.30 kB at the end"),
    ] {
        let tile = format!(
            "<span class=\"name\">{name}</span>\n<span class=\"figure\">{figure}</span>\n\
             <span class=\"below\">{below}</span>"
        );
        assert!(page.contains(&tile), "{tile} is missing in {page}");
    }
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
    assert!(page.contains("so there are no times to plot"), "{page}");
    assert!(!page.contains(">0 ns<") && !page.contains("p99 of each second"), "{page}");
}

/// The lines and thin lines of a page, whose points are all inside their plots.
fn lines_of(page: &str) -> (usize, usize) {
    let number = |text: &str| text.parse::<f64>().expect("a place is a number");
    let is_inside = |x: f64, y: f64| (76.0..=878.0).contains(&x) && (26.0..=272.0).contains(&y);
    let (mut lines, mut thin) = (0, 0);
    for tag in tags(page) {
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
    (lines, thin)
}

#[test]
fn points_are_inside_their_plots_and_where_they_belong() {
    let lines: Vec<(usize, usize)> = pages().iter().map(|page| lines_of(page)).collect();
    // Service, response, answered, failed and p99 of three runs, and their medians.
    assert_eq!(lines[0], (15 + 5, 15));
    // The same of one run, and p50 and p99 against load.
    assert_eq!(lines[1], (5 + 2, 0));
    // One kind of time in a closed loop.
    assert_eq!(lines[2], (4, 0));
    // Without a run, and without a step, there is nothing to draw.
    assert_eq!((lines[3], lines[5]), ((0, 0), (0, 0)));
    // Two percentiles, the limits of both, the last good and the first bad rate.
    assert_eq!(lines[4], (2 + 2 + 2, 0));
}

#[test]
fn the_page_of_a_knee_shows_what_was_found() {
    let page = bench::knee::write_html(&knee());
    for text in [
        "<strong>KNEE</strong>",
        "holds at 2,000 requests/s, broken at 2,100 requests/s",
        "<span class=\"figure\">2,000 /s</span>",
        "<span class=\"figure\">2,100 /s</span>",
        "response time: p50 at most 1.00 ms, p99 at most 5.00 ms",
        "p99 at most 5.00 ms",
        "last good rate, 2,000/s",
        "broken: p99 8.00 ms (at most 5.00 ms)",
        "<dd>Example 9000</dd>",
        "<pre>velodrome bench knee</pre>",
    ] {
        assert!(page.contains(text), "{text} is missing in {page}");
    }
    // Three steps at two percentiles: the good ones are discs.
    let of = |class: &str| page.matches(class).count();
    let rings = of("class=\"dot ring first\"") + of("class=\"dot ring second\"");
    let discs = of("class=\"dot first\"") + of("class=\"dot second\"");
    assert_eq!((discs, rings), (4, 2));
}

#[test]
fn the_page_of_a_knee_tells_no_time_that_nobody_measured() {
    let mut report = knee();
    report.found = SearchResult { end: End::Stopped, last_good_per_s: None, first_bad_per_s: None };
    let stopped = KneeStep {
        outcome: KneeFound::Stopped,
        answered_per_s: 0.0,
        response_ns: vec![0; 6],
        ..report.steps.remove(0)
    };
    report.steps = vec![stopped];
    let page = bench::knee::write_html(&report);
    tags(&page);
    assert!(page.contains("PARTIAL") && page.contains("nothing to draw"), "{page}");
    assert!(!page.contains(">0 ns<"), "{page}");
}
