//! Goal: no answer waits for a wake-up that was lost.
//!
//! Method: two schedulers and the writer of the store, all of which sleep between requests, and clients that wait for
//! each answer and pause for a varying time, so that messages between threads arrive at every moment of going to sleep.
//! `VELODROME_STRESS_SECONDS` sets for how long.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::server::Plan;
use crate::server::channel::{connect, resp, say};
use crate::server::patience::pace;

const SECONDS: u64 = 2;
const CLIENTS: u64 = 4;
/// Enough that both schedulers are the home of some.
const CHANNELS: u64 = 32;
/// The longest pause: longer than a scheduler polls before it sleeps.
const PAUSE_US: u64 = 400;

/// Publishes and writes until the time is over; returns how often, and the longest time for an answer.
fn ask_on(address: SocketAddr, number: u64, until: Instant) -> (u64, Duration) {
    let mut client = connect(address);
    let (mut asked, mut slowest) = (0, Duration::ZERO);
    let mut random = number;
    while Instant::now() < until {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (channel, pause_us) = ((random >> 33) % CHANNELS, (random >> 40) % PAUSE_US);
        let (command, end) = match asked % 8 {
            0 => (format!("MULTI\r\nSET k{number} {asked}\r\nEXEC\r\n"), "*1\r\n+OK\r\n"),
            _ => (format!("PUBLISH c{channel} {asked}\r\n"), ":0\r\n"),
        };
        let began = Instant::now();
        // Panics after the patience of all tests.
        say(&mut client, command.as_bytes(), end.as_bytes());
        slowest = slowest.max(began.elapsed());
        asked += 1;
        pace(Duration::from_micros(pause_us));
    }
    (asked, slowest)
}

#[test]
fn every_client_is_answered_while_the_threads_go_to_sleep() {
    let seconds = std::env::var("VELODROME_STRESS_SECONDS").ok();
    let seconds = seconds.map_or(SECONDS, |seconds| seconds.parse().unwrap());
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0").argument("--schedulers=2");
    let store = plan.directory.join("store").display().to_string();
    let server = plan.argument(&format!("--store={store}")).start();
    let address = resp(&server);
    let mut results = Vec::new();
    // One client alone first: then nothing else ends a sleep that should have ended.
    for clients in [1, CLIENTS] {
        let until = Instant::now() + Duration::from_secs(seconds) / 2;
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..clients)
                .map(|number| scope.spawn(move || ask_on(address, number, until)))
                .collect();
            results.extend(clients.into_iter().map(|client| client.join().unwrap()));
        });
    }
    let asked: u64 = results.iter().map(|(asked, _)| asked).sum();
    let slowest = results.iter().map(|(_, slowest)| *slowest).max().unwrap();
    println!("{asked} requests in {seconds} s, the slowest answer after {slowest:?}");
    assert!(asked > 0);
}
