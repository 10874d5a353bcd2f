//! A flame graph and a table of known stacks.

use profile::{CountUnit, Folded, flame_graph, table};

use crate::folded;

const STACKS: &str = "main;serve;send;tcp_sendmsg_[k] 60\nmain;serve;send 10\nmain;serve;parse_[i] \
                      20\nmain;<a & \"b\"> 10\n";

/// The frames of a page: class, begin, width, row, count, name.
fn frames(page: &str) -> Vec<(String, f64, f64, u32, u64, String)> {
    let value = |line: &str, name: &str| {
        let rest = line.split_once(&format!("{name}=")).unwrap().1;
        rest.split([' ', '>']).next().unwrap().to_owned()
    };
    let frame = |line: &str| {
        let name = line.split_once("<title>").unwrap().1.split_once("</title>").unwrap().0;
        (
            value(line, "class"),
            value(line, "data-x").parse().unwrap(),
            value(line, "data-w").parse().unwrap(),
            value(line, "data-r").parse().unwrap(),
            value(line, "data-c").parse().unwrap(),
            name.to_owned(),
        )
    };
    page.lines().filter(|line| line.starts_with("<g ")).map(frame).collect()
}

#[test]
fn each_frame_is_as_wide_as_its_share_and_has_the_colour_of_its_mode() {
    let folded = folded(STACKS);
    let page = flame_graph(
        &folded,
        CountUnit::Samples,
        "a <title>",
        &["a remark & more".to_owned()],
        None,
    );
    let found = frames(&page);
    let of = |name: &str| found.iter().find(|frame| frame.5 == name).unwrap();
    assert_eq!(of("main"), &("u".to_owned(), 0.0, 1.0, 0, 100, "main".to_owned()));
    assert_eq!((of("serve").2, of("serve").3), (0.9, 1));
    assert_eq!((&*of("tcp_sendmsg").0, of("tcp_sendmsg").2, of("tcp_sendmsg").3), ("k", 0.6, 3));
    assert_eq!((&*of("parse").0, of("parse").4), ("i", 20));
    assert_eq!(of("&lt;a &amp; &quot;b&quot;&gt;").4, 10);
    assert_eq!(found.len(), 6);
    // Frames of a row do not overlap.
    for one in &found {
        for other in found.iter().filter(|other| other.3 == one.3 && other.5 != one.5) {
            assert!(
                one.1 + one.2 <= other.1 + 1e-6 || other.1 + other.2 <= one.1 + 1e-6,
                "{one:?} {other:?}"
            );
        }
    }
    assert!(
        page.contains("<title>a &lt;title&gt;</title>")
            && page.contains("<li>a remark &amp; more</li>")
    );
    assert!(!page.contains("{frames}") && !page.contains("src="), "it needs nothing else");
}

#[test]
fn the_table_has_what_is_innermost_most_often() {
    let folded = folded(STACKS);
    let text = table(&folded, CountUnit::Samples, 2);
    assert!(text.starts_with("100 samples; 60 % in the kernel, 40 % in the program\n"), "{text}");
    let rows: Vec<&str> = text.lines().skip(3).collect();
    assert_eq!(rows, ["60.0 % 60.0 %  kernel   tcp_sendmsg", "20.0 % 20.0 %  program  parse"]);
}

#[test]
fn nothing_is_drawn_of_nothing() {
    let page = flame_graph(&Folded::default(), CountUnit::Samples, "nothing", &[], None);
    assert_eq!(frames(&page).len(), 0);
    assert!(table(&Folded::default(), CountUnit::Samples, 5).starts_with("0 samples"));
}
