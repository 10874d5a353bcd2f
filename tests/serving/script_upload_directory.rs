//! Goal: the directory for uploads must not be one that anything else depends on, and a file in it belongs to its
//! request only. Method: the built binary, raw clients, and a test that changes the directory in the meantime.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use crate::server::client::{Client, head, text};
use crate::server::forms::{TYPE, kept, part, plan, post, until_swept, uploads};
use crate::server::{PROGRAM, Plan, configuration, errors_of, run};

#[test]
fn a_file_whose_name_another_request_took_is_neither_read_nor_moved() {
    let page = "<% local file = request.files.file -%>\n\
        <% file:save('avatar', { replace = true }) response:write(self()) response:flush() receive() -%>\n\
        |<%= tostring(select(2, file:read())) %>|<%= tostring(select(2, file:save('mine'))) %>";
    let tell = "<%= tostring(send(request.query.to, 'go on')) %>";
    let server = plan().file("hold.page.txt", page).file("tell.page.txt", tell).start();
    let of = |data: &str| part("name=file; filename=a", data) + "--B--";
    let mut first = server.client();
    let form = of("first");
    let length = form.len().to_string();
    let fields = [("Content-Type", TYPE), ("Content-Length", &length), ("Connection", "close")];
    first.send(head("POST", "/hold", &fields) + &form).unwrap();
    let process = first_chunk(&mut first);
    let second = post(&server, "/save?name=avatar&replace=yes", TYPE, &of("second"));
    assert_eq!(text(&second), "true nil");
    assert_eq!(text(&server.get(&format!("/tell?to={process}"))), "true");
    let (rest, _) = first.rest().unwrap();
    let told = "another file has got its name";
    let rest = String::from_utf8(rest).unwrap();
    assert!(rest.contains(&format!("|{told}|{told}\r\n0\r\n\r\n")), "{rest}");
    let directory = uploads(&server);
    until_swept(&directory);
    assert_eq!(kept(&directory), ["avatar"]);
    assert_eq!(std::fs::read_to_string(directory.join("avatar")).unwrap(), "second");
}

/// The data of the first chunk of an answer.
fn first_chunk(client: &mut Client) -> String {
    let (mut received, mut buffer) = (String::new(), [0; 4096]);
    loop {
        let count = crate::server::client::read(&mut client.stream, &mut buffer).unwrap();
        assert!(count > 0, "it ended: {received}");
        received.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        let body = received.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        if let Some((chunk, "")) =
            body.split_once("\r\n").and_then(|(_, rest)| rest.split_once("\r\n"))
        {
            return chunk.to_owned();
        }
    }
}

/// A sandbox knows the directory that existed at the start.
#[test]
fn a_directory_that_was_made_anew_is_used_or_the_log_says_why_not() {
    let server = plan().argument("--schedulers=1").start();
    let directory = uploads(&server);
    // The forms of a scheduler go to its helper threads in turn.
    let send = || {
        [0, 1].map(|_| {
            let form = part("name=file; filename=a", "data") + "--B--";
            post(&server, "/save?name=a", TYPE, &form).status
        })
    };
    assert_eq!(send(), [200, 200]);
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!(send(), [500, 500]);
    assert!(server.printed_errors().contains("or the directory for uploads, is gone"));
    std::fs::create_dir(&directory).unwrap();
    let sandbox = server.told("/status")["sandbox"].clone();
    if sandbox == "none" {
        assert_eq!(send(), [200, 200]);
        until_swept(&directory);
        assert_eq!(kept(&directory), ["a"]);
    } else {
        assert_eq!(send(), [500, 500], "{sandbox}");
        let told = server.printed_errors();
        assert!(told.contains("where it was made anew, restart the server"), "{told}");
    }
}

