//! Goal: the store keeps its guarantees whatever happens to the server and its clients. Method: Redis clients against
//! the built server, which is killed, drained, reloaded and filled.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::server::channel::{API_KEY, connect, resp, say};
use crate::server::client::{Client, text};
use crate::server::patience::until;
use crate::server::{Ending, Plan, Server, errors_of, free_address, printed_by, run};

fn plan(config: &str) -> Plan {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0");
    let store = format!("--store={}", plan.directory.join("store").display());
    plan.argument(&store).config(config)
}

fn start(config: &str) -> Server {
    plan(config).start()
}

/// Sends lines and returns the replies, up to that of a final ping.
fn ask(stream: &mut TcpStream, lines: &str) -> String {
    let heard = say(stream, format!("{lines}PING the-end\r\n").as_bytes(), b"the-end\r\n");
    let text = String::from_utf8_lossy(&heard).into_owned();
    text.strip_suffix("$7\r\nthe-end\r\n").unwrap().to_owned()
}

#[test]
fn acknowledged_write_survives_kill() {
    let mut server = start("[store]\nsync = \"none\"\n");
    let mut written = 0;
    for round in 0..5 {
        let mut client = connect(resp(&server));
        // The last commands may be unanswered when the server is killed.
        for _ in 0..20 {
            for _ in 0..10 {
                client.write_all(format!("SET key:{written} {written}\r\n").as_bytes()).unwrap();
                written += 1;
            }
            let mut answers = [0; 50];
            client.read_exact(&mut answers).unwrap();
            assert_eq!(&answers, "+OK\r\n".repeat(10).as_bytes());
        }
        server = server.kill_and_restart();
        let mut client = connect(resp(&server));
        for number in [0, written / 2, written - 1] {
            let expected = format!("${}\r\n{number}\r\n", number.to_string().len());
            assert_eq!(ask(&mut client, &format!("GET key:{number}\r\n")), expected, "{round}");
        }
        assert_eq!(ask(&mut client, "DBSIZE\r\n"), format!(":{written}\r\n"));
    }
}

#[test]
fn a_client_that_ends_its_output_gets_all_its_replies() {
    let server = start("");
    let mut client = connect(resp(&server));
    client.write_all(b"SET a 1\r\nINCR a\r\nGET a\r\nMULTI\r\nINCR a\r\nEXEC\r\n").unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let mut heard = String::new();
    client.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "+OK\r\n:2\r\n$1\r\n2\r\n+OK\r\n+QUEUED\r\n*1\r\n:3\r\n");
}

#[test]
fn a_client_that_leaves_a_transaction_leaves() {
    let server = start("");
    for lines in ["MULTI\r\nSET a 1\r\n", "WATCH a\r\n", "MULTI\r\nNOSUCH\r\n"] {
        let mut client = connect(resp(&server));
        client.write_all(lines.as_bytes()).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let mut heard = String::new();
        client.read_to_string(&mut heard).unwrap();
        assert!(heard.starts_with("+OK\r\n"), "{heard}");
    }
    assert_eq!(ask(&mut connect(resp(&server)), "DBSIZE\r\n"), ":0\r\n");
    until("what they kept to be given back", || {
        (server.count("/store/kept_bytes") == 0).then_some(())
    });
}

#[test]
fn a_server_that_is_told_to_end_answers_what_it_was_asked() {
    let mut server = start("schedulers = 2\n");
    let mut clients: Vec<TcpStream> = (0..8).map(|_| connect(resp(&server))).collect();
    for client in &mut clients {
        ask(client, "");
        client.write_all("INCR n\r\n".repeat(50).as_bytes()).unwrap();
    }
    let mut answered = 0;
    for client in &mut clients {
        let mut first = [0; 1];
        client.read_exact(&mut first).unwrap();
        assert_eq!(first, *b":");
        answered += 1;
    }
    server.signal("TERM");
    for mut client in clients {
        let mut rest = String::new();
        client.read_to_string(&mut rest).unwrap();
        answered += rest.matches(':').count();
        assert!(rest.ends_with("\r\n"), "{rest}");
    }
    assert!(server.wait().success());
    let server = server.kill_and_restart();
    let mut client = connect(resp(&server));
    let count = ask(&mut client, "GET n\r\n");
    let count: usize = count.lines().nth(1).unwrap().parse().unwrap();
    assert!(count >= answered, "{count} of {answered}");
}

