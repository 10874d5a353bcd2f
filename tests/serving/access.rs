//! Goal: who may have an answer is decided before anything answers, the same for files, pages, modules, channels and
//! the store; and nothing that a stranger sends opens a door or stalls others. Method: the built binary, raw clients
//! and the real `htpasswd`.

use std::process::Command;

use base64::Engine as _;
use conformance::{ParsedResponse, RequestKind};

use crate::server::client::{field, head, text};
use crate::server::patience::until;
use crate::server::{Plan, Server, errors_of, has};

/// `ada` with `secret` (bcrypt, cost 4), `bob` with `geheim:\u{e4}` (Argon2id).
const USERS: &str = concat!(
    "# staff\n",
    "ada:$2y$04$iu1hd5MN.S8O1cyozp23lugT.QJ8R7CWGP32TO1DxjCzpdBfhwD4S\n",
    "bob:$argon2id$v=19$m=64,t=1,p=1$YWJjZGVmZ2hpamtsbW5vcA$Oa1qQmTuwJbRkeFi7+AEYc3iYt6BVBqgJsPdmGRjlSk\n",
);

fn basic(name: &str, password: &str) -> String {
    let shown = base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}"));
    format!("Basic {shown}")
}

const PAGE: &str = "<%= request.user or '-' %> <%= #(request.body or '') %>";

/// A site with something of each kind; `access` is that of the top level.
fn plan(access: &str, rest: &str) -> Plan {
    let plan = Plan::new();
    plan.directory.write("run/users.txt", USERS);
    plan.directory.write("run/api.txt", "0123456789abcdef0123456789abcdef\n");
    plan.directory.write("app/m.lua", "return { { 'GET', '/*', function() return 'm' end } }");
    let keys = "[channels]\napi_keys = \"run/api.txt\"\n";
    let channels = "[[channel]]\npattern = \"**\"\nsubscribe = \"open\"\npublish = \"open\"\n";
    plan.config(&format!("{access}\n{rest}\n{channels}{keys}"))
        .file("a.txt", "file")
        .file("page.page.txt", PAGE)
        .file("401.html", "who are you")
}

fn answer(server: &Server, path: &str, fields: &[(&str, &str)]) -> (u16, String) {
    let response = server.request("GET", path, fields);
    (response.status, text(&response).to_owned())
}

fn with_basic(server: &Server, path: &str, name: &str, password: &str) -> ParsedResponse {
    server.request("GET", path, &[("Authorization", &basic(name, password))])
}

#[test]
fn the_first_rule_that_applies_decides_for_every_kind_of_target() {
    let fixed = "[[route]]\npath = \"/fixed\"\njson = 1\n[[route]]\npath = \"/module\"\nmodule = \
                 \"m\"\n[[route]]\npath = \"/to\"\nredirect = { to = \"/a.txt\" }\n";
    let targets = ["/a.txt", "/page", "/module", "/fixed", "/to", "/channels/x", "/none", "/"];
    for (access, is_open) in [
        ("access = [{ deny = \"127.0.0.0/8\" }, { allow = \"all\" }]", false),
        ("access = [{ allow = \"10.0.0.0/8\" }, { deny = \"all\" }]", false),
        ("access = [{ allow = [\"10.0.0.0/8\", \"unix\"] }]", false),
        ("access = [{ allow = \"127.0.0.1\" }, { deny = \"all\" }]", true),
        ("access = [{ deny = \"unix\" }, { allow = \"all\" }]", true),
        ("", true),
    ] {
        let server = plan(access, fixed).start();
        for path in targets {
            let status = answer(&server, path, &[("Accept", "text/event-stream-not")]).0;
            assert_eq!(status != 403, is_open, "{access} {path}: {status}");
        }
        assert_eq!(server.request("OPTIONS", "/a.txt", &[]).status == 403, !is_open, "{access}");
    }
}

