//! Steps as a page with a sequence diagram for each thing.
//!
//! Owns the drawing: a column for each actor, a row for each step, top to bottom in the order of time. The page needs
//! nothing else, and runs no code.

use std::fmt::Write;

use live::{TraceEnded, TraceStep};

use super::listing::summary;
use super::things;

/// Things that are drawn at most: a browser shows a page with so many at once.
const DRAWN: usize = 500;

const COLUMN: usize = 190;
const ROW: usize = 26;
const TOP: usize = 44;
const TIMES: usize = 150;

const HEAD: &str = "<!doctype html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Velodrome trace</title><style>
body { font: 14px system-ui, sans-serif; margin: 2em; color: #222; background: #fff }
summary { cursor: pointer; padding: .3em 0 }
svg { font: 12px system-ui, sans-serif; overflow: visible }
.life { stroke: #bbb; stroke-dasharray: 3 3 }
.step { stroke: #1769aa; fill: none }
.dot { fill: #1769aa }
.time { fill: #777 }
.name { font-weight: 600 }
@media (prefers-color-scheme: dark) {
body { color: #ddd; background: #181818 } svg text { fill: #ddd } svg .time { fill: #999 } .life { stroke: #555 }
}
</style></head><body>
<svg width=\"0\" height=\"0\"><defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\"
markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" class=\"dot\"/></marker></defs></svg>
";

/// The page.
pub(super) fn page(steps: &[TraceStep], ended: &TraceEnded) -> String {
    let things = things(steps);
    let mut page = HEAD.to_owned();
    page.push_str(&format!("<h1>Trace</h1><p>{}</p>\n", escaped(&summary(things.len(), ended))));
    if things.len() > DRAWN {
        page.push_str(&format!("<p>The first {DRAWN} are drawn.</p>\n"));
    }
    for (place, (name, steps)) in things.iter().take(DRAWN).enumerate() {
        let open = if place == 0 { " open" } else { "" };
        let first = steps.first().map_or("", |step| &step.detail);
        let begun_ns = steps.first().map_or(0, |step| step.at_ns);
        let took_ns = steps.last().map_or(0, |step| step.at_ns - begun_ns);
        page.push_str(&format!(
            "<details{open}><summary>{} {} &middot; {} steps in {}</summary>\n",
            escaped(name),
            escaped(first),
            steps.len(),
            time(took_ns),
        ));
        draw(steps, &mut page);
        page.push_str("</details>\n");
    }
    page.push_str("</body></html>\n");
    page
}

/// The actors of a thing, in the order in which they come.
pub(super) fn actors<'s>(steps: &[&'s TraceStep]) -> Vec<&'s str> {
    let mut actors: Vec<&str> = Vec::new();
    for actor in steps.iter().flat_map(|step| [&*step.from, &*step.to]) {
        if !actors.contains(&actor) {
            actors.push(actor);
        }
    }
    actors
}

fn draw(steps: &[&TraceStep], page: &mut String) {
    let actors = actors(steps);
    let column = |actor: &str| {
        let place = actors.iter().position(|known| *known == actor).unwrap_or(0);
        TIMES + place * COLUMN
    };
    let (width, height) = (TIMES + actors.len() * COLUMN + 400, TOP + (steps.len() + 1) * ROW);
    let mut svg = format!("<svg width=\"{width}\" height=\"{height}\">\n");
    let mut add = |text: std::fmt::Arguments<'_>| {
        // Text takes whatever is written into it.
        let _ = svg.write_fmt(text);
    };
    for actor in &actors {
        let x = column(actor);
        add(format_args!(
            "<text class=\"name\" x=\"{x}\" y=\"16\" text-anchor=\"middle\">{}</text>\
             <line class=\"life\" x1=\"{x}\" y1=\"24\" x2=\"{x}\" y2=\"{height}\"/>\n",
            escaped(actor)
        ));
    }
    let begun_ns = steps.first().map_or(0, |step| step.at_ns);
    for (row, step) in steps.iter().enumerate() {
        let y = TOP + row * ROW;
        let (from, to) = (column(&step.from), column(&step.to));
        let label = from.min(to) + 8;
        add(format_args!(
            "<text class=\"time\" x=\"70\" y=\"{}\" text-anchor=\"end\">{}</text>",
            y + 4,
            time(step.at_ns - begun_ns)
        ));
        if from == to {
            add(format_args!("<circle class=\"dot\" cx=\"{from}\" cy=\"{y}\" r=\"3\"/>"));
        } else {
            add(format_args!(
                "<line class=\"step\" x1=\"{from}\" y1=\"{y}\" x2=\"{to}\" y2=\"{y}\" \
                 marker-end=\"url(#tip)\"/>"
            ));
        }
        add(format_args!(
            "<text x=\"{label}\" y=\"{}\"><tspan class=\"name\">{}</tspan> {}</text>\n",
            y - 4,
            escaped(&step.what),
            escaped(&step.detail)
        ));
    }
    svg.push_str("</svg>\n");
    page.push_str(&svg);
}

fn time(ns: u64) -> String {
    format!("{:.3} ms", ns as f64 / 1e6)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::tests::step;
    use super::*;

    #[test]
    fn a_diagram_has_its_actors_and_steps_and_no_markup_of_others() {
        let steps = [
            step("0-1", 0, ("client", "scheduler 0"), "request"),
            step("0-1", 1_000_000, ("scheduler 0", "scheduler 0"), "route"),
            step("<script>", 2_000_000, ("scheduler 0", "client"), "answer"),
        ];
        let page = page(&steps, &TraceEnded { steps: 3, ..TraceEnded::default() });
        assert_eq!(page.matches("<details").count(), 2);
        assert_eq!(page.matches("class=\"step\"").count(), 2);
        assert_eq!(page.matches("<circle").count(), 1);
        assert!(page.contains("&lt;detail&gt; &amp; &quot;more&quot;"), "{page}");
        assert!(!page.contains("<script") && !page.contains("<detail>"), "{page}");
        assert!(page.contains("1.000 ms") && page.contains("3 steps of 2"), "{page}");
    }
}
