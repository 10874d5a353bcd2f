//! Goal: after `kill -9` at any moment every answered write exists, and no transaction in part. Method: clients write
//! pairs in transactions while the server is killed repeatedly; after each start the pairs are checked.
//! `VELODROME_KILLS=1000` sets the number of rounds.

use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use crate::server::Plan;
use crate::server::channel::{connect, resp, say};
use crate::server::client::read;

const ROUNDS: u64 = 60;

/// The number of clients.
const WRITERS: usize = 4;

/// A transaction that writes the same number twice, deletes a key of the previous transaction, and writes a large
/// value.
fn pair(writer: usize, number: u64) -> Vec<u8> {
    let commands = [
        "MULTI".to_owned(),
        format!("SET first:{writer} {number}"),
        format!("DEL part:{writer}:{}", number - 1),
        format!("SET part:{writer}:{number} {}", "x".repeat(1 + (number % 50) as usize * 200)),
        format!("SET second:{writer} {number}"),
        "EXEC".to_owned(),
    ];
    commands.iter().flat_map(|command| format!("{command}\r\n").into_bytes()).collect()
}

/// Writes pairs from a number on until the server is killed. Returns the last number that was answered.
fn write(mut stream: TcpStream, writer: usize, mut number: u64, answered: &dyn Fn()) -> u64 {
    loop {
        number += 1;
        if stream.write_all(&pair(writer, number)).is_err() {
            return number - 1;
        }
        // `OK`, four times `QUEUED`, and the outcomes.
        let end = b"*4\r\n+OK\r\n";
        let (mut heard, mut piece) = (Vec::new(), [0; 256]);
        let is_whole = |heard: &[u8]| {
            let begin = heard.windows(end.len()).position(|part| part == end);
            begin.is_some_and(|at| heard[at..].iter().filter(|byte| **byte == b'\n').count() >= 5)
        };
        while !is_whole(&heard) {
            match read(&mut stream, &mut piece) {
                Ok(count @ 1..) => heard.extend_from_slice(&piece[..count]),
                _ => return number - 1,
            }
        }
        answered();
    }
}

/// Waits until that many pairs were answered.
fn wait_for(count: u64, answers: &Receiver<()>) {
    for _ in 0..count {
        answers.recv().unwrap();
    }
}

#[test]
fn nothing_is_lost_or_half_there() {
    let rounds = std::env::var("VELODROME_KILLS").map_or(ROUNDS, |text| text.parse().unwrap());
    let sync = ["commit", "log", "interval", "none"];
    let mut servers = sync.map(|sync| {
        let plan = Plan::new().argument("--listen-resp=127.0.0.1:0").argument("--schedulers=2");
        let store = format!("--store={}", plan.directory.join("store").display());
        Some(plan.argument(&store).config(&format!("[store]\nsync = \"{sync}\"\n")).start())
    });
    let mut known = [[0; WRITERS]; 4];
    for round in 0..rounds {
        let kind = (round % 4) as usize;
        let server = servers[kind].take().unwrap();
        let (tell, answers) = channel();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (tell, from) = (tell.clone(), known[kind][writer]);
                let stream = connect(resp(&server));
                thread::spawn(move || write(stream, writer, from, &|| tell.send(()).unwrap_or(())))
            })
            .collect();
        // A moment between two answers, different in each round.
        wait_for(1 + round * 7 % 90, &answers);
        let server = server.kill_and_restart();
        let answered: Vec<u64> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        let mut client = connect(resp(&server));
        for (writer, answered) in answered.into_iter().enumerate() {
            let ask = format!(
                "MGET first:{writer} second:{writer}\r\nKEYS part:{writer}:*\r\nECHO end\r\n"
            );
            let told = say(&mut client, ask.as_bytes(), b"end\r\n");
            let told = String::from_utf8_lossy(&told).into_owned();
            let words: Vec<&str> = told.split("\r\n").collect();
            let found: u64 = words[2].parse().unwrap_or(0);
            let about = format!("round {round}, writer {writer}, {answered} answered: {told}");
            assert!(found == answered || found == answered + 1, "{about}");
            if found > 0 {
                assert_eq!(words[2], words[4], "{about}");
                assert_eq!(
                    words[5..8],
                    ["*1", words[6], &*format!("part:{writer}:{found}")],
                    "{about}"
                );
            }
            known[kind][writer] = found;
        }
        servers[kind] = Some(server);
    }
}
