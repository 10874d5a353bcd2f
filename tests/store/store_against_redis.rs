//! Goal: the store answers Redis clients exactly as Redis does. Method: random commands, on several connections in turn
//! and pipelined in pieces, to redis-server and to Velodrome; skipped if redis-server is not installed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use crate::rough_times::roughly;
use crate::server::channel::{connect, resp};
use crate::server::client::read;
use crate::server::directory::Directory;
use crate::server::patience::{PATIENCE, until};
use crate::server::{Plan, Server, has};

/// A redis-server on a Unix socket; ends with the test.
pub(crate) struct Redis {
    child: Child,
    directory: Directory,
}

impl Redis {
    pub(crate) fn start() -> Self {
        let directory = Directory::new();
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]);
        command.arg(directory.join("socket")).arg("--dir").arg(directory.path());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        Self { child, directory }
    }

    pub(crate) fn connect(&self) -> UnixStream {
        let path = self.directory.join("socket");
        let stream = until("the socket of redis-server", || UnixStream::connect(&path).ok());
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

pub(crate) fn ours(arguments: &[&str]) -> Server {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0");
    let store = format!("--store={}", plan.directory.join("store").display());
    let plan = arguments.iter().fold(plan.argument(&store), |plan, word| plan.argument(word));
    plan.config("[store]\nsync = \"none\"\n").start()
}

/// Random numbers, reproducible by their seed (SplitMix64, <https://prng.di.unimi.it/splitmix64.c>).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % most as u64) as usize
    }

    fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.below(words.len())]
    }
}

const KEYS: [&str; 5] = ["a", "b", "key:1", "key:2", "\u{e9}"];
const VALUES: [&str; 9] =
    ["", "1", "-5", "007", "9223372036854775807", "te", "a\r\nb", "1.5", " 1"];
const NUMBERS: [&str; 8] =
    ["0", "1", "-1", "7", "100", "9223372036854775807", "-9223372036854775808", "x"];
const TIMES: [&str; 6] = ["1000000", "100000", "0", "-1", "x", "9223372036854775807"];

/// A command: usually valid, sometimes with a word too many or too few.
fn command(random: &mut Random) -> Vec<String> {
    let key = random.pick(&KEYS);
    let (value, number, time) = (random.pick(&VALUES), random.pick(&NUMBERS), random.pick(&TIMES));
    let option = random.pick(&["NX", "XX", "GET", "KEEPTTL", "EX", "PX", "zz"]);
    let other = random.pick(&KEYS);
    let words: Vec<&str> = match random.below(48) {
        0..=3 => vec!["GET", key],
        4..=6 => vec!["SET", key, value],
        7 => vec!["set", key, value, option],
        8 => vec!["SET", key, value, option, time],
        9 => vec!["SET", key, value, "GET", random.pick(&["NX", "XX"]), "PX", time],
        10 => vec!["MGET", key, other, "nothing"],
        11 => vec!["MSET", key, value, other, "2"],
        12 => vec!["MSETNX", key, value, other, "2"],
        13 => vec!["INCR", key],
        14 => vec!["DECR", key],
        15 => vec!["INCRBY", key, number],
        16 => vec!["DECRBY", key, number],
        17 => vec!["APPEND", key, value],
        18 => vec!["STRLEN", key],
        19 => vec!["GETRANGE", key, number, random.pick(&NUMBERS)],
        20 => vec![random.pick(&["DEL", "UNLINK", "EXISTS", "TOUCH"]), key, other, key],
        21 => vec!["SETNX", key, value],
        22 => vec!["GETSET", key, value],
        23 => vec!["GETDEL", key],
        // Redis does not check the time if the key does not exist.
        24 => vec!["GETEX", key, random.pick(&["EX", "PX", "zz"]), "100000"],
        25 => vec!["GETEX", key, "PERSIST"],
        26 => vec!["SETEX", key, time, value],
        27 => vec!["TTL", key],
        28 => vec!["PERSIST", key],
        29 if random.below(2) == 0 => {
            let flags = ["NX", "XX", "GT", "lt", "zz"];
            let (first, second) = (random.pick(&flags), random.pick(&flags));
            match random.below(3) {
                0 => vec!["EXPIRE", key, time],
                1 => vec!["EXPIRE", key, time, first],
                _ => vec![random.pick(&["EXPIRE", "PEXPIRE"]), key, time, first, second],
            }
        }
        // Times in replies must be equal, so they are fixed.
        29 => {
            let time = random.pick(&["9999999999", "9999999990"]);
            vec![
                "EXPIREAT",
                key,
                time,
                random.pick(&["GT", "LT", "XX"]),
                random.pick(&["XX", "LT"]),
            ]
        }
        30 => vec![random.pick(&["EXPIRE", "PEXPIRE"]), key, time],
        31 => vec!["TYPE", key],
        32 => vec!["DBSIZE"],
        33 => vec!["SELECT", random.pick(&["0", "0", "1", "16", "-1"])],
        34 => vec!["MULTI"],
        35 | 36 => vec!["EXEC"],
        37 => vec![random.pick(&["DISCARD", "UNWATCH"])],
        38 => vec!["WATCH", key, other],
        39..=47 => changed(random),
        _ => vec![random.pick(&["FLUSHDB", "PING", "ECHO", "NOSUCH", "GET", "PEXPIREAT"]), key],
    };
    words.into_iter().map(str::to_owned).collect()
}