#[test]
fn passwords_of_bcrypt_and_argon2_let_users_in_and_pages_know_them() {
    let server = plan("access = [{ users = \"run/users.txt\", realm = \"Staff\" }]", "").start();
    let refused = server.request("GET", "/page", &[]);
    assert_eq!(refused.status, 401);
    assert_eq!(field(&refused, "WWW-Authenticate"), "Basic realm=\"Staff\", charset=\"UTF-8\"");
    for _ in 0..2 {
        // The second time from memory.
        let ada = with_basic(&server, "/page", "ada", "secret");
        assert_eq!((ada.status, text(&ada)), (200, "ada 0"));
        let bob = with_basic(&server, "/page", "bob", "geheim:\u{e4}");
        assert_eq!((bob.status, text(&bob)), (200, "bob 0"));
    }
    for (name, password) in [
        ("ada", "Secret"),
        ("ada", ""),
        ("", "secret"),
        ("bob", "secret"),
        ("eve", "secret"),
        ("ADA", "secret"),
        ("ada", "secret\0"),
        ("ada\0", "secret"),
    ] {
        let response = with_basic(&server, "/page", name, password);
        assert_eq!(response.status, 401, "{name:?} {password:?}");
    }
    let valid = basic("ada", "secret");
    let long = basic("ada", &"x".repeat(2000));
    for shown in ["Basic", "Basic ", "Basic !!!!", "Basic YWRh", "Bearer x", &valid[1..], &long] {
        assert_eq!(
            server.request("GET", "/a.txt", &[("Authorization", shown)]).status,
            401,
            "{shown}"
        );
    }
    let twice = [("Authorization", &*valid), ("Authorization", &*valid)];
    assert_eq!(server.request("GET", "/a.txt", &twice).status, 401);
    let lower = valid.replacen("Basic", "basic", 1);
    assert_eq!(server.request("GET", "/a.txt", &[("authorization", &lower)]).status, 200);
}

#[test]
fn all_conditions_of_rule_and_any_rule_are_needed() {
    let any =
        "access = [{ allow = \"10.0.0.0/8\" }, { users = \"run/users.txt\" }, { token = \"any\" }]";
    let server = plan(any, "").start();
    let refused = server.request("GET", "/a.txt", &[]);
    assert_eq!(refused.status, 401);
    let challenges: Vec<&[u8]> = refused
        .fields
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("www-authenticate"))
        .map(|(_, value)| &**value)
        .collect();
    assert_eq!(challenges, [&b"Basic realm=\"Restricted\", charset=\"UTF-8\""[..], b"Bearer"]);
    assert_eq!(with_basic(&server, "/a.txt", "ada", "secret").status, 200);
    let key = [("Authorization", "Bearer 0123456789abcdef0123456789abcdef")];
    assert_eq!(server.request("GET", "/a.txt", &key).status, 200);
    assert_eq!(
        server.request("GET", "/a.txt?token=0123456789abcdef0123456789abcdef", &[]).status,
        200
    );
    let wrong = server.request("GET", "/a.txt", &[("Authorization", "Bearer no.such.token")]);
    assert_eq!(wrong.status, 401);
    for (all, status) in [
        ("access = [{ allow = \"10.0.0.0/8\", users = \"run/users.txt\" }]", 403),
        ("access = [{ allow = \"127.0.0.1\", users = \"run/users.txt\" }]", 200),
        ("access = [{ token = [\"ada\"], users = \"run/users.txt\" }]", 401),
        ("access = [{ deny = \"127.0.0.1\" }, { users = \"run/users.txt\" }]", 403),
        ("access = [{ users = \"run/users.txt\" }, { deny = \"all\" }]", 200),
    ] {
        let server = plan(all, "").start();
        assert_eq!(with_basic(&server, "/a.txt", "ada", "secret").status, status, "{all}");
    }
}

