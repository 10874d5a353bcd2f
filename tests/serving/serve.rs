//! Goal: `velodrome serve` listens where it should, prints a clear reason if it cannot, and ends when it is told to.
//! Method: the built binary, with the mistakes that operators make.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::time::Duration;

use crate::server::client::{Client, End, field, head, text};
use crate::server::patience::{PATIENCE, until};
use crate::server::{PROGRAM, Plan, Server, errors_of, printed_by, run, used_port};

/// Fails unless the exit status is this and the output contains all of these.
fn assert_failed(output: &Output, status: i32, told: &[&str]) {
    let errors = errors_of(output);
    assert_eq!(output.status.code(), Some(status), "{errors}");
    for words in told {
        assert!(errors.contains(words), "no `{words}` in:\n{errors}");
    }
    assert!(!errors.contains("panicked"), "{errors}");
}

#[test]
fn a_directory_is_served_and_announced() {
    let server = Plan::new().file("index.html", "<p>start\n").file("a/b.txt", "b\n").start();
    assert_eq!(text(&server.get("/")), "<p>start\n");
    assert_eq!(text(&server.get("/a/b.txt")), "b\n");
    assert_eq!(server.get("/none").status, 404);
    let said = server.directory().text("stdout.txt");
    assert!(said.contains(&server.directory().join("site").display().to_string()), "{said}");
    assert!(said.contains(&format!("http://{}/", server.address())), "{said}");
    assert_ne!(server.address().port(), 0, "port 0 stands for any free port");
}

/// The configuration may be elsewhere and name no root: the directory of the command line is still served.
#[test]
fn the_directory_of_the_command_is_served() {
    let plan = Plan::new().file("a.txt", "site\n");
    plan.directory.write("etc/velodrome.toml", "[files]\nlisting = true\n");
    plan.directory.write("etc/a.txt", "etc\n");
    let server = plan.serving("site", "etc/velodrome.toml").start();
    assert_eq!(text(&server.get("/a.txt")), "site\n");
    assert_eq!(server.get("/").status, 200, "the configuration is read");
}

#[test]
fn a_directory_alone_needs_no_configuration() {
    let plan = Plan::new().file("index.html", "<p>start\n");
    let site = plan.directory.join("site");
    let output = run(Command::new(PROGRAM).arg("check").arg(&site));
    assert!(output.status.success(), "{output:?}");
    assert!(printed_by(&output).contains(&site.display().to_string()), "{output:?}");
}

#[test]
fn a_missing_directory_is_named() {
    let output = run(Command::new(PROGRAM).args(["serve", "/nowhere/at/all"]));
    assert_failed(&output, 1, &["/nowhere/at/all", "No such file or directory"]);
}

#[test]
fn a_file_in_place_of_a_directory_is_named() {
    let plan = Plan::new().file("page.html", "");
    let path = plan.directory.join("site/page.html");
    let output = run(Command::new(PROGRAM).arg("serve").arg(&path));
    assert_failed(&output, 1, &["page.html", "ot a directory"]);
}

#[test]
fn a_used_port_is_told_with_what_to_do() {
    let (_listener, address) = used_port();
    let output = Plan::new().listen(&address.to_string()).fail();
    assert_failed(&output, 1, &[&address.to_string(), "another process listens there", "--listen"]);
}

#[test]
fn an_address_of_nobody_is_told() {
    let output = Plan::new().listen("192.0.2.1:8080").fail();
    assert_failed(&output, 1, &["192.0.2.1:8080", "no interface has this address"]);
}

#[test]
fn a_configuration_that_cannot_be_read_is_named() {
    let plan = Plan::new();
    let site = plan.directory.join("site");
    let with = |config: &std::path::Path| {
        run(Command::new(PROGRAM).arg("serve").arg(&site).arg("--config").arg(config))
    };
    let missing = with(&plan.directory.join("missing.toml"));
    assert_failed(&missing, 1, &["missing.toml", "No such file or directory"]);
    let mut elsewhere = Command::new(PROGRAM);
    elsewhere.args(["check", "site", "--config", "site.toml"]).current_dir(plan.directory.join(""));
    assert_failed(&run(&mut elsewhere), 1, &["`site.toml`", "from the current directory"]);
    let directory = with(&site);
    assert_failed(&directory, 1, &[&site.display().to_string(), "s a directory"]);
    plan.directory.write("binary.toml", b"\xff\xfe = 1\n");
    let binary = with(&plan.directory.join("binary.toml"));
    assert_failed(&binary, 1, &["binary.toml", "UTF-8"]);
}