/// A command that changes a part of a value, gives it to another key, or has several options.
fn changed(random: &mut Random) -> Vec<&'static str> {
    let (key, other) = (random.pick(&KEYS), random.pick(&KEYS));
    let (value, time) = (random.pick(&VALUES), random.pick(&TIMES));
    let option = random.pick(&["NX", "XX", "GET", "KEEPTTL", "EX", "PX", "zz"]);
    match random.below(9) {
        0 => vec!["SETRANGE", key, random.pick(&["0", "1", "7", "-1", "x"]), value],
        // Redis' numbers are binary, so sums are the same only if their fractions are.
        1 => vec![
            "INCRBYFLOAT",
            random.pick(&["sum", "sum", "text"]),
            random.pick(&["1.5", "-0.25", "3", "1e2", "x", "nan", "inf"]),
        ],
        2 => vec![random.pick(&["RENAME", "RENAMENX"]), key, other],
        3 => vec!["COPY", key, other],
        4 => vec!["COPY", key, other, random.pick(&["REPLACE", "zz"])],
        5 => vec![
            "SET",
            key,
            value,
            option,
            random.pick(&["1000", "NX", "XX"]),
            random.pick(&["NX", "EX", "GET"]),
        ],
        6 => vec!["SET", key, value, "EX", time, "EX", random.pick(&["1000", "x"]), option],
        8 => vec!["SET", random.pick(&["text", "sum"]), random.pick(&["x", "1.", ".5", "-3e1"])],
        _ => vec![
            "GETEX",
            key,
            random.pick(&["EX", "PX", "PERSIST"]),
            random.pick(&["x", "0", "100000"]),
        ],
    }
}

pub(crate) fn encoded(words: &[String]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
    }
    bytes
}

/// Sends bytes in pieces of random size with a marker after them, and reads up to the echo of the marker.
pub(crate) fn exchange(
    stream: &mut (impl Read + Write),
    bytes: &[u8],
    random: &mut Random,
) -> String {
    const MARK: &str = "the end of this part";
    let mark = encoded(&["ECHO".to_owned(), MARK.to_owned()]);
    let all = [bytes, &mark].concat();
    let mut rest = &all[..];
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at((1 + random.below(400)).min(rest.len()));
        stream.write_all(piece).unwrap();
        rest = behind;
    }
    let (mut heard, mut piece) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&heard).contains(MARK) {
        let count = read(stream, &mut piece).unwrap();
        assert!(count > 0, "it ended behind {:?}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&piece[..count]);
    }
    String::from_utf8_lossy(&heard).into_owned()
}

/// A connection without Nagle's algorithm.
pub(crate) fn prompt(server: &Server) -> TcpStream {
    let stream = connect(resp(server));
    stream.set_nodelay(true).unwrap();
    stream
}

