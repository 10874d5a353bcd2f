//! Goal: files of forms reach their pages through the disk, in bounded memory, and leave nothing behind. Method: the
//! built binary, curl, and raw clients that lie and close early; `script_large_uploads` has large files,
//! `script_upload_directory` is about the directory.

use std::process::Command;

use crate::server::client::{head, text};
use crate::server::forms::{
    LIST, SAVE, TYPE, answer, configured, head_of, kept, part, plan, post, until_swept, uploads,
};
use crate::server::patience::until;
use crate::server::{Plan, Server, has, printed_by, run};

fn url(server: &Server, path: &str) -> String {
    format!("http://{}{path}", server.address())
}

/// The output of curl when it sends these parts.
fn curl(server: &Server, path: &str, words: &[&str]) -> String {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--max-time", "20"]).args(words);
    let output = run(command.arg(url(server, path)));
    assert!(output.status.success(), "{words:?}: {output:?}");
    printed_by(&output)
}

#[test]
fn curl_sends_files_and_fields() {
    if !has("curl", "curl_sends_files_and_fields") {
        return;
    }
    let server = plan().start();
    let directory = server.directory();
    directory.write("a.txt", "one\n");
    directory.write("empty", "");
    directory.write("great.bin", vec![7; 300_000]);
    let file = |name: &str, rest: &str| format!("{}{rest}", directory.join(name).display());
    let printed = curl(
        &server,
        "/list",
        &[
            &format!("-Fone=@{}", file("a.txt", "")),
            "-Ftitle=größe",
            &format!("-Fmany=@{}", file("great.bin", ";type=application/x-great")),
            &format!("-Fmany=@{}", file("empty", ";filename=\"a\\\"b ü.txt\"")),
            &format!("-Fpath=@{}", file("a.txt", ";filename=..\\/..\\/etc/passwd")),
        ],
    );
    assert_eq!(
        printed,
        "one|a.txt|text/plain|4\nmany|great.bin|application/x-great|300000\n\
         many|a\"b ü.txt|text/plain|0\npath|passwd|text/plain|4\ntitle=größe\n"
    );
    until_swept(&uploads(&server));
    // Sent in chunks, and with `Expect: 100-continue`.
    let chunked = ["-H", "Transfer-Encoding: chunked", "-H", "Expect: 100-continue"];
    let one = format!("-Fone=@{}", file("great.bin", ""));
    let printed = curl(&server, "/list", &[&chunked[..], &[&one]].concat());
    assert_eq!(printed, "one|great.bin|application/octet-stream|300000\ntitle=\n");
}

#[test]
fn the_last_of_a_name_counts_and_a_file_that_was_not_chosen_is_none() {
    let server = plan().file(
        "last.page.txt",
        "<%= request.files.file.name %> <%= tostring(request.files.none) %> <%= #request.files %> \
         <%= request.form.title %> <%= #request.body %> <%= tostring(next(request.files) == 1) %>",
    );
    let server = server.start();
    let form = part("name=file; filename=a", "1")
        + &part("name=title", "first")
        + &part("name=file; filename=b", "2")
        + &part("name=none; filename=\"\"", "")
        + &part("name=title", "second")
        + "--B--\r\n";
    assert_eq!(text(&post(&server, "/last", TYPE, &form)), "b nil 2 second 0 true");
    // Not a form, and a form of another kind.
    let plain = post(&server, "/list", "text/plain", "x");
    assert_eq!((plain.status, text(&plain)), (200, "title=\n"));
    let fields = post(&server, "/list", "application/x-www-form-urlencoded", "title=x");
    assert_eq!(text(&fields), "title=x\n");
}

#[test]
fn invalid_form_is_answered_400() {
    let server = plan().start();
    let whole = part("name=file; filename=a", "data");
    let endless = format!("--B\r\nX: {}", "y".repeat(20_000));
    for (media_type, body) in [
        ("multipart/form-data", whole.as_str()),
        ("multipart/form-data; boundary=\"\"", whole.as_str()),
        (TYPE, whole.as_str()),
        (TYPE, "--B\r\nContent-Disposition: form-data; name=\"a"),
        (TYPE, endless.as_str()),
        (TYPE, "no form"),
        (TYPE, ""),
        (TYPE, &part("filename=a", "no name")),
    ] {
        let refused = post(&server, "/list", media_type, body);
        assert_eq!(refused.status, 400, "{media_type}: {body}");
    }
    until_swept(&uploads(&server));
    assert_eq!(server.printed_troubles(), "", "who sends it is at fault");
    assert_eq!(server.get("/hello").status, 200);
}