#[test]
fn no_directory_that_the_server_reads_is_one_for_uploads() {
    let plan = Plan::new().file("a/x.page.txt", "x").file("shown/a.txt", "a").file("b.txt", "b");
    let directory = &plan.directory;
    directory.write("app/main.lua", "return function() return 'here' end");
    directory.write("app/lib/x.lua", "return 5");
    directory.write("keys/secret", "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IQ==");
    std::fs::create_dir(directory.join("up")).unwrap();
    let of = |uploads: &str| {
        configuration(&format!("[pages]\nuploads = \"{uploads}\"\nsecret_file = \"keys/secret\"\n"))
    };
    let closed = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(directory.join("keys/secret"), closed).unwrap();
    let sockets = ::server::serve::control_directory();
    let beside_sockets = sockets.parent().and_then(|parent| parent.to_str()).unwrap();
    let refused = [
        (".", "velodrome.toml`: a file that a page saves"),
        ("..", "velodrome.toml`: a file that a page saves"),
        ("keys", "keys/secret`: a file that a page saves"),
        ("app", "app` has the app modules"),
        ("app/lib", "app` has the app modules"),
        ("site", "site` is served by the default host"),
        ("site/a", "site/a/x.page.txt` is a page"),
        // No setting names the default control socket.
        (beside_sockets, sockets.to_str().unwrap()),
    ];
    let check = || {
        run(Command::new(PROGRAM)
            .arg("check")
            .arg(directory.join("site"))
            .arg(format!("--config={}", directory.join("velodrome.toml").display())))
    };
    for (uploads, told) in refused {
        directory.write("velodrome.toml", of(uploads));
        let output = check();
        assert!(!output.status.success(), "{uploads}: {output:?}");
        let errors = errors_of(&output);
        assert!(errors.contains("`uploads` in [pages]: `"), "{uploads}: {errors}");
        assert!(errors.contains(told), "{uploads}: {errors}");
    }
    for uploads in ["up", "site/shown"] {
        directory.write("velodrome.toml", of(uploads));
        let output = check();
        assert!(output.status.success(), "{uploads}: {output:?}");
    }
    let server = plan.start();
    server.directory().write("velodrome.toml", of("site"));
    assert_eq!(server.ctl_json(&["reload"])["state"], "refused");
}

#[test]
fn nothing_that_the_configuration_names_is_in_the_directory_for_uploads() {
    for rest in [
        "secret_file = \"up/keys\"\n",
        "[channels]\ntoken_keys = \"up/keys\"\n",
        "[channels]\napi_keys = \"up/keys\"\n",
        "[store]\npath = \"up\"\n",
        "[store]\npath = \"up/store\"\n",
        "[store]\npath = \"new\"\n",
        "[log]\naccess = \"up/new.log\"\n",
        "[admin]\nsocket = \"up/new.sock\"\n",
        "[[listener]]\naddress = \"unix:BASE/up/new.sock\"\n",
    ] {
        // The store may also contain the directory.
        let uploads = if rest.contains("new\"") { "new/up" } else { "up" };
        let plan = Plan::new();
        let rest = rest.replace("BASE", &plan.directory.path().display().to_string());
        let plan = plan.config(&format!("[pages]\nuploads = \"{uploads}\"\n{rest}"));
        plan.directory.write("up/keys", "a secret that is long enough for it, at least");
        plan.directory.write("new/up/other", "");
        let closed = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(plan.directory.join("up/keys"), closed).unwrap();
        let config = format!("--config={}", plan.directory.join("velodrome.toml").display());
        let site = plan.directory.join("site");
        let output = run(Command::new(PROGRAM).arg("check").arg(site).arg(config));
        let errors = errors_of(&output);
        assert_eq!(output.status.code(), Some(1), "{rest}: {errors}");
        assert!(errors.contains("`uploads` in [pages]: `"), "{rest}: {errors}");
        assert!(errors.contains("a file that a page saves could replace it"), "{rest}: {errors}");
    }
}

/// The configuration itself is elsewhere; the link to it, named without a directory, could be replaced.
#[test]
fn a_link_to_the_configuration_is_not_to_be_replaced_either() {
    let plan = Plan::new();
    let directory = &plan.directory;
    directory.write("etc/velodrome.toml", "[pages]\nuploads = \".\"\n");
    std::fs::create_dir(directory.join("links")).unwrap();
    symlink("../etc/velodrome.toml", directory.join("links/linked.toml")).unwrap();
    let output = run(Command::new(PROGRAM).current_dir(directory.join("links")).args([
        "check",
        "../site",
        "--config=linked.toml",
    ]));
    assert!(errors_of(&output).contains("linked.toml`: a file that a page saves"), "{output:?}");
}

#[test]
fn nothing_is_saved_by_a_name_that_the_server_goes_by() {
    let server = plan().start();
    let form = part("name=file; filename=velodrome.toml", "x") + "--B--";
    for name in ["velodrome.toml", "main.lua", "x.page.html", "x.page"] {
        let answer = post(&server, &format!("/save?name={name}&replace=yes"), TYPE, &form);
        let said = text(&answer).to_owned();
        assert!(said.starts_with("nil the name is that of a "), "{name}: {said}");
    }
    assert!(kept(&uploads(&server)).iter().all(|name| name.starts_with('.')));
}
