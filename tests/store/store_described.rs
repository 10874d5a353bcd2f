//! Goal: `COMMAND` describes each command as Redis does, so client libraries send it to the right place. Method: the
//! rows of the table, one after the other, compared with what redis-server says.

use std::io::{Read, Write};

use crate::server::has;
use crate::store_against_redis::{Random, Redis, encoded, exchange, ours, prompt};

/// The description of a command by a server: its number of words, its first and last key with their distance, and
/// whether it reads or writes.
fn described(stream: &mut (impl Read + Write), name: &str) -> Vec<String> {
    let words = ["COMMAND", "INFO", name].map(str::to_owned);
    let heard = exchange(stream, &encoded(&words), &mut Random(1));
    let numbers = heard.split("\r\n").filter(|line| line.starts_with(':')).take(4);
    let access = heard.split("\r\n").find(|line| matches!(*line, "+readonly" | "+write"));
    numbers.chain(access).map(str::to_owned).collect()
}

#[test]
fn each_command_is_described_as_by_redis() {
    if !has("redis-server", "each_command_is_described_as_by_redis") {
        return;
    }
    let (redis, server) = (Redis::start(), ours(&["--schedulers=1"]));
    let (mut theirs, mut ours) = (redis.connect(), prompt(&server));
    let names =
        exchange(&mut ours, &encoded(&["COMMAND", "LIST"].map(str::to_owned)), &mut Random(1));
    let mut names: Vec<&str> = names.split("\r\n").skip(2).step_by(2).collect();
    // The marker.
    names.pop();
    assert!(names.len() > 60, "{names:?}");
    for name in names {
        let (found, expected) = (described(&mut ours, name), described(&mut theirs, name));
        match name {
            // Redis describes their subcommands instead.
            "memory" | "object" => assert_eq!(found[0], expected[0], "{name}"),
            // It reads the keys, for which a client needs the right to read.
            "watch" => assert_eq!(found[..4], expected, "{name}"),
            _ => assert_eq!(found, expected, "{name}"),
        }
    }
}