#[test]
fn too_large_a_form_is_answered_413() {
    let server = configured("upload_size = \"100 KiB\"\n").start();
    let form = |size: usize| part("name=file; filename=a", &"x".repeat(size)) + "--B--";
    assert_eq!(post(&server, "/list", TYPE, &form(100_000)).status, 200);
    // Refused for its length, before a byte of it is read.
    let mut client = server.client();
    let fields = [("Content-Type", TYPE), ("Content-Length", "102401"), ("Expect", "100-continue")];
    client.send(head("POST", "/list", &fields)).unwrap();
    assert_eq!(answer(&mut client).status, 413);
    // In chunks, refused when it becomes too large.
    let mut client = server.client();
    let fields = [("Content-Type", TYPE), ("Transfer-Encoding", "chunked")];
    client.send(head("POST", "/list", &fields)).unwrap();
    let body = form(200_000);
    client.send(format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())).unwrap();
    assert_eq!(answer(&mut client).status, 413);
    until_swept(&uploads(&server));
}

#[test]
fn fields_are_kept_in_memory_and_bounded() {
    let server = configured("[limits]\nbody_size = \"10 KiB\"\n").start();
    let form = |size: usize| part("name=title", &"x".repeat(size)) + "--B--";
    assert_eq!(post(&server, "/list", TYPE, &form(10_000)).status, 200);
    assert_eq!(post(&server, "/list", TYPE, &form(10_240)).status, 413);
    let many = part("name=\"\"", "").repeat(200) + "--B--";
    assert_eq!(post(&server, "/list", TYPE, &many).status, 413, "names are not free");
    let file = part("name=file; filename=a", &"x".repeat(50_000)) + "--B--";
    assert_eq!(post(&server, "/list", TYPE, &file).status, 200, "a file is not in memory");
}

#[test]
fn without_a_directory_files_are_refused_and_fields_are_not() {
    let server = Plan::new().file("list.page.txt", LIST).start();
    let fields = part("name=title", "x") + &part("name=none; filename=\"\"", "") + "--B--";
    assert_eq!(text(&post(&server, "/list", TYPE, &fields)), "title=x\n");
    let file = part("name=file; filename=a", "data") + "--B--";
    assert_eq!(post(&server, "/list", TYPE, &file).status, 415);
    let told = server.printed_errors();
    assert!(
        told.contains(
            "/list: the upload is refused: it has a file, but there is no upload directory"
        ),
        "{told}"
    );
}

#[test]
fn client_that_closes_leaves_no_upload() {
    let server = plan().start();
    let directory = uploads(&server);
    let begin = part("name=file; filename=a", &"x".repeat(200_000));
    for path in ["/list", "/wait"] {
        // In the middle of a file, and while the page waits.
        let length = if path == "/list" { 1_000_000 } else { begin.len() as u64 + 5 };
        let mut client = server.client();
        client.send(head_of(path, TYPE, length) + &begin).unwrap();
        if path == "/wait" {
            client.send("--B--").unwrap();
            until("its page", || (server.count("/pages/waiting") == 1).then_some(()));
        }
        until("a file that is being written", || (!kept(&directory).is_empty()).then_some(()));
        drop(client);
        until("it to go", || kept(&directory).is_empty().then_some(()));
    }
    let form = begin + "--B--";
    assert_eq!(post(&server, "/fail", TYPE, &form).status, 500);
    until_swept(&directory);
}

#[test]
fn a_page_that_fails_after_it_sent_a_part_leaves_nothing_behind() {
    let page = "<% local _ = request.files response:flush() error('no') %>";
    let server = plan().file("late.page.txt", page).start();
    let form = part("name=file; filename=a", "data") + "--B--";
    let mut client = server.client();
    client.send(head_of("/late", TYPE, form.len() as u64) + &form).unwrap();
    let (received, _) = client.rest().unwrap();
    assert!(received.starts_with(b"HTTP/1.1 200"), "{}", received.escape_ascii());
    until_swept(&uploads(&server));
}

