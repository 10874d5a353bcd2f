//! Goal: import loads all rows of a file or none, and export returns them unchanged, also while a server has the store
//! open. Method: `velodrome store` on small files.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::server::channel::{connect, resp, say};
use crate::server::directory::Directory;
use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, errors_of, printed_by, run};

fn store(words: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    run(command.arg("store").args(words))
}

fn done(words: &[&str]) -> String {
    let output = store(words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", errors_of(&output));
    printed_by(&output)
}

/// The exit status and the error text.
fn refused(words: &[&str]) -> (i32, String) {
    let output = store(words);
    (output.status.code().unwrap(), errors_of(&output))
}

struct Place {
    directory: Directory,
    data: String,
}

impl Place {
    fn new() -> Self {
        let directory = Directory::new();
        let data = directory.join("data").display().to_string();
        Self { directory, data }
    }

    fn file(&self, name: &str, content: &str) -> String {
        self.directory.write(name, content);
        self.directory.join(name).display().to_string()
    }
}

#[test]
fn rows_of_each_form_are_imported() {
    let place = Place::new();
    let csv = place.file(
        "a.csv",
        "card,name,city\n2,\"Lovelace, Ada\",Cork\n1,Alan,\"a\nb\"\n2,Grace,Delft\n",
    );
    assert!(done(&["import", &csv, &place.data]).starts_with("3 rows are in database 0"));
    let exported = done(&["export", &place.data]);
    assert_eq!(
        exported,
        "{\"key\":\"1\",\"value\":{\"city\":\"a\\nb\",\"name\":\"Alan\"}}\n\
         {\"key\":\"2\",\"value\":{\"city\":\"Delft\",\"name\":\"Grace\"}}\n"
    );
    done(&["import", &csv, &place.data, "--database", "names", "--key", "name", "--value", "card"]);
    assert_eq!(
        done(&["export", &place.data, "--database", "names"]).lines().last(),
        Some("{\"key\":\"Lovelace, Ada\",\"value\":\"2\"}")
    );
    let tsv = place.file("a.tsv", "k\tv\nx\t1\n");
    done(&["import", &tsv, &place.data, "--database", "tabs"]);
    assert_eq!(
        done(&["export", &place.data, "--database", "tabs"]),
        "{\"key\":\"x\",\"value\":\"1\"}\n"
    );
    let lines = place.file("a.txt", "{\"id\":7,\"name\":\"Ada\"}\n\n{\"id\":\"8\"}\n");
    done(&[
        "import",
        &lines,
        &place.data,
        "--form",
        "ndjson",
        "--key",
        "id",
        "--database",
        "lines",
    ]);
    assert_eq!(
        done(&["export", &place.data, "--database", "lines"]),
        "{\"key\":\"7\",\"value\":{\"id\":7,\"name\":\"Ada\"}}\n{\"key\":\"8\",\"value\":{\"id\":\"8\"}}\n"
    );
    assert!(done(&["check", &place.data]).contains("names    3 records are consistent"));
    let stat: serde_json::Value =
        serde_json::from_str(&done(&["stat", &place.data, "--json"])).unwrap();
    assert_eq!(stat["keys"], serde_json::json!({"0": 2, "lines": 2, "names": 3, "tabs": 1}));
}

#[test]
fn commands_of_redis_are_imported_and_others_are_refused_by_their_number() {
    let place = Place::new();
    let commands = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$3\r\n1\r\n\r\nset b 'two words' pxat \
                    4102444800000\r\n\r\nMSET c 3 d 4\r\nSETEX e 1000 5\r\n";
    let file = place.file("dump.resp", commands);
    let told = done(&["import", &file, &place.data]);
    assert!(told.starts_with("5 rows are in database 0"), "{told}");
    let exported = done(&["export", &place.data]);
    let lines: Vec<&str> = exported.lines().collect();
    assert_eq!(lines[0], r#"{"key":"a","value":"1\r\n"}"#);
    assert_eq!(lines[1], r#"{"key":"b","value":"two words","expires_at_ms":4102444800000}"#);
    assert_eq!(lines[2..4], [r#"{"key":"c","value":"3"}"#, r#"{"key":"d","value":"4"}"#]);
    assert!(lines[4].contains(r#""key":"e","value":"5""#) && lines[4].contains("expires_at_ms"));
    // A file longer than one read.
    let many: String = (0..50_000).map(|row| format!("SET k{row:06} {row}\r\n")).collect();
    let told = done(&["import", &place.file("many.resp", &many), &place.data, "--database", "1"]);
    assert!(told.starts_with("50000 rows are in database 1"), "{told}");
    for (commands, expected) in [
        (
            "SET a 1\r\nLPUSH l 1\r\n",
            "command 2: LPUSH is not a row; use SET, SETEX, PSETEX or MSET",
        ),
        ("SET a 1 NX\r\n", "command 1: SET with 3 arguments is not a row"),
        ("SET a 1 KEEPTTL 1\r\n", "command 1: SET with `KEEPTTL` is not a row"),
        ("SET a 1 EX soon\r\n", "command 1: `soon` is not a time"),
        ("MSET a\r\n", "command 1: MSET with 1 arguments is not a row"),
        ("SET a 1\r\n*2\r\n$3\r\nGET", "command 2: it breaks off"),
        ("*2\r\n:3\r\n", "command 1: "),
    ] {
        let (status, told) = refused(&["import", &place.file("bad.resp", commands), &place.data]);
        assert_eq!(status, 1);
        assert!(told.contains(expected) && told.contains("nothing was imported"), "{told}");
    }
    assert_eq!(done(&["export", &place.data]), exported);
}

#[test]
fn failed_import_leaves_nothing() {
    let place = Place::new();
    let good = place.file("good.csv", "k,v\na,1\n");
    done(&["import", &good, &place.data]);
    let long = place.file("long.csv", &format!("k,v\nb,1\n{},2\n", "k".repeat(504)));
    let ragged = place.file("ragged.csv", "k,v\nb,1\nc\n");
    let lines = place.file("bad.ndjson", "{\"key\":\"b\",\"value\":\"1\"}\n{\"key\":\"c\"\n");
    for (file, told) in [
        (&long, "row 2: a key has 1 to 503 bytes; nothing was imported"),
        (&ragged, "nothing was imported"),
        (&lines, "line 2: "),
    ] {
        let (status, errors) = refused(&["import", file, &place.data]);
        assert!(status == 1 && errors.contains(told), "{errors}");
    }
    assert_eq!(done(&["export", &place.data]), "{\"key\":\"a\",\"value\":\"1\"}\n");
    for (words, told) in [
        (
            vec!["import", &good, &place.data, "--key", "x"],
            "there is no column `x`; known are k, v",
        ),
        (vec!["export", &place.data, "--database", "x"], "there is no database `x`; known are 0"),
    ] {
        let (status, errors) = refused(&words);
        assert!(status == 2 && errors.contains(told), "{errors}");
    }
    let (status, errors) = refused(&["stat", &place.directory.join("none").display().to_string()]);
    assert!(status == 1 && errors.contains("there is no store in"), "{errors}");
    assert!(!place.directory.join("none").exists());
}

#[test]
fn a_sample_is_found_by_its_numbers() {
    let place = Place::new();
    let sample = place.file("cards.csv", &done(&["sample", "5000"]));
    assert!(
        done(&["import", &sample, &place.data, "--database", "cards"]).starts_with("5000 rows")
    );
    let exported = done(&["export", &place.data, "--database", "cards"]);
    assert_eq!(exported.lines().count(), 5_000);
    assert!(exported.starts_with("{\"key\":\"000000000000\",\"value\":{\"born\":\""), "{exported}");
}

#[test]
fn a_reader_of_an_export_may_close_early() {
    let place = Place::new();
    let sample = place.file("cards.csv", &done(&["sample", "20000"]));
    done(&["import", &sample, &place.data, "--database", "cards"]);
    for words in [&["sample", "1000000"][..], &["export", &place.data, "--database", "cards"]] {
        let mut command = Command::new(PROGRAM);
        command.arg("store").args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = [0; 4];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", errors_of(&output));
    }
}

#[test]
fn a_live_store_is_read_filled_and_copied() {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0");
    let data = plan.directory.join("data").display().to_string();
    let server =
        plan.argument(&format!("--store={data}")).config("[store]\nsync = \"none\"\n").start();
    let mut client = connect(resp(&server));
    say(&mut client, b"SET a 1\r\nSET b 2 EX 100000\r\nINCR n\r\n", b":1\r\n");
    assert_eq!(done(&["export", &data]).lines().count(), 3);
    let copy = server.directory().join("copy").display().to_string();
    done(&["backup", &data, &copy]);
    let (status, errors) = refused(&["backup", &data, &copy]);
    assert!(status == 1 && errors.contains("is there already"), "{errors}");
    server.directory().write("more.ndjson", done(&["export", &copy]).replace("\"a\"", "\"c\""));
    let more = server.directory().join("more.ndjson").display().to_string();
    done(&["import", &more, &data]);
    let heard = say(&mut client, b"MGET a b c n\r\nTTL b\r\nPING end\r\n", b"end\r\n");
    let heard = String::from_utf8_lossy(&heard).into_owned();
    let values = "*4\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n1\r\n$1\r\n1\r\n:";
    let left = heard.strip_prefix(values).and_then(|rest| rest.split_once("\r\n"));
    let left: u32 = left.and_then(|(seconds, _)| seconds.parse().ok()).expect(&heard);
    assert!((90_000..=100_000).contains(&left), "{heard}");
    assert!(done(&["check", &copy]).contains("3 records are consistent"));
}

#[test]
fn an_import_that_is_killed_leaves_nothing_and_holds_nobody_up() {
    let place = Place::new();
    let good = place.file("good.csv", "k,v\na,1\n");
    done(&["import", &good, &place.data]);
    let line =
        |number: u32| format!("{{\"key\":\"{number}\",\"value\":\"{}\"}}\n", "x".repeat(1_000_000));
    let rows: String = (0..200).map(line).collect();
    let rows = place.file("large.ndjson", &rows);
    let mut import = Command::new(PROGRAM);
    let mut import = import.args(["store", "import", &rows, &place.data]).spawn().unwrap();
    // More rows than are sorted at once, so the first run is already in the transaction.
    until("a piece to be read", || {
        let read = std::fs::read_to_string(format!("/proc/{}/io", import.id())).unwrap();
        let read = read.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
        (read.parse::<u64>().unwrap() > 70_000_000).then_some(())
    });
    import.kill().unwrap();
    import.wait().unwrap();
    assert_eq!(done(&["export", &place.data]), "{\"key\":\"a\",\"value\":\"1\"}\n");
    // The transaction of a killed program holds no lock.
    let more = place.file("more.csv", "k,v\nb,2\n");
    done(&["import", &more, &place.data]);
    assert!(done(&["check", &place.data]).contains("2 records are consistent"));
}

#[test]
fn a_slow_sender_of_rows_keeps_nobody_waiting() {
    let place = Place::new();
    let server = Plan::new()
        .argument(&format!("--store={}", place.data))
        .argument("--listen-resp=127.0.0.1:0")
        .start();
    let mut import = Command::new(PROGRAM);
    let import = import.args(["store", "import", "-", &place.data, "--form", "csv"]);
    let mut import = import.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut rows = import.stdin.take().unwrap();
    rows.write_all(b"key,value\n").unwrap();
    // More than a pipe buffers, so the import reads.
    for number in 0..100_000 {
        writeln!(rows, "row:{number},value").unwrap();
    }
    let mut client = connect(resp(&server));
    say(&mut client, b"INCR n\r\n", b":1\r\n");
    drop(rows);
    let output = import.wait_with_output().unwrap();
    assert!(printed_by(&output).starts_with("100000 rows are in database 0"));
    say(&mut client, b"DBSIZE\r\n", b":100001\r\n");
}

#[test]
fn a_server_ends_though_another_program_writes_and_does_not_end() {
    let place = Place::new();
    let start = || {
        Plan::new()
            .argument(&format!("--store={}", place.data))
            .argument("--listen-resp=127.0.0.1:0")
            .config("drain_deadline = \"1ms\"\n[store]\nsync = \"log\"\n")
            .start()
    };
    let mut server = start();
    let mut client = connect(resp(&server));
    say(&mut client, b"INCR n\r\n", b":1\r\n");
    let data = File::open(Path::new(&place.data).join(::store::DATA_FILE)).unwrap();
    data.lock().unwrap();
    client.write_all(b"INCR n\r\n").unwrap();
    server.signal("TERM");
    assert!(server.wait().success());
    assert!(server.printed_errors().contains("another program still writes into the store"));
    drop(data);
    say(&mut connect(resp(&start())), b"GET n\r\n", b"$1\r\n1\r\n");
}

/// The lines of `stat` about programs that read the store.
fn readers(place: &Place) -> Vec<String> {
    let told = done(&["stat", &place.data]);
    told.lines().filter(|line| line.starts_with("reader ")).map(str::to_owned).collect()
}

#[test]
fn a_program_that_reads_for_long_is_named_and_forgotten_when_it_is_killed() {
    let place = Place::new();
    let mut rows = Command::new(PROGRAM);
    let rows = printed_by(&run(rows.args(["store", "sample", "20000"])));
    let csv = place.file("a.csv", &rows);
    done(&["import", &csv, &place.data]);
    let server = Plan::new()
        .argument(&format!("--store={}", place.data))
        .argument("--listen-resp=127.0.0.1:0")
        .start();
    assert_eq!(readers(&place), [""; 0]);
    // More than a pipe buffers, and nobody reads it.
    let mut export = Command::new(PROGRAM);
    let export = export.args(["store", "export", &place.data]).stdout(Stdio::piped());
    let mut export = export.spawn().unwrap();
    let process = format!("reader   process {} (", export.id());
    let found = until("a reader", || readers(&place).pop());
    assert!(found.starts_with(&process) && found.contains("store export"), "{found}");
    let mut client = connect(resp(&server));
    say(&mut client, &b"INCR n\r\n".repeat(3), b":3\r\n");
    until("a reader that is behind", || {
        let behind = readers(&place).pop()?;
        (!behind.ends_with(" 0 commits behind")).then_some(())
    });
    export.kill().unwrap();
    export.wait().unwrap();
    // The server finds this out itself, without a request.
    until("no reader", || readers(&place).is_empty().then_some(()));
}

#[test]
fn a_store_is_made_small_when_no_server_has_it() {
    let place = Place::new();
    let rows = (0..5_000).map(|key| format!("{key},{}\n", "x".repeat(200)));
    let csv = place.file("a.csv", &format!("key,value\n{}", rows.collect::<String>()));
    done(&["import", &csv, &place.data]);
    let plan = || {
        Plan::new()
            .argument(&format!("--store={}", place.data))
            .argument("--listen-resp=127.0.0.1:0")
    };
    let mut server = plan().start();
    let mut client = connect(resp(&server));
    say(&mut client, b"FLUSHALL\r\nSET kept 1\r\n", b"+OK\r\n+OK\r\n");
    let (status, told) = refused(&["compact", &place.data]);
    assert_eq!(status, 1);
    assert!(told.contains("a server has the store open; stop it first"), "{told}");
    server.signal("TERM");
    assert!(server.wait().success());
    let told = done(&["compact", &place.data]);
    let numbers: Vec<u64> = told.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!(numbers[0] > 1_000_000 && numbers[1] < 100_000, "{told}");
    let server = plan().start();
    let mut client = connect(resp(&server));
    assert_eq!(say(&mut client, b"GET kept\r\n", b"\r\n1\r\n"), b"$1\r\n1\r\n");
    let (status, told) = refused(&["compact", &place.directory.join("none").display().to_string()]);
    assert!(status == 1 && told.contains("there is no store in"), "{told}");
}

#[test]
fn programs_that_open_a_store_while_it_is_made_small_find_it_whole() {
    let place = Place::new();
    let csv = place.file("first.csv", "key,value\nfirst,1\n");
    done(&["import", &csv, &place.data]);
    let compacted = std::thread::scope(|scope| {
        for writer in 0..2 {
            let place = &place;
            scope.spawn(move || {
                for number in 0..15 {
                    let name = format!("{writer}-{number}");
                    let csv = place.file(&format!("{name}.csv"), &format!("key,value\n{name},1\n"));
                    done(&["import", &csv, &place.data]);
                }
            });
        }
        let mut compacted = 0;
        while compacted < 10 {
            let output = store(&["compact", &place.data]);
            match output.status.code() {
                Some(0) => compacted += 1,
                Some(1) => assert!(errors_of(&output).contains("has the store open")),
                status => panic!("{status:?}: {}", errors_of(&output)),
            }
        }
        compacted
    });
    assert_eq!(compacted, 10);
    assert!(done(&["check", &place.data]).contains(" 31 records are consistent"));
}
