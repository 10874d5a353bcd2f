//! Many streams of one connection beside another connection.

use runtime::limits::STREAM_TICKS_BESIDE_OTHERS;
use world::Faults;

use crate::streams::client::{Client, Stage};
use crate::streams::protocol::{ACTS, WORK_TICKS};

/// Streams that use up the share of their carrier.
const SHARE: u64 = STREAM_TICKS_BESIDE_OTHERS / WORK_TICKS;

/// A stage on which the events of streams take time, with two connections.
fn stage() -> (Stage, Client, Client) {
    let mut stage = Stage::new(1, Faults::none());
    let (many, one) = (stage.client().unwrap(), stage.client().unwrap());
    stage.rest();
    stage.scheduler.service().works_in = Some(stage.world.clone());
    (stage, many, one)
}

#[test]
fn many_streams_of_one_connection_have_a_share_of_a_turn_that_others_want() {
    for has_other in [false, true] {
        let (mut stage, mut many, mut one) = stage();
        let before = stage.scheduler.service().streams_begun;
        for number in 0..200 {
            many.open(&stage.world, number * ACTS, b"hello");
        }
        if has_other {
            one.open(&stage.world, 0, b"hello");
            one.step(&stage.world, 100);
        }
        stage.turn();
        let begun = stage.scheduler.service().streams_begun - before;
        if !has_other {
            assert_eq!(begun, 200, "nobody else wants anything");
            continue;
        }
        assert_eq!(begun, SHARE + 1);
        one.step(&stage.world, 100);
        stage.turn();
        one.step(&stage.world, 100);
        assert_eq!(one.dialogs[&0].heard, b"HELLO", "it is answered before the others have begun");
        stage.talk(&mut many, 300);
        assert!(many.dialogs.values().all(|dialog| dialog.heard == b"HELLO"));
    }
}

#[test]
fn streams_that_run_are_not_held_up_by_those_that_begin() {
    let (mut stage, mut many, mut one) = stage();
    many.open(&stage.world, 0, b"hello");
    many.step(&stage.world, 3);
    stage.rest();
    // The rest of its input comes together with many that begin, while another connection wants something.
    for number in 1..200 {
        many.open(&stage.world, number * ACTS, b"hello");
    }
    many.step(&stage.world, 100);
    for number in 0..3 {
        one.open(&stage.world, number * ACTS, b"hello");
        one.step(&stage.world, 100);
        stage.turn();
    }
    many.step(&stage.world, 100);
    assert_eq!(many.dialogs[&0].heard, b"HELLO");
    assert!(many.dialogs.values().filter(|dialog| dialog.heard.is_empty()).count() > 150);
}
