//! Goal: forms of any size pass through the disk in bounded memory, and none delays another. Method: the built binary,
//! a gibibyte whose bytes encode their position, two at once, one that stalls, and a full disk.

use std::io::Read;
use std::path::Path;

use crate::server::Server;
use crate::server::client::{field, text};
use crate::server::forms::{
    TYPE, answer, configured, head_of, kept, part, plan, post, until_swept, uploads,
};
use crate::server::mounted::Mounted;
use crate::server::patience::until;
use conformance::ParsedResponse;

/// Bytes of a gibibyte.
const GIBIBYTE: u64 = 1 << 30;

#[test]
fn a_full_disk_is_answered_507() {
    // A file of this server may have one or two megabytes, depending on the shell's block size.
    let limited = ["sh", "-c", "ulimit -f 2048; exec \"$@\"", "sh"];
    let server = plan().wrapped(&limited).start();
    let form = |size: usize| part("name=file; filename=a", &"x".repeat(size)) + "--B--";
    assert_eq!(post(&server, "/list", TYPE, &form(500_000)).status, 200);
    let mut client = server.client();
    let body = form(8_000_000);
    client.send(head_of("/list", TYPE, body.len() as u64)).unwrap();
    // It may be refused, and its connection closed, before all of it is sent.
    let _refused = client.send(&body);
    assert_eq!(answer(&mut client).status, 507);
    let told = server.printed_errors();
    assert!(told.contains("/list: the upload is refused: no room is left"), "{told}");
    until_swept(&uploads(&server));
    assert_eq!(post(&server, "/list", TYPE, &form(500_000)).status, 200, "it goes on");
}

#[test]
fn a_disk_without_room_is_answered_507() {
    let server = plan();
    let up = server.directory.join("up");
    let test = "a_disk_without_room_is_answered_507";
    let Some(_mounted) = Mounted::small(&up, "1m", test) else { return };
    let server = server.start();
    let form = |size: usize| part("name=file; filename=a", &"x".repeat(size)) + "--B--";
    let mut client = server.client();
    let body = form(8_000_000);
    client.send(head_of("/save?name=a", TYPE, body.len() as u64)).unwrap();
    let _refused = client.send(&body);
    assert_eq!(answer(&mut client).status, 507);
    until_swept(&uploads(&server));
    assert_eq!(kept(&up), Vec::<String>::new(), "no half of a file");
    let told = server.printed_errors();
    assert!(told.contains("/save: the upload is refused: no room is left"), "{told}");
    let saved = post(&server, "/save?name=b", TYPE, &form(500_000));
    assert_eq!((saved.status, kept(&up)), (200, vec!["b".to_owned()]), "it goes on");
}

#[test]
fn files_that_nobody_saves_have_a_bound_together() {
    let keys = "upload_size = \"1 MiB\"\nuploads_size = \"1 MiB\"\n";
    let server = configured(keys).argument("--schedulers=1").start();
    let form = |size: usize| part("name=file; filename=a", &"x".repeat(size)) + "--B--";
    let large = form(600_000);
    // A form whose page waits, with its file.
    let mut waiting = server.client();
    waiting.send(head_of("/wait", TYPE, large.len() as u64) + &large).unwrap();
    until("the page waits", || (server.count("/pages/waiting") == 1).then_some(()));
    let mut client = server.client();
    client.send(head_of("/list", TYPE, large.len() as u64)).unwrap();
    let _refused = client.send(&large);
    let refused = answer(&mut client);
    assert_eq!((refused.status, field(&refused, "retry-after")), (503, "1"));
    let told = server.printed_errors();
    let words = "/list: the upload is refused: files of forms that no page has saved take all of \
                 `uploads_size` in [pages]";
    assert!(told.contains(words), "{told}");
    // A helper thread removes the refused file later.
    until("the refused file to go", || (kept(&uploads(&server)).len() == 1).then_some(()));
    // Saved files do not count any more, repeatedly.
    for _ in 0..3 {
        let saved = post(&server, "/save?name=a&replace=yes", TYPE, &form(400_000));
        assert_eq!((saved.status, text(&saved)), (200, "true nil"));
    }
    drop(waiting);
    until_swept(&uploads(&server));
    assert_eq!(post(&server, "/list", TYPE, &large).status, 200, "there is room again");
}

