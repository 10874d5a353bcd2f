//! Posts to connections with and without a transport, in the same turn.

use world::Faults;

use super::{Client, GREETING, Stage, address};

#[test]
fn post_is_one_send_for_plain_and_for_layered_connection() {
    let mut stage = Stage::new(1, Faults::none());
    let mut client = Client::enter(&stage.world, 8443).unwrap();
    let plain = stage.world.connect(&address(80)).unwrap();
    stage.talk(&mut client);
    assert_eq!(stage.world.client_received(plain), GREETING);
    // The second time nothing of the first is left.
    for text in [&b"one"[..], b"two"] {
        let sends = stage.scheduler.stats().sends;
        stage.scheduler.service().posts = Some(text.into());
        stage.rest();
        assert_eq!(stage.world.client_received(plain), text);
        client.step(&stage.world);
        assert_eq!(std::mem::take(&mut client.heard), text);
        assert_eq!(stage.scheduler.stats().sends - sends, 2);
        assert_eq!(stage.scheduler.stats().buffered_bytes, 0);
    }
}