#[test]
fn a_second_server_of_a_store_says_that_it_does_not_make_the_checkpoints() {
    let first = plan("[store]\nsync = \"log\"\n");
    let path = format!("--store={}", first.directory.join("store").display());
    let mut first = first.start();
    let second = || {
        let config = "[store]\nsync = \"interval\"\n";
        Plan::new().argument("--listen-resp=127.0.0.1:0").argument(&path).config(config).start()
    };
    let with_first = second();
    assert_eq!(ask(&mut connect(resp(&with_first)), "SET key value\r\n"), "+OK\r\n");
    assert_eq!(ask(&mut connect(resp(&first)), "GET key\r\n"), "$5\r\nvalue\r\n");
    assert!(with_first.printed_errors().contains("another server makes the checkpoints"));
    assert_eq!(first.printed_errors(), "");
    first.signal("TERM");
    assert!(first.wait().success());
    assert_eq!(second().printed_errors(), "");
}

#[test]
fn a_scan_on_any_connection_gives_each_key() {
    let server = start("schedulers = 2\n[store]\nsync = \"none\"\n");
    let mut clients: Vec<TcpStream> = (0..4).map(|_| connect(resp(&server))).collect();
    let pairs: String = (0..500).map(|number| format!(" key:{number} x")).collect();
    assert_eq!(ask(&mut clients[0], &format!("MSET{pairs}\r\n")), "+OK\r\n");
    let (mut keys, mut cursor, mut turn) = (Vec::new(), "0".to_owned(), 0);
    loop {
        turn += 1;
        let reply =
            ask(&mut clients[turn % 4], &format!("SCAN {cursor} MATCH key:*7 COUNT 37\r\n"));
        let mut lines = reply.lines();
        assert_eq!(lines.next(), Some("*2"));
        cursor = lines.nth(1).unwrap().to_owned();
        keys.extend(lines.skip(2).step_by(2).map(str::to_owned));
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(turn, 14);
    keys.sort();
    let mut expected: Vec<String> = (0..50)
        .map(|number| {
            format!("key:{}7", if number == 0 { String::new() } else { number.to_string() })
        })
        .collect();
    expected.sort();
    assert_eq!(keys, expected);
    // A list of several pages, also for a client that watches a key.
    for part in 0..10 {
        let pairs: String = (0..1_000).map(|number| format!(" other:{part}:{number} x")).collect();
        assert_eq!(ask(&mut clients[0], &format!("MSET{pairs}\r\n")), "+OK\r\n");
    }
    assert_eq!(ask(&mut clients[0], "WATCH a\r\n"), "+OK\r\n");
    let listed = ask(&mut clients[0], "KEYS key:*7\r\n");
    assert_eq!(listed.lines().next(), Some("*50"));
}

#[test]
fn the_largest_value_goes_in_and_comes_out_and_a_larger_one_does_not() {
    let server = start("");
    let mut client = connect(resp(&server));
    let value = vec![b'v'; 16 * 1024 * 1024];
    client
        .write_all(format!("*3\r\n$3\r\nSET\r\n$1\r\nv\r\n${}\r\n", value.len()).as_bytes())
        .unwrap();
    client.write_all(&value).unwrap();
    assert_eq!(say(&mut client, b"\r\n", b"\r\n"), b"+OK\r\n");
    client.write_all(b"GET v\r\n").unwrap();
    let mut heard = vec![0; value.len() + 13];
    client.read_exact(&mut heard).unwrap();
    assert_eq!(&heard[..13], b"$16777216\r\nvv");
    assert!(ask(&mut client, "APPEND v x\r\n").starts_with("-ERR string exceeds maximum"));
    assert!(
        ask(&mut client, &format!("SET {} 1\r\n", "k".repeat(504)))
            .starts_with("-ERR a key has 1 to 503")
    );
}

#[test]
fn a_full_store_says_so_and_is_read() {
    let server = start("[store]\nsize = \"1 MiB\"\nsync = \"none\"\n");
    let mut client = connect(resp(&server));
    let mut number = 0;
    let refusal = loop {
        let reply = ask(&mut client, &format!("SET {number} {}\r\n", "x".repeat(2_000)));
        if reply != "+OK\r\n" {
            break reply;
        }
        number += 1;
        assert!(number < 1_000);
    };
    assert_eq!(refusal, "-OOM the store is full; raise `size` in [store]\r\n");
    assert!(ask(&mut client, "GET 0\r\n").starts_with("$2000\r\n"));
    assert_eq!(ask(&mut client, "FLUSHALL\r\nSET a 1\r\n"), "+OK\r\n+OK\r\n");
}

#[test]
fn databases_have_rules_and_a_reload_changes_them() {
    let rules = |write: &str| {
        format!(
            "[store]\ndatabases = [\"cards\"]\n[[database]]\nname = \"cards\"\nwrite = \"{write}\"\n\
             [[database]]\nname = \"3\"\nread = \"none\"\nwrite = \"none\"\n[channels]\napi_keys = \"keys\"\n"
        )
    };
    let plan = plan(&rules("key"));
    plan.directory.write("keys", API_KEY);
    let server = plan.start();
    let mut client = connect(resp(&server));
    let refused = "-NOPERM this client may not do that in this database\r\n";
    let ask_all =
        "SELECT cards\r\nSET a 1\r\nGET a\r\nSELECT 3\r\nGET a\r\nFLUSHALL\r\nSELECT card\r\n";
    assert_eq!(
        ask(&mut client, ask_all),
        format!(
            "+OK\r\n{refused}$-1\r\n+OK\r\n{refused}{refused}-ERR there is no database 'card'\r\n"
        )
    );
    assert_eq!(
        ask(&mut client, "SELECT cards\r\nMULTI\r\nSET a 1\r\nEXEC\r\n").matches("-NOPERM").count(),
        1
    );
    let shown = ask(&mut client, &format!("AUTH \"{API_KEY}\"\r\nSET a 1\r\n"));
    assert_eq!(shown, "+OK\r\n+OK\r\n");
    let mut other = connect(resp(&server));
    server.directory().write("velodrome.toml", format!("root = \"site\"\n{}", rules("open")));
    assert!(server.ctl(&["reload"]).status.success());
    until("the rules of the new configuration", || {
        (ask(&mut other, "SELECT cards\r\nINCR a\r\n") == "+OK\r\n:2\r\n").then_some(())
    });
}

#[test]
fn keys_end_and_leave_the_file() {
    let server = start("[store]\nsync = \"none\"\n");
    let mut client = connect(resp(&server));
    assert_eq!(ask(&mut client, "SET b 1 EX 1000\r\nSET c 1\r\n"), "+OK\r\n+OK\r\n");
    let info = ask(&mut client, "INFO keyspace\r\n");
    assert!(info.contains("db0:keys=2,expires=1,avg_ttl=0"), "{info}");
    assert_eq!(ask(&mut client, "SET a 1 PX 20\r\n"), "+OK\r\n");
    until("the end of a key", || (ask(&mut client, "GET a\r\n") == "$-1\r\n").then_some(()));
    until("its removal", || (ask(&mut client, "DBSIZE\r\n") == ":2\r\n").then_some(()));
}

#[test]
fn info_of_one_scheduler_is_about_all() {
    let server = plan("[store]\nsync = \"none\"\n").argument("--schedulers=2").start();
    let mut clients: Vec<_> = (0..16).map(|_| connect(resp(&server))).collect();
    assert_eq!(ask(&mut clients[0], "SET a 1\r\nSET b 1\r\n"), "+OK\r\n+OK\r\n");
    for client in &mut clients {
        assert_eq!(ask(client, "GET a\r\nGETRANGE a 0 0\r\nMGET b c\r\n").matches("$1").count(), 3);
    }
    let number = |info: &str, name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
        line.unwrap_or_else(|| panic!("{name} in {info}")).parse::<f64>().unwrap()
    };
    // A ping after each request: 3 commands first, 4 of each client, and 2 for each earlier INFO.
    for (asked, client) in clients.iter_mut().enumerate() {
        let info = ask(client, "INFO\r\n");
        let commands = 3 + 16 * 4 + 2 * asked;
        assert_eq!(number(&info, "connected_clients"), 16.0);
        assert_eq!(number(&info, "total_connections_received"), 16.0);
        assert_eq!(number(&info, "total_commands_processed"), commands as f64);
        assert_eq!(number(&info, "keyspace_hits"), 48.0);
        assert_eq!(number(&info, "keyspace_misses"), 16.0);
        let is_there = |name| number(&info, name) > 0.0;
        assert!(["used_memory", "used_memory_peak", "store_file_bytes"].into_iter().all(is_there));
        assert!(number(&info, "used_cpu_user") + number(&info, "used_cpu_sys") > 0.0);
    }
    let mut last = clients.pop().unwrap();
    drop(clients);
    until("the clients that closed", || {
        (number(&ask(&mut last, "INFO clients\r\n"), "connected_clients") == 1.0).then_some(())
    });
    assert_eq!(number(&ask(&mut last, "INFO stats\r\n"), "total_connections_received"), 16.0);
}