#[test]
fn the_list_of_a_route_replaces_that_of_its_host_and_that_the_one_of_the_top_level() {
    let rest = "[error_pages]\n401 = \"/401.html\"\n\
        [[route]]\npath = \"/open\"\njson = 1\naccess = [{ allow = \"all\" }]\n\
        [[route]]\npath = \"/shut\"\njson = 1\n\
        [[host]]\nnames = [\"h.example\"]\naccess = [{ allow = \"127.0.0.1\" }]\n\
        [[host.route]]\npath = \"/none\"\njson = 1\naccess = [{ allow = \"10.0.0.1\" }]\n\
        [[host]]\nnames = [\"i.example\"]\n";
    let server = plan("access = [{ users = \"run/users.txt\" }]", rest).start();
    assert_eq!(answer(&server, "/open", &[]).0, 200);
    assert_eq!(answer(&server, "/shut", &[]), (401, "who are you".to_owned()));
    assert_eq!(answer(&server, "/a.txt", &[("Host", "h.example")]).0, 200);
    assert_eq!(answer(&server, "/none", &[("Host", "h.example")]).0, 403);
    assert_eq!(answer(&server, "/a.txt", &[("Host", "i.example")]).0, 401);
}

#[test]
fn the_client_behind_a_trusted_proxy_is_judged_and_not_the_proxy() {
    let access =
        "trusted_proxies = [\"127.0.0.1\"]\naccess = [{ allow = [\"127.0.0.1\", \"192.0.2.7\"] }]";
    let server = plan(access, "").start();
    let from =
        |client: &str| server.request("GET", "/a.txt", &[("X-Forwarded-For", client)]).status;
    assert_eq!((from("192.0.2.7"), from("192.0.2.8")), (200, 403));
    assert_eq!(from("192.0.2.7, 192.0.2.8"), 403);
    // The proxy's own address does not stand in for a client that nobody knows.
    assert_eq!((from("unknown"), from("nonsense")), (400, 400));
}