#[test]
fn uploads_of_killed_server_are_removed_at_start() {
    let server = plan().start();
    let directory = uploads(&server);
    let mut client = server.client();
    client.send(head_of("/list", TYPE, 1_000_000)).unwrap();
    client.send(part("name=file; filename=a", &"x".repeat(200_000))).unwrap();
    until("a file that is being written", || (!kept(&directory).is_empty()).then_some(()));
    std::fs::write(directory.join("mine.part"), "not the server's").unwrap();
    let server = server.kill_and_restart();
    assert_eq!(kept(&directory), ["mine.part"]);
    let told = server.printed_errors();
    assert!(told.contains("1 unfinished uploads were removed"), "{told}");
}

#[test]
fn a_file_is_saved_by_a_plain_name_once() {
    let server = plan().start();
    let directory = uploads(&server);
    let save = |query: &str, data: &str| {
        let form = part("name=file; filename=a", data) + "--B--";
        text(&post(&server, &format!("/save?name={query}"), TYPE, &form)).to_owned()
    };
    assert_eq!(save("a.txt", "one"), "true nil");
    assert_eq!(save("a.txt", "two"), "nil there is a file of that name");
    assert_eq!(std::fs::read_to_string(directory.join("a.txt")).unwrap(), "one");
    assert_eq!(save("a.txt&replace=yes", "two"), "true nil");
    assert_eq!(std::fs::read_to_string(directory.join("a.txt")).unwrap(), "two");
    assert_eq!(save("gr%C3%B6%C3%9Fe", ""), "true nil");
    for (name, why) in [
        ("", "the name is empty"),
        (".hidden", "the name begins with a dot"),
        ("..", "the name begins with a dot"),
        ("../a", "the name begins with a dot"),
        ("/tmp/a", "the name leads to another directory"),
        ("a/../../b", "the name leads to another directory"),
        ("a%0Ab", "the name has a control character"),
        ("a.page.html", "the name is that of a page"),
    ] {
        assert_eq!(save(name, "x"), format!("nil {why}"), "{name}");
    }
    until_swept(&directory);
    assert_eq!(kept(&directory), ["a.txt", "größe"]);
}

#[test]
fn file_saved_below_root_is_served_at_once_by_its_scheduler() {
    let config = "[files]\nlisting = true\n\n[pages]\nuploads = \"site/up\"\n";
    let plan = Plan::new().config(config).argument("--schedulers=1").file("save.page.txt", SAVE);
    std::fs::create_dir(plan.directory.join("site/up")).unwrap();
    let server = plan.start();
    let save = |query: &str, data: &str| {
        let form = part("name=file; filename=a", data) + "--B--";
        let answer = post(&server, &format!("/save?name={query}"), TYPE, &form);
        assert_eq!(text(&answer), "true nil");
    };
    assert_eq!(server.get("/up/a.txt").status, 404);
    assert!(text(&server.get("/up/")).contains("Nothing is here."));
    save("a.txt", "one");
    assert_eq!(text(&server.get("/up/a.txt")), "one");
    assert!(text(&server.get("/up/")).contains("a.txt"));
    save("a.txt&replace=yes", "two, which is longer");
    assert_eq!(text(&server.get("/up/a.txt")), "two, which is longer");
}

#[test]
fn a_file_is_read_and_stays_what_it_is() {
    let server = plan().file(
        "read.page.txt",
        "<% local file = request.files.file -%>\n\
         <%= file:read(3) %>|<%= #file:read() %>|<% file:save('kept') %><%= file:read(3) %>|\
         <%= tostring(file:save('again')) %>|<%= select(2, pcall(spawn, function() file:read() end)) -%>",
    );
    let server = server.start();
    let form = part("name=file; filename=a", &"xyz".repeat(500_000)) + "--B--";
    let printed = post(&server, "/read", TYPE, &form);
    let (read, refused) = text(&printed).split_at("xyz|1048576|xyz|true|".len());
    assert_eq!(read, "xyz|1048576|xyz|true|");
    assert!(refused.contains("the variable 'file' of the function"), "{refused}");
    until_swept(&uploads(&server));
    assert_eq!(kept(&uploads(&server)), ["again"]);
}

#[test]
fn requests_on_one_connection_have_files_of_their_own() {
    let server = plan().start();
    let mut client = server.client();
    for data in ["first", "second"] {
        let form = part("name=file; filename=a", data) + "--B--";
        let path = format!("/save?name={data}");
        client.send(head_of(&path, TYPE, form.len() as u64) + &form).unwrap();
        assert_eq!(text(&answer(&mut client)), "true nil");
        assert_eq!(client.get("/hello").unwrap().status, 200);
        assert_eq!(std::fs::read_to_string(uploads(&server).join(data)).unwrap(), data);
    }
}
