//! A flame graph: one self-contained page.
//!
//! Owns the width of each frame, its colour (blue in the program, red in the kernel, lighter if
//! inlined), and the script that searches and zooms. The outermost frame is the first row, so that a tall page opens
//! at it.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::fold::{Folded, Frame, Mode};
use crate::limits::NARROWEST;
use crate::table::{CountUnit, rounded};
use crate::timeline::Timeline;

/// A frame with all frames that it called.
#[derive(Debug, Default)]
struct Node<'f> {
    count: f64,
    /// Its count in the profile that this one is compared with.
    before: f64,
    below: BTreeMap<&'f Frame, Node<'f>>,
}

/// Height of a frame.
const ROW: usize = 18;

/// The flame graph as an HTML page.
pub fn flame_graph(
    folded: &Folded,
    unit: CountUnit,
    title: &str,
    remarks: &[String],
    timeline: Option<&Timeline>,
) -> String {
    let head = Head {
        title,
        remarks,
        timeline,
        colours: "blue is the program, light blue was inlined, red is the kernel",
    };
    page(&tree(folded, None), unit, &head, None)
}

/// The flame graph of a profile, in which red frames take a larger share than in the profile before, and blue ones a
/// smaller share.
pub fn difference_graph(before: &Folded, after: &Folded, title: &str) -> String {
    let colours = "red frames take a larger share of the time than before, blue ones a smaller share; \
                   functions that disappeared are only in the table";
    let total = before.total().max(f64::MIN_POSITIVE);
    let head = Head { title, remarks: &[], timeline: None, colours };
    page(&tree(after, Some(before)), CountUnit::Samples, &head, Some(total))
}

/// The texts above the graph of a page.
struct Head<'h> {
    title: &'h str,
    remarks: &'h [String],
    timeline: Option<&'h Timeline>,
    colours: &'h str,
}

fn tree<'f>(folded: &'f Folded, before: Option<&'f Folded>) -> Node<'f> {
    let mut root = Node { count: folded.total(), ..Node::default() };
    for (stack, count) in &folded.stacks {
        let mut node = &mut root;
        for frame in stack {
            node = node.below.entry(frame).or_default();
            node.count += count;
        }
    }
    for (stack, count) in before.iter().flat_map(|before| &before.stacks) {
        let mut node = &mut root;
        for frame in stack {
            node = node.below.entry(frame).or_default();
            node.before += count;
        }
    }
    root
}

fn page(root: &Node<'_>, unit: CountUnit, head: &Head<'_>, before: Option<f64>) -> String {
    let mut frames = String::new();
    let totals = Totals { now: root.count.max(f64::MIN_POSITIVE), before };
    let depth = push(&mut frames, root, 0.0, 0, &totals);
    let lines: String =
        head.remarks.iter().map(|remark| format!("<li>{}</li>", escaped(remark))).collect();
    let timeline = head.timeline.map_or_else(String::new, |timeline| timeline.rows(escaped));
    PAGE.replace("{title}", &escaped(head.title))
        .replace("{total}", &unit.told(root.count))
        .replace("{unit}", unit.name())
        .replace("{colours}", head.colours)
        .replace("{remarks}", &lines)
        .replace("{timeline}", &timeline)
        .replace("{height}", &(depth * ROW).to_string())
        .replace("{frames}", &frames)
}

/// The totals of a profile, and of the one that it is compared with.
struct Totals {
    now: f64,
    before: Option<f64>,
}

/// Adds the frames within a node; returns the depth of the deepest.
fn push(out: &mut String, node: &Node<'_>, left: f64, row: usize, totals: &Totals) -> usize {
    let (mut at, mut depth) = (left, row);
    for (frame, inner) in &node.below {
        let width = inner.count / totals.now;
        if width >= NARROWEST {
            let class = match (frame.mode, frame.is_inlined) {
                (Mode::Kernel, _) => "k",
                (Mode::User, true) => "i",
                (Mode::User, false) => "u",
            };
            let (count, name) = (rounded(inner.count), escaped(&frame.name));
            let change = totals.before.map(|before| width - inner.before / before);
            let change = change.map_or_else(String::new, |change| {
                format!(" data-d={change:.6} style=\"--d:{}\"", colour(change))
            });
            let _endless = writeln!(
                out,
                "<g class={class} data-x={at:.6} data-w={width:.6} data-r={row} \
                 data-c={count}{change}><title>{name}</title><rect/><text></text></g>",
            );
            depth = depth.max(push(out, inner, at, row + 1, totals)).max(row + 1);
        }
        at += width;
    }
    depth
}

/// Red for a share that has grown, blue for one that has shrunk; full colour at ten percentage points.
fn colour(change: f64) -> String {
    let pale = (255.0 - (change.abs() * 10.0).min(1.0) * 155.0) as u8;
    match change {
        0.0.. => format!("rgb(255,{pale},{pale})"),
        _ => format!("rgb({pale},{pale},255)"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const PAGE: &str = include_str!("graph.html");
