//! The chat of `examples/chat.rs` on two schedulers of a simulated world: each line reaches all members.

#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../../examples/chat.rs"]
mod chat;

use chat::Chat;
use world::{ClientId, Stage};

#[test]
fn a_line_reaches_all_members_on_both_schedulers() {
    let mut stage = Stage::new(2, Chat::default);
    let members: Vec<ClientId> = (0..8).map(|_| stage.connect()).collect();
    for scheduler in stage.schedulers() {
        assert!(scheduler.processes() > 0, "members are on both");
    }
    stage.send(members[0], b"one\ntw");
    stage.send(members[7], b"three\n");
    stage.send(members[0], b"o\n");
    for member in &members {
        assert_eq!(stage.received(*member), "one\nthree\ntwo\n");
    }
    stage.world().client_close(members[0]);
    stage.rest();
    stage.send(members[1], b"four\n");
    assert_eq!(stage.received(members[7]), "four\n");
    let members: usize = stage.schedulers().iter().map(|scheduler| scheduler.processes()).sum();
    assert_eq!(members, 7);
}