#[test]
fn info_lists_the_databases_that_a_client_may_read() {
    let plan = plan(
        "[store]\ndatabases = [\"cards\"]\n[[database]]\nname = \"cards\"\nread = \"key\"\n\
         [channels]\napi_keys = \"keys\"\n",
    );
    plan.directory.write("keys", API_KEY);
    let server = plan.start();
    let mut client = connect(resp(&server));
    let told = ask(&mut client, "SET a 1\r\nSELECT cards\r\nSET a 1\r\nINFO keyspace\r\n");
    assert!(told.contains("db0:keys=1") && !told.contains("dbcards"), "{told}");
    let told = ask(&mut client, &format!("AUTH \"{API_KEY}\"\r\nINFO keyspace\r\n"));
    assert!(told.contains("dbcards:keys=1"), "{told}");
}

#[test]
fn info_needs_no_store() {
    let server = Plan::new().argument("--listen-resp=127.0.0.1:0").start();
    let mut client = connect(resp(&server));
    let info = ask(&mut client, "INFO\r\n");
    assert!(info.contains("connected_clients:1\r\n") && info.contains("# Keyspace"), "{info}");
    let maximum = "*2\r\n$9\r\nmaxmemory\r\n$1\r\n0\r\n";
    assert_eq!(ask(&mut client, "CONFIG GET maxmemory\r\n"), maximum);
    assert!(ask(&mut client, "DBSIZE\r\n").starts_with("-ERR there is no store"));
    let line = ask(&mut client, "CLIENT SETNAME a\r\nCLIENT INFO\r\n");
    let fields =
        format!(" addr={} name=a flags=N db=0 sub=0 psub=0 ", client.local_addr().unwrap());
    assert!(line.contains(&fields), "{line}");
    assert!(line.contains(" resp=2\n"), "{line}");
}