/// Sends that many batches of commands to both servers, on three connections in turn.
fn compare(parts: usize, seed: u64, redis: &Redis, server: &Server) {
    let mut random = Random(seed);
    let mut theirs: Vec<UnixStream> = (0..3).map(|_| redis.connect()).collect();
    let mut ours: Vec<TcpStream> = (0..3).map(|_| prompt(server)).collect();
    let flush = encoded(&["FLUSHALL".to_owned()]);
    exchange(&mut theirs[0], &flush, &mut random);
    exchange(&mut ours[0], &flush, &mut random);
    let mut in_transaction = [false; 3];
    for part in 0..parts {
        let connection = random.below(3);
        let mut commands: Vec<Vec<String>> =
            (0..1 + random.below(12)).map(|_| command(&mut random)).collect();
        // A key that did not exist, was written and was deleted again counts as changed in Redis, and as unchanged
        // here.
        let there = |words: Vec<String>| {
            let keys = if words[0] == "WATCH" { words[1..].to_vec() } else { Vec::new() };
            let set = |key: String| vec!["SETNX".to_owned(), key, "1".to_owned()];
            keys.into_iter().map(set).chain([words]).collect::<Vec<_>>()
        };
        commands = commands.into_iter().flat_map(there).collect();
        for words in &commands {
            match &*words[0] {
                "MULTI" => in_transaction[connection] = true,
                "EXEC" | "DISCARD" => in_transaction[connection] = false,
                _ => {}
            }
        }
        if in_transaction[connection] {
            commands.push(vec!["EXEC".to_owned()]);
            in_transaction[connection] = false;
        }
        let bytes: Vec<u8> = commands.iter().flat_map(|words| encoded(words)).collect();
        let expected = exchange(&mut theirs[connection], &bytes, &mut random);
        let found = exchange(&mut ours[connection], &bytes, &mut random);
        // All other replies are compared exactly.
        let shows_time = commands.iter().any(|words| words[0] == "TTL");
        let rounded = |replies: String| if shows_time { roughly(&replies) } else { replies };
        let (found, expected) = (rounded(found), rounded(expected));
        assert_eq!(found, expected, "seed {seed}, part {part}, to {commands:?}");
        // The two servers list keys in different orders.
        let pattern = random.pick(&["*", "key:*", "?", "[a-b]", "k*:2", "\\u{e9}", "nothing"]);
        let count = 1 + random.below(4);
        let expected = listed(&mut theirs[connection], pattern, count);
        let found = listed(&mut ours[connection], pattern, count);
        assert_eq!(found, expected, "seed {seed}, part {part}, {pattern} behind {commands:?}");
    }
}

/// The matching keys, by `KEYS` and by a complete `SCAN`.
fn listed(
    stream: &mut (impl Read + Write),
    pattern: &str,
    count: usize,
) -> (Vec<String>, Vec<String>) {
    let mut ask = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        // The number of `SCAN` calls depends on the order of the keys, so these have markers of their own.
        let heard = exchange(stream, &encoded(&words), &mut Random(1));
        let lines: Vec<String> = heard.split("\r\n").map(str::to_owned).collect();
        // Without the marker and the line after it.
        lines[..lines.len() - 3].to_vec()
    };
    // A head, then two lines for each key.
    let keys_of = |lines: &[String]| -> Vec<String> {
        lines[1..].chunks(2).map(|key| key[1].clone()).collect()
    };
    let mut keys = keys_of(&ask(&["KEYS", pattern]));
    let (mut scanned, mut cursor) = (Vec::new(), "0".to_owned());
    loop {
        let lines = ask(&["SCAN", &cursor, "MATCH", pattern, "COUNT", &count.to_string()]);
        scanned.extend(keys_of(&lines[3..]));
        cursor.clone_from(&lines[2]);
        if cursor == "0" {
            break;
        }
    }
    keys.sort_unstable();
    scanned.sort_unstable();
    scanned.dedup();
    (keys, scanned)
}

