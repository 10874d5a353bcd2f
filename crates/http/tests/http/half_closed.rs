//! A client that ends its output and takes its answers slowly, in the simulated world.

use http::{Function, Http, HttpSettings, Reply, Request, Status};
use runtime::scheduler::TurnWait;
use world::{Stage, Stall};

/// More than may be queued for a client that keeps asking.
const LONG: usize = 400_000;

fn answer(_: &Request<'_>, reply: &mut Reply<'_>) {
    reply.send(Status::OK, "text/plain", &[b'x'; LONG]);
}

#[test]
fn requests_that_wait_behind_a_full_queue_cost_no_turns_when_the_client_has_ended_its_output() {
    let mut stage =
        Stage::new(1, || Http::new(Function(answer), HttpSettings::default().into(), None));
    let client = stage.connect();
    stage.world().client_stall(client, Stall::Reading);
    stage.world().client_send(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3).as_bytes());
    stage.world().client_end_output(client);
    let scheduler = &mut stage.schedulers()[0];
    let busy = (0..200).filter(|_| matches!(scheduler.turn(TurnWait::Forbidden), Ok(true))).count();
    assert!(busy < 20, "{busy} turns for a client that takes nothing");
    stage.world().client_stall(client, Stall::Nothing);
    assert_eq!(stage.received(client).matches("HTTP/1.1 200 OK").count(), 3);
    assert!(stage.is_closed(client));
}
