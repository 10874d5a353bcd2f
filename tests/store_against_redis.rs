//! Goal: what the store answers to clients of Redis is what Redis answers, byte by byte. Method: random commands, of several connections in turn and
//! pipelined in pieces of any size, to a redis-server and to ours; skipped and said so where there is no redis-server.
#![expect(clippy::disallowed_types, reason = "a test has sockets of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod server;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use server::channel::{connect, resp};
use server::directory::Directory;
use server::patience::{PATIENCE, until};
use server::{Plan, Server, has};

/// A redis-server on a Unix socket; ended with the test.
struct Redis {
    child: Child,
    directory: Directory,
}

impl Redis {
    fn start() -> Self {
        let directory = Directory::new();
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]);
        command.arg(directory.join("socket")).arg("--dir").arg(directory.path());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        Self { child, directory }
    }

    fn connect(&self) -> UnixStream {
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

fn ours(arguments: &[&str]) -> Server {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0");
    let store = format!("--store={}", plan.directory.join("store").display());
    let plan = arguments.iter().fold(plan.argument(&store), |plan, word| plan.argument(word));
    plan.config("[store]\nsync = \"none\"\n").start()
}

/// A number below this one, of a seed: the same ones in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        // SplitMix64, <https://prng.di.unimi.it/splitmix64.c>.
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
    ["", "1", "-5", "007", "9223372036854775807", "text", "a\r\nb", "1.5", " 1"];
const NUMBERS: [&str; 8] =
    ["0", "1", "-1", "7", "100", "9223372036854775807", "-9223372036854775808", "x"];
const TIMES: [&str; 6] = ["1000", "100000", "0", "-1", "x", "9223372036854775807"];

/// A command: mostly a right one, now and then with a word too many or too few.
fn command(random: &mut Random) -> Vec<String> {
    let key = random.pick(&KEYS);
    let (value, number, time) = (random.pick(&VALUES), random.pick(&NUMBERS), random.pick(&TIMES));
    let option = random.pick(&["NX", "XX", "GET", "KEEPTTL", "EX", "PX", "zz"]);
    let other = random.pick(&KEYS);
    let words: Vec<&str> = match random.below(40) {
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
        // Redis does not look at the time where there is no key.
        24 => vec!["GETEX", key, random.pick(&["EX", "PX", "zz"]), "100000"],
        25 => vec!["GETEX", key, "PERSIST"],
        26 => vec!["SETEX", key, time, value],
        27 => vec!["TTL", key],
        28 => vec!["PERSIST", key],
        29 => vec!["EXPIRE", key, time, random.pick(&["NX", "XX", "GT", "LT", "zz"])],
        30 => vec![random.pick(&["EXPIRE", "PEXPIRE"]), key, time],
        31 => vec!["TYPE", key],
        32 => vec!["DBSIZE"],
        33 => vec!["SELECT", random.pick(&["0", "0", "1", "16", "-1"])],
        34 => vec!["MULTI"],
        35 | 36 => vec!["EXEC"],
        37 => vec![random.pick(&["DISCARD", "UNWATCH"])],
        38 => vec!["WATCH", key, other],
        _ => vec![random.pick(&["FLUSHDB", "PING", "ECHO", "NOSUCH", "GET", "PEXPIREAT"]), key],
    };
    words.into_iter().map(str::to_owned).collect()
}

fn encoded(words: &[String]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
    }
    bytes
}

/// Sends bytes in pieces of any size, with the mark behind them, and reads up to its echo.
fn exchange(stream: &mut (impl Read + Write), bytes: &[u8], random: &mut Random) -> String {
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
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "it ended behind {:?}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&piece[..count]);
    }
    String::from_utf8_lossy(&heard).into_owned()
}

/// So many parts of commands to both, of three connections in turn.
fn compare(parts: usize, seed: u64, redis: &Redis, server: &Server) {
    let mut random = Random(seed);
    let mut theirs: Vec<UnixStream> = (0..3).map(|_| redis.connect()).collect();
    let mut ours: Vec<TcpStream> = (0..3).map(|_| connect(resp(server))).collect();
    let flush = encoded(&["FLUSHALL".to_owned()]);
    exchange(&mut theirs[0], &flush, &mut random);
    exchange(&mut ours[0], &flush, &mut random);
    let mut in_transaction = [false; 3];
    for part in 0..parts {
        let connection = random.below(3);
        let mut commands: Vec<Vec<String>> =
            (0..1 + random.below(12)).map(|_| command(&mut random)).collect();
        for words in &mut commands {
            // Both refuse it, in other words: what Redis runs within a transaction here stays outside of it.
            let is_in = &mut in_transaction[connection];
            match &*words[0] {
                "MULTI" => *is_in = true,
                "EXEC" | "DISCARD" => *is_in = false,
                "PING" | "ECHO" | "SELECT" if *is_in => *words = vec!["DBSIZE".to_owned()],
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
        assert_eq!(found, expected, "seed {seed}, part {part}, to {commands:?}");
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
        for seed in 1..=20 {
            compare(60, seed, &redis, &server);
        }
    }
}