#[test]
fn bodies_of_those_who_are_refused_are_not_stored() {
    let server =
        plan("access = [{ users = \"run/users.txt\" }]", "[pages]\nuploads = \"run/up\"\n");
    std::fs::create_dir(server.directory.join("run/up")).unwrap();
    let server = server
        .file(
            "up.page.txt",
            "<% for _, file in ipairs(request.files) do file:save('x.bin') end %><%= \
                              request.user %>",
        )
        .start();
    let form = |size: usize| {
        let part = "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.bin\"\r\n\r\n";
        format!("{part}{}\r\n--b--\r\n", "x".repeat(size))
    };
    let post = |fields: &[(&str, &str)], body: &str| {
        let length = body.len().to_string();
        let mut all =
            vec![("Content-Type", "multipart/form-data; boundary=b"), ("Content-Length", &*length)];
        all.extend_from_slice(fields);
        let mut client = server.client();
        client.send(head("POST", "/up", &all)).unwrap();
        // A server that has refused may have closed meanwhile.
        let _sent = client.send(body);
        client
            .response(RequestKind::of_method(Some("POST")))
            .map(|response| (response.status, text(&response).to_owned()))
    };
    let stored = || {
        std::fs::read_dir(server.directory().join("run/up"))
            .unwrap()
            .filter(|entry| !entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'))
            .count()
    };
    assert_eq!(post(&[], &form(100)).unwrap().0, 401);
    let wrong = basic("ada", "wrong");
    assert_eq!(post(&[("Authorization", &wrong)], &form(100)).unwrap().0, 401);
    assert_eq!(stored(), 0);
    let right = basic("ada", "secret");
    assert_eq!(
        post(&[("Authorization", &right)], &form(100_000)).unwrap(),
        (200, "ada".to_owned())
    );
    assert_eq!(stored(), 1);
    let plain = |fields: &[(&str, &str)]| {
        let mut all = vec![("Content-Length", "3")];
        all.extend_from_slice(fields);
        let mut client = server.client();
        client.send(head("POST", "/page", &all)).unwrap();
        client.send("abc").unwrap();
        let response = client.response(RequestKind::of_method(Some("POST"))).unwrap();
        (response.status, text(&response).to_owned())
    };
    assert_eq!(plain(&[]).0, 401);
    assert_eq!(
        plain(&[("Authorization", &basic("bob", "geheim:\u{e4}"))]),
        (200, "bob 3".to_owned())
    );
}

/// A wrong password costs nothing later, also if its error page is looked up, or the body of its form is refused.
#[test]
fn wrong_passwords_close_the_door_to_nobody() {
    let access = "access = [{ users = \"run/users.txt\" }]\n[error_pages]\n401 = \"/401.html\"\n";
    let more = "[files]\ncache_size = \"0 B\"\n[pages]\nuploads = \"run/up\"\n\
        [[limit]]\nname = \"forms\"\nrequests = \"1/d\"\npaths = [\"/up\"]\n";
    let plan = plan(access, more).argument("--schedulers=1");
    std::fs::create_dir(plan.directory.join("run/up")).unwrap();
    let server = plan
        .file("up.page.txt", "<% for _, file in ipairs(request.files) do file:save('x.bin') end %>")
        .start();
    for number in 0..20 {
        let refused = with_basic(&server, "/a.txt", "ada", &format!("wrong {number}"));
        assert_eq!((refused.status, text(&refused)), (401, "who are you"), "{number}");
    }
    let part =
        "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\nx\r\n--b--\r\n";
    for number in 0..20 {
        let (length, shown) = (part.len().to_string(), basic("ada", &format!("no {number}")));
        let fields = [
            ("Content-Type", "multipart/form-data; boundary=b"),
            ("Content-Length", &*length),
            ("Authorization", &*shown),
        ];
        let mut client = server.client();
        client.send(head("POST", "/up", &fields)).unwrap();
        let _sent = client.send(part);
        let answer = client.response(RequestKind::of_method(Some("POST"))).unwrap();
        assert_eq!(answer.status, if number == 0 { 401 } else { 429 });
    }
    assert_eq!(with_basic(&server, "/a.txt", "ada", "secret").status, 200);
}

#[test]
fn a_reload_reads_the_users_again() {
    let server = plan("access = [{ users = \"run/users.txt\" }]", "").start();
    assert_eq!(with_basic(&server, "/a.txt", "ada", "secret").status, 200);
    let without_ada: String = USERS
        .lines()
        .filter(|line| !line.starts_with("ada"))
        .map(|line| format!("{line}\n"))
        .collect();
    server.directory().write("run/users.txt", &without_ada);
    assert_eq!(with_basic(&server, "/a.txt", "ada", "secret").status, 200, "until then");
    assert!(server.ctl(&["reload"]).status.success());
    until("the new users", || {
        (with_basic(&server, "/a.txt", "ada", "secret").status == 401).then_some(())
    });
    assert_eq!(with_basic(&server, "/a.txt", "bob", "geheim:\u{e4}").status, 200);
    server.directory().write("run/users.txt", "ada:secret\n");
    assert!(!server.ctl(&["reload"]).status.success());
    assert!(server.printed_errors().contains("`ada` has no hash"));
    assert_eq!(with_basic(&server, "/a.txt", "bob", "geheim:\u{e4}").status, 200);
}

/// Guesses occupy the helper, and nothing else: those who need no password, or whose password is known, do not wait.
#[test]
fn guesses_of_passwords_delay_nobody_else() {
    let slow = USERS.replace(
        "ada:$2y$04$iu1hd5MN.S8O1cyozp23lugT.QJ8R7CWGP32TO1DxjCzpdBfhwD4S",
        "eve:$2y$09$iu1hd5MN.S8O1cyozp23lugT.QJ8R7CWGP32TO1DxjCzpdBfhwD4S",
    );
    let access = "[[route]]\nprefix = \"/open\"\njson = 1\naccess = [{ allow = \"all\" }]\n";
    let server = plan("access = [{ users = \"run/users.txt\" }]", access);
    server.directory.write("run/users.txt", slow);
    let server = server.argument("--schedulers=1").start();
    assert_eq!(with_basic(&server, "/a.txt", "bob", "geheim:\u{e4}").status, 200);
    let mut guesses: Vec<_> = (0..12).map(|_| server.client()).collect();
    for (number, guess) in guesses.iter_mut().enumerate() {
        let shown = basic("eve", &format!("guess {number}"));
        guess.send(head("GET", "/a.txt", &[("Authorization", &shown)])).unwrap();
    }
    // More than eight at once are not verified for one address.
    let crowded = guesses.split_off(8);
    for mut guess in crowded {
        let response = guess.response(RequestKind::of_method(Some("GET"))).unwrap();
        assert_eq!((response.status, field(&response, "Retry-After")), (503, "1"));
    }
    let begun = std::time::Instant::now();
    for _ in 0..20 {
        assert_eq!(server.get("/open").status, 200);
        assert_eq!(with_basic(&server, "/a.txt", "bob", "geheim:\u{e4}").status, 200);
    }
    assert!(begun.elapsed() < crate::server::patience::PATIENCE / 10, "{:?}", begun.elapsed());
    for mut guess in guesses {
        let response = guess.response(RequestKind::of_method(Some("GET"))).unwrap();
        assert_eq!(response.status, 401);
    }
}

#[test]
fn htpasswd_file_is_accepted_or_refused_with_mend() {
    if !has("htpasswd", "htpasswd_file_is_accepted_or_refused_with_mend") {
        return;
    }
    let made = |options: &str| {
        let output = Command::new("htpasswd").args([options, "ada", "secret"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let server = plan("access = [{ users = \"run/users.txt\" }]", "");
    server.directory.write("run/users.txt", made("-nbB"));
    let server = server.start();
    assert_eq!(with_basic(&server, "/a.txt", "ada", "secret").status, 200);
    assert_eq!(with_basic(&server, "/a.txt", "ada", "wrong").status, 401);
    for (options, told) in [("-nb", "MD5"), ("-nbs", "SHA-1"), ("-nbp", "clear")] {
        let refused = plan("access = [{ users = \"run/users.txt\" }]", "");
        refused.directory.write("run/users.txt", made(options));
        let errors = errors_of(&refused.fail());
        assert!(errors.contains(told) && errors.contains("htpasswd -B"), "{options}: {errors}");
    }
}

#[test]
fn files_of_users_that_are_missing_or_served_are_refused() {
    let missing = plan("access = [{ users = \"run/nobody.txt\" }]", "");
    assert!(errors_of(&missing.fail()).contains("htpasswd -B -c"));
    let served = plan("access = [{ users = \"site/users.txt\" }]", "").file("users.txt", USERS);
    assert!(errors_of(&served.fail()).contains("which is served"));
}

#[test]
fn a_page_whose_second_address_is_open_is_told() {
    let config = "[[route]]\npath = \"/admin\"\nfiles = {}\naccess = [{ allow = \"10.0.0.1\" }]\n\
        [[limit]]\nname = \"login\"\nrequests = \"1/d\"\npaths = [\"/login\"]\n";
    let plan = Plan::new().config(config).file("admin.page.html", "a").file("login.page.html", "b");
    let output = crate::server::run(
        std::process::Command::new(crate::server::PROGRAM)
            .arg("check")
            .arg(plan.directory.join("site"))
            .arg(format!("--config={}", plan.directory.join("velodrome.toml").display())),
    );
    let told = String::from_utf8(output.stdout).unwrap();
    for line in [
        "`/admin` and `/admin.html` are the same page, and a rule of `access` holds for one of them only",
        "`/login` and `/login.html` are the same page, and a [[limit]] holds for one of them only",
    ] {
        assert!(told.contains(line), "{told}");
    }
    let server = plan.start();
    assert!(server.printed_errors().contains("a [[limit]] holds for one of them only"));
}
