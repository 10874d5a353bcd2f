//! The board of `examples/board.rs` on two schedulers of a simulated world: what Rust code publishes reaches all
//! subscribers.

#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../../examples/board.rs"]
mod board;

use board::Board;
use world::{ClientId, Stage};

/// The data of the events that a client received.
fn heard(stage: &mut Stage<Board>, client: ClientId) -> Vec<String> {
    stage.rest();
    let text = stage.received(client);
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.map(str::to_owned).collect()
}

#[test]
fn published_message_reaches_all_schedulers() {
    let mut stage = Stage::new(2, Board::default);
    let readers: Vec<ClientId> = (0..8).map(|_| stage.connect()).collect();
    for scheduler in stage.schedulers() {
        assert!(scheduler.processes() > 0, "readers are on both");
    }
    stage.send(readers[0], b"one\ntwo\nthr");
    stage.send(readers[0], b"ee\n");
    for reader in &readers {
        assert_eq!(heard(&mut stage, *reader), ["one", "two", "three"]);
    }
    for number in 4..=12 {
        stage.send(readers[7], format!("{number}\n").as_bytes());
    }
    let late = stage.connect();
    stage.send(readers[1], b"end\n");
    assert_eq!(heard(&mut stage, late), ["end"], "what came before is not kept");
    let all: Vec<String> = (4..=12).map(|number| number.to_string()).collect();
    assert_eq!(heard(&mut stage, readers[2])[..9], all, "in order");
    for reader in readers {
        stage.world().client_close(reader);
    }
    stage.rest();
    let left: usize = stage.schedulers().iter().map(|scheduler| scheduler.processes()).sum();
    assert_eq!(left, 1);
}