/// A command of a subscriber or a publisher.
fn about_channels(random: &mut Random) -> Vec<String> {
    let channels = ["a", "b", "news:1", "\u{e9}"];
    let patterns = ["?*", "news:*", "?", "[ab]"];
    let (name, other) = (random.pick(&channels), random.pick(&channels));
    let (glob, more) = (random.pick(&patterns), random.pick(&patterns));
    let words: Vec<&str> = match random.below(12) {
        0..=2 => vec!["SUBSCRIBE", name, other],
        3 => vec!["PSUBSCRIBE", glob],
        4 => vec!["PSUBSCRIBE", glob, more],
        5 => vec!["UNSUBSCRIBE", name],
        6 => vec!["PUNSUBSCRIBE", glob],
        7 => vec!["UNSUBSCRIBE", name, other, name],
        8 => vec!["GET", name],
        9 => vec!["PING"],
        _ => vec!["SUBSCRIBE", name],
    };
    words.into_iter().map(str::to_owned).collect()
}

/// Sends commands and reads up to the reply to a final ping, which subscribers may send as well.
fn listen(stream: &mut (impl Read + Write), commands: &[u8]) -> String {
    stream.write_all(&[commands, b"PING the-mark\r\n"].concat()).unwrap();
    let (mut heard, mut piece) = (Vec::new(), [0; 4096]);
    while !heard.ends_with(b"the-mark\r\n") {
        let count = read(stream, &mut piece).unwrap();
        assert!(count > 0, "it ended behind {:?}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&piece[..count]);
    }
    String::from_utf8_lossy(&heard).into_owned()
}

/// Sorts replies: messages of several matching patterns arrive in any order.
fn in_order(heard: &str) -> Vec<String> {
    const PATTERN: &str = "*4\r\n$8\r\npmessage\r\n";
    let mut replies: Vec<String> =
        heard.split_inclusive("\r\n").fold(Vec::new(), |mut replies: Vec<String>, line| {
            match replies.last_mut() {
                Some(last) if !line.starts_with(['*', '-']) => last.push_str(line),
                _ => replies.push(line.to_owned()),
            }
            replies
        });
    for run in
        replies.chunk_by_mut(|one, next| [one, next].iter().all(|of| of.starts_with(PATTERN)))
    {
        run.sort_unstable();
    }
    replies
}

#[test]
fn subscriptions_are_answered_as_by_redis() {
    if !has("redis-server", "subscriptions_are_answered_as_by_redis") {
        return;
    }
    let (redis, server) = (Redis::start(), ours(&["--schedulers=1"]));
    for seed in 1..=10 {
        let mut random = Random(seed);
        let mut theirs: Vec<UnixStream> = (0..3).map(|_| redis.connect()).collect();
        let mut ours: Vec<TcpStream> = (0..3).map(|_| prompt(&server)).collect();
        for part in 0..60 {
            // The third client publishes and never subscribes.
            let connection = random.below(3);
            let commands: Vec<Vec<String>> = match connection {
                2 => {
                    let name = random.pick(&["a", "b", "news:1", "\u{e9}", "none"]);
                    let count = ["PUBSUB", "NUMSUB", name, "a"].map(str::to_owned).to_vec();
                    vec![["PUBLISH", name, "text"].map(str::to_owned).to_vec(), count]
                }
                _ => (0..1 + random.below(4)).map(|_| about_channels(&mut random)).collect(),
            };
            let bytes: Vec<u8> = commands.iter().flat_map(|words| encoded(words)).collect();
            let expected = in_order(&listen(&mut theirs[connection], &bytes));
            let found = in_order(&listen(&mut ours[connection], &bytes));
            assert_eq!(found, expected, "seed {seed}, part {part}, to {commands:?}");
        }
        drop((theirs, ours));
        until("subscriptions that have ended", || {
            let mut third = (redis.connect(), connect(resp(&server)));
            let ask = b"PUBSUB NUMPAT\r\nPUBSUB CHANNELS\r\n";
            let told = (listen(&mut third.0, ask), listen(&mut third.1, ask));
            (told.0.starts_with(":0\r\n*0\r\n") && told.1.starts_with(":0\r\n*0\r\n")).then_some(())
        });
    }
}

#[test]
fn random_commands_are_answered_as_by_redis() {
    if !has("redis-server", "random_commands_are_answered_as_by_redis") {
        return;
    }
    let redis = Redis::start();
    for schedulers in ["--schedulers=1", "--schedulers=2"] {
        let server = ours(&[schedulers]);
        for seed in 1..=30 {
            compare(60, seed, &redis, &server);
        }
    }
}