#[test]
fn a_slow_upload_holds_up_nobody() {
    let server = plan().argument("--schedulers=1").start();
    let mut slow = server.client();
    slow.send(head_of("/list", TYPE, 1_000)).unwrap();
    slow.send("--B\r\nContent-Disposition: form-").unwrap();
    let form = part("name=file; filename=b", &"y".repeat(150_000)) + "--B--";
    assert_eq!(text(&post(&server, "/list", TYPE, &form)), "file|b||150000\ntitle=\n");
    assert_eq!(server.get("/hello").status, 200);
    let rest = "data; name=file; filename=a\r\n\r\n";
    slow.send(rest).unwrap();
    let sent = "--B\r\nContent-Disposition: form-".len() + rest.len();
    let data = "x".repeat(1_000 - sent - "\r\n--B--".len());
    slow.send(&data).unwrap();
    slow.send("\r\n--B--").unwrap();
    let expected = format!("file|a||{}\ntitle=\n", data.len());
    assert_eq!(text(&answer(&mut slow)), expected);
}

/// Bytes that encode their position: each mebibyte begins with its number.
struct Numbered {
    block: Vec<u8>,
}

impl Numbered {
    const SIZE: usize = 1 << 20;

    fn new() -> Self {
        Self { block: (0..Self::SIZE).map(|place| (place % 251) as u8).collect() }
    }

    fn at(&mut self, number: u64) -> &[u8] {
        self.block[..8].copy_from_slice(&number.to_le_bytes());
        &self.block
    }
}

/// Sends a file of this many mebibytes and returns the answer.
fn send_large(server: &Server, path: &str, mebibytes: u64) -> ParsedResponse {
    let begin = "--B\r\nContent-Disposition: form-data; name=file; filename=large\r\n\r\n";
    let end = "\r\n--B--\r\n";
    let length = (begin.len() + end.len()) as u64 + mebibytes * Numbered::SIZE as u64;
    let mut client = server.client();
    client.send(head_of(path, TYPE, length) + begin).unwrap();
    let mut content = Numbered::new();
    for number in 0..mebibytes {
        client.send(content.at(number)).unwrap();
    }
    client.send(end).unwrap();
    answer(&mut client)
}

fn assert_large(path: &Path, mebibytes: u64) {
    let mut file = std::fs::File::open(path).unwrap();
    assert_eq!(file.metadata().unwrap().len(), mebibytes * Numbered::SIZE as u64);
    let (mut content, mut read) = (Numbered::new(), vec![0; Numbered::SIZE]);
    for number in 0..mebibytes {
        file.read_exact(&mut read).unwrap();
        assert!(read == content.at(number), "mebibyte {number}");
    }
}

/// The server's peak memory, in KiB.
fn peak_kib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_gibibyte_passes_in_bounded_memory() {
    let server = configured("upload_size = \"2 GiB\"\n").start();
    assert_eq!(send_large(&server, "/list", 1).status, 200);
    let before_kib = peak_kib(&server);
    let response = send_large(&server, "/save?name=large.bin", GIBIBYTE >> 20);
    assert_eq!(text(&response), "true nil");
    let grown_kib = peak_kib(&server) - before_kib;
    assert!(grown_kib < 32 * 1024, "{grown_kib} KiB for one upload");
    assert_large(&uploads(&server).join("large.bin"), GIBIBYTE >> 20);
    assert_eq!(kept(&uploads(&server)), ["large.bin"]);
}

#[test]
fn two_uploads_at_once_do_not_mix() {
    let server = plan().argument("--schedulers=1").start();
    std::thread::scope(|scope| {
        for (name, size) in [("one", 40), ("two", 33)] {
            let server = &server;
            scope.spawn(move || {
                let response = send_large(server, &format!("/save?name={name}"), size);
                assert_eq!(text(&response), "true nil");
                assert_large(&uploads(server).join(name), size);
            });
        }
    });
    assert_eq!(kept(&uploads(&server)), ["one", "two"]);
}
