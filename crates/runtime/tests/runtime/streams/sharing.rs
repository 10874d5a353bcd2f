//! Many streams of one connection beside another connection.

use runtime::limits::STREAM_RUNS_BESIDE_OTHERS;
use world::Faults;

use crate::streams::client::Stage;
use crate::streams::protocol::ACTS;

#[test]
fn many_streams_of_one_connection_have_a_share_of_a_turn_that_others_want() {
    for has_other in [false, true] {
        let mut stage = Stage::new(1, Faults::none());
        let mut many = stage.client().unwrap();
        let mut one = stage.client().unwrap();
        stage.rest();
        for number in 0..200 {
            many.open(&stage.world, number * ACTS, b"hello");
        }
        if has_other {
            one.open(&stage.world, 0, b"hello");
            one.step(&stage.world, 100);
        }
        stage.turn();
        let begun = stage.scheduler.service().streams_begun;
        if !has_other {
            assert_eq!(begun, 200, "nobody else wants anything");
            continue;
        }
        assert_eq!(begun, STREAM_RUNS_BESIDE_OTHERS as u64 + 1);
        one.step(&stage.world, 100);
        assert_eq!(one.dialogs[&0].heard, b"HELLO", "it is answered before the others have begun");
        stage.talk(&mut many, 300);
        assert!(many.dialogs.values().all(|dialog| dialog.heard == b"HELLO"));
    }
}
