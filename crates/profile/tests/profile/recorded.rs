//! Goal: a recorded profile of a server under load is printed and drawn as it was when it was checked by hand. Method:
//! its stacks, and the table and page made of them, are beside this file. After an intended change,
//! `VELODROME_RECORDED=write cargo test -p velodrome-profile --test profile recorded` writes them anew: check the
//! difference.

use std::path::Path;

use profile::{CountUnit, Folded, difference_graph, difference_table, flame_graph, table};

use crate::folded;

fn stacks() -> Folded {
    folded(include_str!("recorded/stacks.txt"))
}

/// The same without kernel frames, as after a change.
fn changed() -> Folded {
    let text = include_str!("recorded/stacks.txt");
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains("tcp_")).collect();
    folded(&lines.join("\n"))
}

fn check(name: &str, made: &str) {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profile/recorded").join(name);
    if std::env::var("VELODROME_RECORDED").is_ok_and(|word| word == "write") {
        std::fs::write(&kept, made).unwrap();
    }
    let kept = std::fs::read_to_string(kept).unwrap();
    let line = kept.lines().zip(made.lines()).position(|(kept, made)| kept != made);
    assert!(kept == made, "{name} differs, first in line {:?}", line.map(|line| line + 1));
}

#[test]
fn tables_and_pages_are_as_kept() {
    check("table.txt", &table(&stacks(), CountUnit::Samples, 30));
    check(
        "graph.html",
        &flame_graph(&stacks(), CountUnit::Samples, "server (1), 2.0 s", &[], None),
    );
    check("difference.txt", &difference_table(&stacks(), &changed(), 10));
    check("difference.html", &difference_graph(&stacks(), &changed(), "after against before"));
}

/// The frames within a frame are together not wider than it, and each width is its share of all samples.
#[test]
fn frames_lie_within_those_that_called_them() {
    let page = include_str!("recorded/graph.html");
    let number = |line: &str, name: &str| -> f64 {
        let rest = line.split_once(&format!("data-{name}=")).unwrap().1;
        rest.split([' ', '>']).next().unwrap().parse().unwrap()
    };
    let total = stacks().total();
    let mut above: Vec<(f64, f64)> = Vec::new();
    let mut frames = 0;
    for line in page.lines().filter(|line| line.starts_with("<g ")) {
        let (row, left, width) = (number(line, "r") as usize, number(line, "x"), number(line, "w"));
        above.truncate(row);
        if let Some((begin, end)) = above.last() {
            assert!(left >= begin - 1e-5 && left + width <= end + 1e-5, "{line}");
        }
        assert!((number(line, "c") / total - width).abs() < 1e-5, "{line}");
        above.push((left, left + width));
        frames += 1;
    }
    assert!(frames > 50, "{frames}");
}
