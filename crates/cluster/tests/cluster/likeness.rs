//! Nodes that keep channels otherwise than this one.

use std::sync::Arc;

use channels::Keeping;
use cluster::{NatsLink, StreamPlan};

use crate::plan::{SEAT, plan};
use crate::scripted::{hears, said, welcome};

/// A link of this node, which keeps channels like that, and what it has said when it connected.
fn link(node: u64, streams: &StreamPlan) -> (NatsLink, String) {
    let mut plan = Arc::into_inner(plan(node, 4222, "v")).unwrap();
    plan.streams = *streams;
    let mut link = NatsLink::new(Arc::new(plan), SEAT, node, 0);
    let said_first = welcome(&mut link, 0);
    (link, said_first)
}

/// The streams of a node with two of them and these sections.
fn streams(sections: &[(&str, Keeping)]) -> StreamPlan {
    let sections = StreamPlan::sections_of(sections.iter().copied());
    StreamPlan { count: 2, replicas: 1, bytes: 1 << 24, messages: 3, age_ms: 60_000, sections }
}

/// The last sign of life of a link, as another one gets it that has said this when it connected.
fn sign(of: &mut NatsLink, said_first: &str) -> String {
    let (_, rest) = said_first.split_once("SUB v.n ").expect("a link listens to other nodes");
    let (subscription, _) = rest.split_once("\r\n").expect("an operation is a line");
    let said = said(of);
    let (_, sign) = said.rsplit_once("PUB v.n ").expect("it tells of itself");
    let (_, form) = sign.split_once("\r\n").expect("the payload is on the next line");
    let (form, _) = form.split_once("\r\n").expect("it ends with its line");
    format!("MSG v.n {subscription} {}\r\n{form}\r\n", form.len())
}

#[test]
fn a_node_with_other_sections_or_streams_is_a_problem_until_it_has_the_same() {
    let history = [("a.*", Keeping::History)];
    let (same, other) = (streams(&history), streams(&[("a.*", Keeping::Nothing)]));
    for (theirs, expected) in [
        (same, None),
        (other, Some("`[[channel]]`")),
        (StreamPlan { count: 3, ..same }, Some("`streams = 3`")),
    ] {
        let (mut link, said_first) = link(1, &same);
        let (mut node, _) = self::link(2, &theirs);
        hears(&mut link, &sign(&mut node, &said_first), 0).unwrap();
        let problem = link.problem();
        assert_eq!(problem.is_some(), expected.is_some(), "{problem:?}");
        if let (Some(problem), Some(expected)) = (problem, expected) {
            assert!(problem.contains(expected) && problem.contains("`node-2`"), "{problem}");
        }
        // A reload gives it the same sections, and its next sign tells.
        node.keep(&same);
        node.on_time(2_000).unwrap();
        hears(&mut link, &sign(&mut node, &said_first), 2_000).unwrap();
        assert_eq!(link.problem().is_some(), theirs.count != same.count);
    }
}

#[test]
fn a_node_that_has_ended_is_a_problem_no_more() {
    let (mut link, said_first) = link(1, &streams(&[("a", Keeping::History)]));
    let (mut node, _) = self::link(2, &streams(&[]));
    hears(&mut link, &sign(&mut node, &said_first), 0).unwrap();
    assert!(link.problem().is_some());
    node.leave();
    hears(&mut link, &sign(&mut node, &said_first), 0).unwrap();
    assert_eq!(link.problem(), None);
}

#[test]
fn an_older_version_that_does_not_tell_its_sections_is_no_problem() {
    let (mut link, said_first) = link(1, &streams(&[("a", Keeping::History)]));
    let (mut node, _) = self::link(2, &streams(&[]));
    let sign = sign(&mut node, &said_first);
    let (line, form) = sign.trim_end().split_once("\r\n").unwrap();
    let mut form: serde_json::Value = serde_json::from_str(form).unwrap();
    form.as_object_mut().unwrap().remove("kept").expect("the sign tells them");
    let (form, subscription) = (form.to_string(), line.split(' ').nth(2).unwrap());
    let sign = format!("MSG v.n {subscription} {}\r\n{form}\r\n", form.len());
    hears(&mut link, &sign, 0).unwrap();
    assert_eq!((link.nodes().count(), link.problem()), (1, None));
}

#[test]
fn sections_that_change_nothing_about_what_is_kept_do_not_count() {
    let of = |sections: &[(&str, Keeping)]| streams(sections).sections;
    let (kept, not_kept) = (("a.*", Keeping::History), ("b.*", Keeping::Nothing));
    assert_eq!(of(&[kept]), of(&[kept, not_kept]), "without a section, nothing is kept");
    assert_eq!(of(&[]), of(&[not_kept]));
    assert_ne!(of(&[kept]), of(&[not_kept, kept]), "the first one that matches applies");
    assert_ne!(of(&[kept]), of(&[]));
    assert_ne!(of(&[kept]), of(&[("a.", Keeping::History), ("*", Keeping::History)]));
}
