//! Streams when queues hold nearly all the memory they may.

use runtime::limits::OUTBOX_BYTES;
use runtime::scheduler::SchedulerSettings;
use runtime::service::CloseReason;
use world::{Faults, Stall};

use super::{number_of, text};
use crate::streams::client::Stage;
use crate::streams::protocol::{
    ACTS, Act, DATA, END, LARGE, OPEN, RESET, WINDOW, first_frame, frame,
};

#[test]
fn when_memory_is_short_the_streams_with_most_output_give_it_back_and_others_go_on() {
    let settings = SchedulerSettings {
        connections: 100,
        buffered_bytes: 16_000,
        ..SchedulerSettings::default()
    };
    let mut stage = Stage::with(1, Faults::none(), settings);
    let mut client = stage.client().unwrap();
    let (large, echo) = (number_of(Act::Large), number_of(Act::Echo));
    // The window of each stays closed after its first bytes.
    for number in 0..4 {
        client.open(&stage.world, large + ACTS * number, b"");
        stage.talk(&mut client, 1);
        client.dialogs.clear();
    }
    stage.rest();
    let held = stage.scheduler.stats().buffered_bytes;
    assert!((12_000..13_000).contains(&held), "four answers wait: {held} bytes");
    assert_eq!(stage.closed(CloseReason::OutboxFull), 0);
    client.open(&stage.world, large + ACTS * 4, b"");
    stage.talk(&mut client, 1);
    client.dialogs.clear();
    stage.rest();
    let held = stage.scheduler.stats().buffered_bytes;
    assert!(held < 13_000, "{held} bytes are held");
    assert_eq!(stage.closed(CloseReason::OutboxFull), 1, "one is enough");
    assert_eq!(stage.closed(CloseReason::Evicted), 0, "and nobody else has to go");
    client.open(&stage.world, echo, b"still here");
    stage.talk(&mut client, 10);
    assert_eq!(client.dialogs[&echo].heard, b"STILL HERE");
    assert_eq!(stage.scheduler.stats().processes[..2], [1, 4]);
    stage.world.client_close(client.id);
    stage.rest();
    stage.assert_nothing_is_left();
}

/// Whether the received frames grant a window for a stream.
fn grants(received: &[u8], stream: u16) -> bool {
    let (mut grants, mut rest) = (false, received);
    while let Some((kind, number, _, length)) = first_frame(rest) {
        grants |= (kind, number) == (WINDOW, stream);
        rest = &rest[length..];
    }
    grants
}

#[test]
fn a_stream_that_holds_bytes_is_not_read_while_memory_is_short() {
    let settings = SchedulerSettings {
        connections: 100,
        buffered_bytes: 13_800,
        ..SchedulerSettings::default()
    };
    let mut stage = Stage::with(1, Faults::none(), settings);
    let client = stage.client().unwrap();
    let (large, echo) = (number_of(Act::Large), number_of(Act::Echo));
    let send = |stage: &mut Stage, frames: &[(u8, u16, usize)]| {
        let mut wire = Vec::new();
        for (kind, number, length) in frames {
            frame(*kind, *number, &text(*length), &mut wire);
        }
        stage.world.client_send(client.id, &wire);
        stage.rest();
        stage.world.client_received(client.id)
    };
    // More than its window lets through.
    send(&mut stage, &[(OPEN, echo, 0), (DATA, echo, 250)]);
    assert!(grants(&send(&mut stage, &[(DATA, echo, 250)]), echo), "there is memory");
    for number in 0..4 {
        send(&mut stage, &[(OPEN, large + ACTS * number, 0), (END, large + ACTS * number, 0)]);
    }
    let held = stage.scheduler.stats().buffered_bytes;
    assert!((12_420..13_110).contains(&held), "nine tenths are held: {held} bytes");
    assert!(!grants(&send(&mut stage, &[(DATA, echo, 50)]), echo), "it waits");
    assert!(grants(&send(&mut stage, &[(RESET, large, 0), (RESET, large + ACTS, 0)]), echo));
}

/// A stream that writes on though its output is full has the bound of every process.
#[test]
fn a_stream_that_ignores_that_its_output_is_full_is_closed() {
    let mut stage = Stage::new(1, Faults::none());
    let client = stage.client().unwrap();
    let echo = number_of(Act::Echo);
    let mut wire = Vec::new();
    frame(OPEN, echo, b"", &mut wire);
    stage.world.client_send(client.id, &wire);
    let mut said = Vec::new();
    frame(DATA, echo, &text(300), &mut said);
    let mut sent = 0;
    // The client grants no window for what comes back.
    while stage.closed(CloseReason::OutboxFull) == 0 && sent < 2 * OUTBOX_BYTES {
        stage.world.client_send(client.id, &said);
        stage.rest();
        sent += 300;
    }
    assert!((OUTBOX_BYTES / 2..OUTBOX_BYTES + 1_000).contains(&sent), "closed after {sent} bytes");
    assert_eq!(stage.scheduler.stats().processes[..2], [1, 0]);
}

/// It would go on, if it were asked what comes next.
#[test]
fn a_carrier_that_only_sends_its_last_output_hears_no_more_of_its_streams() {
    let mut stage = Stage::new(1, Faults::none());
    let client = stage.client().unwrap();
    let (large, late) = (number_of(Act::Large), number_of(Act::Late));
    stage.world.client_stall(client.id, Stall::Reading);
    let mut wire = Vec::new();
    frame(OPEN, late, b"", &mut wire);
    frame(END, late, b"", &mut wire);
    for number in (0..10).map(|number| large + ACTS * number) {
        frame(OPEN, number, b"", &mut wire);
        frame(END, number, b"", &mut wire);
        frame(WINDOW, number, &20_000_u16.to_be_bytes(), &mut wire);
    }
    stage.world.client_send(client.id, &wire);
    stage.world.client_end_output(client.id);
    stage.rest();
    assert_eq!(stage.scheduler.stats().processes[..2], [1, 1], "its output waits, and one stream");
    let told = stage.scheduler.service().told;
    stage.world.advance(600_000_000);
    stage.rest();
    assert_eq!(stage.scheduler.service().told, told);
    stage.world.client_stall(client.id, Stall::Nothing);
    let mut received = 0;
    for _ in 0..100 {
        received += stage.world.client_received(client.id).len();
        stage.world.advance(10_000_000);
        stage.rest();
    }
    assert!(received > 10 * LARGE, "{received} bytes");
    assert_eq!(stage.closed(CloseReason::PeerEnded) + stage.closed(CloseReason::Finished), 11);
    stage.assert_nothing_is_left();
}