#[test]
fn the_printed_defaults_are_a_right_configuration() {
    let printed = run(Command::new(PROGRAM).args(["check", "--defaults"]));
    assert_eq!(printed.status.code(), Some(0), "{printed:?}");
    let text = String::from_utf8(printed.stdout).unwrap();
    assert!(text.contains("\n#keep_alive = \"75s\"\n"), "{text}");
    let plan = Plan::new()
        .config(&text.replace("#keep_alive", "keep_alive").replace("#[limits]", "[limits]"));
    let checked = run(Command::new(PROGRAM).arg("check").arg(plan.directory.join("site")));
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
}

#[test]
fn mistakes_of_a_configuration_are_told_with_their_places() {
    let plan = Plan::new().config("schedulrs = 2\n[limits]\nheader_deadline = \"10 parsecs\"\n");
    let config = plan.directory.join("velodrome.toml");
    let output = plan.fail();
    let place = |line: usize, column: usize| format!("{}:{line}:{column}: ", config.display());
    assert_failed(&output, 1, &[&place(2, 1), "schedulrs", "did you mean `schedulers`"]);
    assert_failed(&output, 1, &[&place(4, 19), "10 parsecs"]);
    let site = plan.directory.join("site");
    let check = run(Command::new(PROGRAM).arg("check").arg(&site).arg("--config").arg(&config));
    assert_failed(&check, 1, &[&place(2, 1), &place(4, 19)]);
}

#[test]
fn a_configuration_that_is_no_toml_is_told_with_its_place() {
    let output = Plan::new().config("[limits\n").fail();
    assert_failed(&output, 1, &["velodrome.toml:2:"]);
}

#[test]
fn a_root_that_is_missing_is_named() {
    let plan = Plan::new();
    plan.directory.write("velodrome.toml", "root = \"nothing-here\"\n");
    let config = plan.directory.join("velodrome.toml");
    let directory = plan.directory.path();
    let output = run(Command::new(PROGRAM).arg("serve").arg(directory).arg("--config").arg(config));
    assert_failed(&output, 1, &["nothing-here", "No such file or directory"]);
}

#[test]
fn wrong_use_is_told_and_ends_with_2() {
    for (words, told) in [
        (&["serve", "--listne", "127.0.0.1:80"][..], "--listen"),
        (&["serve", "--listen", "localhost"], "--listen localhost"),
        (&["serve", "--listen", "127.0.0.1:99999"], "127.0.0.1:99999"),
        (&["serve", "--spin", "fast"], "--spin fast"),
        (&["serve", "--schedulers", "many"], "many"),
        (&["serve", "one", "two"], "two"),
        (&["srve"], "serve"),
        (&["ctl"], "Usage"),
        (&["ctl", "stop"], "stop"),
        (&["check", "--host", "a"], "--explain"),
        (&[], "Usage"),
    ] {
        let output = run(Command::new(PROGRAM).args(words));
        assert_failed(&output, 2, &[told]);
    }
}

#[test]
fn schedulers_are_as_many_as_asked_for() {
    let server = Plan::new().file("a.txt", "a\n").argument("--schedulers=3").start();
    assert_eq!(server.told("/status")["schedulers"], 3);
    for _ in 0..30 {
        assert_eq!(text(&server.get("/a.txt")), "a\n");
    }
    // Statistics may be a moment old.
    until("30 connections", || (server.count("/network/accepts") == 30).then_some(()));
    let stats = server.told("/stats");
    let accepts = |scheduler: &serde_json::Value| scheduler["network"]["accepts"].as_u64().unwrap();
    let counts: Vec<u64> = stats["schedulers"].as_array().unwrap().iter().map(accepts).collect();
    assert!(counts.iter().filter(|count| **count > 0).count() > 1, "{counts:?}");
    for wrong in ["0", "100000"] {
        let output = Plan::new().argument(&format!("--schedulers={wrong}")).fail();
        assert_failed(&output, 2, &["--schedulers", "1..=1024"]);
    }
}

#[test]
fn ipv6_is_served() {
    let server = Plan::new().file("a.txt", "a\n").listen("[::1]:0").start();
    assert!(server.address().is_ipv6());
    assert_eq!(text(&server.get("/a.txt")), "a\n");
}

#[test]
fn a_unix_socket_is_served_with_its_mode_and_goes_with_the_server() {
    let plan = Plan::new().file("a.txt", "a\n");
    let socket = plan.directory.join("web.sock");
    let config =
        format!("[[listener]]\naddress = \"unix:{}\"\nmode = \"0640\"\n", socket.display());
    let mut server = plan.config(&config).listen_as_configured(1).start();
    assert_eq!(server.announced, [format!("unix:{}", socket.display())]);
    let mut client = Client::connect_unix(&socket).unwrap();
    assert_eq!(text(&client.get("/a.txt").unwrap()), "a\n");
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    drop(client);
    server.signal("TERM");
    assert!(server.wait().success());
    assert!(!socket.exists());
}

