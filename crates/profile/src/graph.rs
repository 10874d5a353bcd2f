//! A flame graph: one page that needs nothing else.
//!
//! Owns how wide each frame is, its colour (blue in the program, red in the kernel, lighter where it was inlined), and the script that searches and zooms.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::fold::{Folded, Frame, Mode};
use crate::limits::NARROWEST;

/// A frame with all that it called.
#[derive(Debug, Default)]
struct Node<'f> {
    count: u64,
    below: BTreeMap<&'f Frame, Node<'f>>,
}

/// Height of a frame.
const ROW: usize = 18;

/// The flame graph as a page of HTML.
#[must_use]
pub fn flame_graph(folded: &Folded, title: &str, remarks: &[String]) -> String {
    let mut root = Node { count: folded.total(), ..Node::default() };
    for (stack, count) in &folded.stacks {
        let mut node = &mut root;
        for frame in stack {
            node = node.below.entry(frame).or_default();
            node.count += count;
        }
    }
    let mut frames = String::new();
    let depth = push(&mut frames, &root, (0.0, 0), root.count.max(1) as f64);
    let lines: String =
        remarks.iter().map(|remark| format!("<li>{}</li>", escaped(remark))).collect();
    PAGE.replace("{title}", &escaped(title))
        .replace("{total}", &root.count.to_string())
        .replace("{remarks}", &lines)
        .replace("{height}", &((depth + 1) * ROW).to_string())
        .replace("{frames}", &frames)
}

/// Adds the frames within a node; gives how deep they go.
fn push(out: &mut String, node: &Node<'_>, (left, row): (f64, usize), total: f64) -> usize {
    let (mut at, mut depth) = (left, row);
    for (frame, inner) in &node.below {
        let width = inner.count as f64 / total;
        if width >= NARROWEST {
            let class = match (frame.mode, frame.is_inlined) {
                (Mode::Kernel, _) => "k",
                (Mode::User, true) => "i",
                (Mode::User, false) => "u",
            };
            let (count, name) = (inner.count, escaped(&frame.name));
            let _endless = writeln!(
                out,
                "<g class={class} data-x={at:.6} data-w={width:.6} data-r={row} data-c={count}><title>{name}</title><rect/><text></text></g>",
            );
            depth = depth.max(push(out, inner, (at, row + 1), total)).max(row + 1);
        }
        at += width;
    }
    depth
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const PAGE: &str = include_str!("graph.html");