#[test]
fn a_store_that_would_be_served_is_refused() {
    let plan = Plan::new();
    let store = format!("--store={}", plan.directory.join("site/data/store").display());
    let output = plan.argument(&store).fail();
    assert!(errors_of(&output).contains("which is served"), "{}", errors_of(&output));
}

#[test]
fn redis_benchmark_runs() {
    if !crate::server::has("redis-benchmark", "redis_benchmark_runs") {
        return;
    }
    let server = start("[store]\nsync = \"none\"\n");
    let address = resp(&server);
    let mut command = Command::new("redis-benchmark");
    command.args(["-h", "127.0.0.1", "-p", &address.port().to_string(), "-n", "2000", "-P", "16"]);
    command.args(["-t", "set,get,incr,mset", "--csv"]);
    let output = run(&mut command);
    assert!(output.status.success(), "{}", errors_of(&output));
    let printed = printed_by(&output);
    assert_eq!(printed.lines().count(), 5, "{printed}");
    let mut client = connect(address);
    assert_eq!(ask(&mut client, "GET counter:__rand_int__\r\n"), "$4\r\n2000\r\n");
}

#[test]
fn the_exporter_for_prometheus_reads_info() {
    const EXPORTER: &str = "prometheus-redis-exporter";
    if !crate::server::has(EXPORTER, "the_exporter_for_prometheus_reads_info") {
        return;
    }
    let server = start("[store]\nsync = \"none\"\n");
    let mut client = connect(resp(&server));
    assert_eq!(ask(&mut client, "SET a 1\r\nGET a\r\nGET b\r\n"), "+OK\r\n$1\r\n1\r\n$-1\r\n");
    let free = free_address();
    let mut command = Command::new(EXPORTER);
    command.arg(format!("-redis.addr=redis://{}", resp(&server)));
    command.arg(format!("-web.listen-address={free}")).stderr(Stdio::null());
    let _exporter = Ending(command.spawn().unwrap());
    let mut exporter = until("the exporter", || Client::connect(free).ok());
    let told = exporter.get("/metrics").unwrap();
    for line in [
        "redis_up 1",
        "redis_connected_clients 2",
        "redis_keyspace_hits_total 1",
        "redis_keyspace_misses_total 1",
        "redis_db_keys{db=\"db0\"} 1",
        "redis_uptime_in_seconds ",
        "redis_memory_used_bytes ",
        "redis_cpu_user_seconds_total ",
        "redis_commands_processed_total ",
    ] {
        assert!(text(&told).contains(&format!("\n{line}")), "{line} in {}", text(&told));
    }
}
