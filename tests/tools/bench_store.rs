//! Goal: `velodrome bench store` fills a store, reads it, and counts what it finds, and a store that returns wrong
//! values or errors has no valid figures. Method: the built binary against itself, redis-server and memcached.

use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Output, Stdio};

use crate::server::channel::{connect, resp, say};
use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, Server, errors_of, free_address, has, printed_by, run};
use serde_json::Value;

/// `velodrome bench store` with these arguments.
fn bench(address: &str, words: &str) -> Output {
    let words = address.split(' ').chain(words.split_whitespace());
    run(Command::new(PROGRAM).args(["bench", "store", "-t", "1"]).args(words))
}

fn measured(address: &str, words: &str) -> Value {
    let output = bench(address, &format!("{words} --json"));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn site(config: &str) -> Server {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0");
    let store = format!("--store={}", plan.directory.join("store").display());
    plan.argument(&store).config(config).start()
}

/// The counts of requests of the only run.
fn requests(report: &Value) -> &Value {
    &report["runs"][0]["requests"]
}

/// A number of requests instead of a time: the figures do not matter here.
const FEW: &str = "--warmup 0s -d 10s --requests";

/// Another store.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        let _it_may_have_ended = self.0.kill();
        let _collected = self.0.wait();
    }
}

fn guest(program: &str, words: impl Fn(String) -> Vec<String>) -> (Guest, SocketAddr) {
    let address = free_address();
    let mut command = Command::new(program);
    command.args(words(address.port().to_string())).stdout(Stdio::null()).stderr(Stdio::null());
    let guest = Guest(command.spawn().unwrap());
    until(program, || TcpStream::connect(address).ok());
    (guest, address)
}

#[test]
fn a_store_is_filled_and_every_value_is_what_was_written() {
    let server = site("[store]\nsync = \"none\"\n");
    let address = resp(&server).to_string();
    let words = format!("{FEW} 3000 --fill --keys 500 --sets 20 --value 40 --dist zipf");
    let report = measured(&address, &words);
    let counted = requests(&report);
    assert_eq!((counted["answered"].as_u64(), counted["failed"].as_u64()), (Some(3000), Some(0)));
    let found = counted["found"].as_u64().unwrap();
    assert!((2_000..2_800).contains(&found) && counted["missing"] == 0, "{counted}");
    assert_eq!(report["plan"]["verb"], "store");
    let shown = format!("redis://{address}/zipf:500:0.99");
    assert_eq!(report["plan"]["targets"][0]["url"], shown.as_str());
    let mut redis = connect(resp(&server));
    let heard = say(&mut redis, b"DBSIZE\r\nGET key:000000000499\r\n", b"xxx\r\n");
    let value = format!("000000000499{}", "x".repeat(28));
    assert_eq!(String::from_utf8(heard).unwrap(), format!(":500\r\n$40\r\n{value}\r\n"));
    // Twice as many keys as exist: half of them are missing.
    let report = measured(&address, &format!("{FEW} 2000 --keys 1000 --value 40 --pipeline 16"));
    let (found, missing) = (&requests(&report)["found"], &requests(&report)["missing"]);
    assert_eq!(found.as_u64().unwrap() + missing.as_u64().unwrap(), 2000);
    assert!((800..1200).contains(&found.as_u64().unwrap()), "{found}");
    let text = printed_by(&bench(&address, &format!("{FEW} 100 --keys 500 --value 40")));
    assert!(text.contains("keys        100 found, 0 missing: 100.0 %"), "{text}");
}

#[test]
fn wrong_values_and_errors_are_failures() {
    let shut = site("[store]\nsync = \"none\"\n[[database]]\nname = \"0\"\nwrite = \"none\"\n");
    let output = bench(&resp(&shut).to_string(), &format!("{FEW} 100 --fill --keys 10"));
    assert_eq!(output.status.code(), Some(1));
    let told = errors_of(&output);
    assert!(told.contains("0 of 10 keys were written: the store refused others"), "{told}");
    let open = site("[store]\nsync = \"none\"\n");
    let mut redis = connect(resp(&open));
    say(&mut redis, b"SET key:000000000000 no\r\n", b"+OK\r\n");
    let address = resp(&open).to_string();
    let report = measured(&address, &format!("{FEW} 100 --keys 1"));
    assert_eq!(requests(&report)["failed_by"]["check"], 100);
    assert_eq!(report["verdict"]["state"], "invalid");
    let report = measured(&address, &format!("{FEW} 100 --keys 1 --unchecked"));
    assert_eq!(requests(&report)["found"], 100);
}