#[test]
fn a_unix_socket_left_by_a_killed_server_is_replaced() {
    let plan = Plan::new().file("a.txt", "a\n");
    let socket = plan.directory.join("web.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(socket.exists(), "stale");
    let _server = plan.listen(&format!("unix:{}", socket.display())).start();
    let mut client = Client::connect_unix(&socket).unwrap();
    assert_eq!(text(&client.get("/a.txt").unwrap()), "a\n");
}

/// A Unix socket belongs to one scheduler: the settings of the other listeners must be the same on every scheduler.
#[test]
fn several_listeners_have_each_its_own_rules() {
    let plan = Plan::new().file("a.txt", "a\n");
    let socket = plan.directory.join("web.sock");
    let config = format!(
        "schedulers = 3\n\
         [[listener]]\naddress = \"unix:{}\"\n\
         [[listener]]\naddress = \"127.0.0.1:0\"\nproxy_protocol_from = [\"127.0.0.0/8\"]\n\
         [[listener]]\naddress = \"[::1]:0\"\n",
        socket.display()
    );
    let server = plan.config(&config).listen_as_configured(3).start();
    let [proxied, plain] = server.addresses()[..] else { panic!("{:?}", server.announced) };
    let mut client = Client::connect_unix(&socket).unwrap();
    assert_eq!(text(&client.get("/a.txt").unwrap()), "a\n");
    // Often enough to reach every scheduler.
    for number in 0..30 {
        let mut client = Client::connect(plain).unwrap();
        assert_eq!(text(&client.get("/a.txt").unwrap()), "a\n", "plain connection {number}");
        let mut client = Client::connect(proxied).unwrap();
        client.send("PROXY TCP4 192.0.2.7 192.0.2.1 4000 80\r\n").unwrap();
        let response = client.get("/a.txt").unwrap_or_else(|error| panic!("{number}: {error}"));
        assert_eq!(text(&response), "a\n", "proxied connection {number}");
        let mut client = Client::connect(proxied).unwrap();
        client.send(head("GET", "/a.txt", &[])).unwrap();
        let (answer, _) = client.rest().unwrap();
        assert!(answer.is_empty(), "connection {number} without a header was answered");
    }
}

#[test]
fn a_killed_server_restarts_at_once_at_the_same_port() {
    let mut server = Plan::new().file("a.txt", "a\n").start();
    for _ in 0..3 {
        // A connection that is open when the process dies leaves its port in TIME_WAIT or FIN_WAIT.
        let mut client = server.client();
        assert_eq!(text(&client.get("/a.txt").unwrap()), "a\n");
        let address = server.address();
        server = server.kill_and_restart();
        assert_eq!(server.address(), address);
        assert_eq!(text(&server.get("/a.txt")), "a\n");
    }
    assert_eq!(server.told("/status")["listeners"][0], server.address().to_string());
}

#[test]
fn signals_end_it_with_0() {
    for name in ["TERM", "INT"] {
        let mut server = Plan::new().file("a.txt", "a\n").start();
        let mut client = server.client();
        assert_eq!(text(&client.get("/a.txt").unwrap()), "a\n");
        server.signal(name);
        let status = server.wait();
        assert_eq!((status.code(), status.signal()), (Some(0), None), "{name}");
        let (rest, end) = client.rest().unwrap();
        assert_eq!((rest.len(), end), (0, End::Closed), "{name}");
        assert!(!server.plan.socket().exists(), "{name}: the control socket is gone");
        assert_eq!(server.printed_troubles(), "", "{name}");
    }
}

#[test]
fn a_signal_it_has_no_use_for_does_nothing() {
    let mut server = Plan::new().file("a.txt", "a\n").start();
    for name in ["USR1", "USR2", "PIPE", "HUP"] {
        server.signal(name);
        assert_eq!(text(&server.get("/a.txt")), "a\n", "{name}");
    }
    assert!(server.is_running());
}

#[test]
fn check_explains_which_rule_a_path_meets() {
    let plan = Plan::new()
        .config("[[route]]\npath = \"/health\"\nrespond = { body = \"ok\" }\n")
        .file("a.txt", "a\n");
    let explain = |path: &str| {
        let mut command = Command::new(PROGRAM);
        command.arg("check").arg(plan.directory.join("site"));
        command.arg("--config").arg(plan.directory.join("velodrome.toml"));
        run(command.args(["--explain", path]))
    };
    let health = explain("/health");
    assert!(health.status.success(), "{health:?}");
    assert!(printed_by(&health).contains("respond"), "{health:?}");
    assert_ne!(printed_by(&explain("/a.txt")), printed_by(&health));
}

#[test]
fn check_explains_what_answers_a_path() {
    let config = "[pages]\napp = \"site/app\"\n\n[[route]]\nprefix = \"/api\"\nmodule = \"api\"\n\n\
        [[route]]\nprefix = \"/plain\"\nfiles = { listing = true, hide = [\"*.bak\"] }\n";
    let plan = Plan::new()
        .config(config)
        .file("a.txt", "a\n")
        .file("feed.page.xml", "<a/>")
        .file("_nav.page.html", "nav")
        .file("broken.page.txt", "<% for %>")
        .file("plain/index.html", "index")
        .file("plain/in/b.bak", "b")
        .file("app/api.lua", "return function() return 'api' end")
        .file("app/main.lua", "return function() return 'main' end");
    let explain = |method: &str, path: &str| {
        let mut command = Command::new(PROGRAM);
        command.arg("check").arg(plan.directory.join("site"));
        command.arg("--config").arg(plan.directory.join("velodrome.toml"));
        let explained = run(command.args(["--method", method, "--explain", path]));
        printed_by(&explained).lines().last().unwrap_or_default().to_owned()
    };
    let is = |method: &str, path: &str, expected: &[&str]| {
        let told = explain(method, path);
        assert!(told.starts_with("result: "), "{path}: {told}");
        for words in expected {
            assert!(told.contains(words), "{method} {path}: no `{words}` in: {told}");
        }
    };
    is("GET", "/feed?a=b", &["the page `", "/site/feed.page.xml`"]);
    is("POST", "/feed.xml", &["/site/feed.page.xml`"]);
    is("GET", "/broken", &["/site/broken.page.txt`, which is broken: 500"]);
    is("GET", "/%61.txt", &["the file `/a.txt` below "]);
    is("POST", "/a.txt", &["the module `main`: `", "/app/main.lua`"]);
    is(
        "GET",
        "/none",
        &["the module `main`: ", "because there is no file: there is nothing of that name"],
    );
    is("GET", "/_nav", &["`_nav.page.html` is a part"]);
    is("GET", "/feed.page.xml", &["the source of a page is not served"]);
    is("GET", "/app/api.lua", &["the directory of app modules is not served"]);
    is("GET", "/velodrome.toml~", &["the configuration is not served"]);
    is("GET", "/.git/config", &["begin with a dot"]);
    is("GET", "/a%2Fb", &["400: the path has an encoded slash"]);
    is("GET", "/api/x", &["the module `api`, with `/x` to look for: `", "/site/app/api.lua`"]);
    is("GET", "/plain/", &["the file `/plain/index.html` below "]);
    is("GET", "/plain/in", &["redirected to `/plain/in/`"]);
    is("GET", "/plain/in/", &["the listing of `/plain/in/` below "]);
    is("GET", "/plain/in/b.bak", &["404: `hide` names it"]);
    is("PUT", "/plain/", &["405, allowed are GET, HEAD, OPTIONS"]);
    is("OPTIONS", "/plain/", &["204, allowed are GET, HEAD, OPTIONS"]);
}

#[test]
fn a_method_that_no_resource_takes_is_refused_with_those_that_some_take() {
    let server = Plan::new().file("a.txt", "a\n").start();
    for method in ["TRACE", "CONNECT"] {
        let response = server.request(method, "/a.txt", &[]);
        let allowed = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
        assert_eq!((response.status, field(&response, "Allow")), (405, allowed), "{method}");
    }
}

#[test]
fn answers_carry_the_date_of_now() {
    let server = Plan::new().file("a.txt", "a\n").start();
    let response = server.get("/a.txt");
    let date = field(&response, "Date");
    let output = run(Command::new("date").args(["--utc", "+%s", "--date", date]));
    let told: u64 = printed_by(&output).trim().parse().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!(now.abs_diff(Duration::from_secs(told)) < PATIENCE, "{date}");
}

/// A server that is started twice by mistake must not take over the control socket of the first.
#[test]
fn the_control_socket_of_a_running_server_is_not_taken() {
    let first = Server::start("");
    let socket = first.plan.socket();
    let site = first.directory().join("site");
    let mut second = Command::new(PROGRAM);
    second.arg("serve").arg(&site).arg("--listen=127.0.0.1:0").arg("--admin-socket").arg(&socket);
    let output = run(&mut second);
    assert_failed(&output, 1, &[&socket.display().to_string()]);
    assert_eq!(first.told("/status")["process"], first.id());
}