#[test]
fn reads_and_writes_are_spread_over_addresses() {
    let config = "[store]\nsync = \"none\"\n";
    let (first, second) = (site(config), site(config));
    let (one, other) = (resp(&first), resp(&second));
    let both = format!("{one} {other}");
    let report = measured(&both, &format!("{FEW} 2000 --keys 10 --sets 50 -c 4 --write-to 2"));
    let targets = report["plan"]["targets"].as_array().unwrap();
    let shown: Vec<String> = targets
        .iter()
        .map(|target| {
            format!("{} {} {}", target["method"], target["url"], target["weight"]).replace('"', "")
        })
        .collect();
    let url = |address: SocketAddr| format!("redis://{address}/uniform:10");
    let expected = [
        format!("GET {} 50", url(one)),
        format!("GET {} 50", url(other)),
        format!("SET {} 100", url(other)),
    ];
    assert_eq!(shown, expected);
    assert_eq!(requests(&report)["failed"], 0, "{report}");
    // Data that is written at one of these is never at the other.
    let size = |address: SocketAddr| say(&mut connect(address), b"DBSIZE\r\n", b"\r\n");
    assert_eq!((size(one), size(other)), (b":0\r\n".to_vec(), b":10\r\n".to_vec()));
}

#[test]
fn own_writes_are_looked_for_at_other_addresses() {
    let plan =
        Plan::new().argument("--listen-resp=127.0.0.1:0").argument("--listen-resp=127.0.0.1:0");
    let store = format!("--store={}", plan.directory.join("store").display());
    let server = plan.argument(&store).config("[store]\nsync = \"none\"\n").start();
    let addresses = until("two addresses of Redis clients", || {
        let printed = server.directory().text("stdout.txt");
        let lines = printed.lines().filter_map(|line| line.trim().strip_prefix("redis://"));
        let addresses: Vec<String> = lines.map(str::to_owned).collect();
        (addresses.len() == 2).then(|| addresses.join(" "))
    });
    let words = "--keys 10 -c 2 -d 10s --requests 30 --warmup 0s --own-writes --rate 100";
    let report = measured(&addresses, words);
    let seen = &report["own_writes"];
    assert!(seen["reads"].as_u64().unwrap() > 1, "{report}");
    assert_eq!((&seen["at_once"], &seen["went_back"]), (&seen["reads"], &0.into()), "{report}");
    let is_violated = |report: &Value| {
        let reasons = report["verdict"]["reasons"].as_array().unwrap();
        reasons.iter().any(|reason| reason["code"] == "own_writes")
    };
    assert!(!is_violated(&report), "{report}");
    // Two stores that know nothing of each other.
    let other = site("[store]\nsync = \"none\"\n");
    let (one, _) = addresses.split_once(' ').unwrap();
    let both = format!("{one} {}", resp(&other));
    let output = bench(&both, &format!("{words} --json"));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["own_writes"]["unseen"].as_u64().unwrap() > 0, "{report}");
    assert!(is_violated(&report) && output.status.code() == Some(3), "{report}");
    let text = printed_by(&bench(&both, words));
    assert!(
        text.contains("own writes  0 of ") && text.contains("of them for more than a second"),
        "{text}"
    );
}

#[test]
fn a_rate_is_kept_over_connections_that_are_held() {
    let server = site("[store]\nsync = \"none\"\n");
    let words = "--fill --keys 100 --hold -c 200 --rate 1000 -d 20s --requests 1000 --warmup 0s";
    let report = measured(&resp(&server).to_string(), words);
    assert_eq!(report["runs"][0]["connections"]["open"], 200);
    assert_eq!(requests(&report)["answered"], 1000, "{}", requests(&report));
    assert!(!report["hold"].is_null());
}

fn is_asked(address: &str) {
    let report = measured(address, &format!("{FEW} 1000 --fill --keys 100 --sets 10"));
    let counted = requests(&report);
    assert_eq!((&counted["answered"], &counted["missing"]), (&1000.into(), &0.into()), "{counted}");
}

#[test]
fn redis_and_memcached_are_asked_as_well() {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    if has("redis-server", "redis_and_memcached_are_asked_as_well") {
        let words = |port: String| owned(&["--port", &port, "--save", "", "--bind", "127.0.0.1"]);
        let (_guest, address) = guest("redis-server", words);
        is_asked(&address.to_string());
    }
    if has("memcached", "redis_and_memcached_are_asked_as_well") {
        let words =
            |port: String| owned(&["-u", "nobody", "-l", "127.0.0.1", "-U", "0", "-p", &port]);
        let (_guest, address) = guest("memcached", words);
        is_asked(&format!("memcached://{address}"));
    }
}

#[test]
fn words_that_are_wrong_are_told_with_their_mend() {
    for (address, words, expected) in [
        ("127.0.0.1", "", "is not the address of a store; write HOST:PORT"),
        ("127.0.0.1:9", "--dist hot", "is not a distribution of keys"),
        ("127.0.0.1:9", "--value 5", "say 12 at least"),
        ("127.0.0.1:9", "--sets 101", "say 0 to 100"),
        ("127.0.0.1:9", "--hold", "--rate"),
        ("127.0.0.1:9", "--keys 0", "is not a number of keys"),
        ("127.0.0.1:9", "--write-to 2", "--write-to 2: choose from 1 to 1"),
        ("127.0.0.1:9", "--own-writes", "--own-writes: give two addresses"),
        ("127.0.0.1:9 memcached://127.0.0.1:9", "", "one kind of store at a time"),
    ] {
        let output = bench(address, words);
        assert_eq!(output.status.code(), Some(2), "{address} {words}");
        assert!(errors_of(&output).contains(expected), "{words}: {}", errors_of(&output));
    }
}
