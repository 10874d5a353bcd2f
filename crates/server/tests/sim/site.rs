//! The real site on a directory of files, and its clients' requests.
//!
//! Owns the directory and the model of its answers, which knows the files' content and nothing of the cache, the
//! helpers or the path of bytes. The file helpers run on the test's thread.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use runtime::mailbox::Endpoint;
use server::conn::Connections;
use server::file_helper::FileHelper;
use server::message::Message;
use server::site::{Helpers, Site};
use server::site_data::SiteData;
use world::Random;

use crate::client::Step;
use crate::expected::{Body, Expected};
use crate::small::{Exchange, get, pattern, post};
use crate::world::{Errand, Setting, Stage};
use config::{Config, Overrides};

/// Helpers of every site.
const HELPERS: usize = 2;

/// Modification time of every file: before any world begins.
const MODIFIED_SECONDS: u64 = 1_748_736_000;

const CONFIGURATION: &str = r#"
[[listener]]
address = "127.0.0.1:8080"
h2c = true

[error_pages]
404 = "/404.html"
405 = "/405.html"

[[route]]
path = "/health"
respond = { body = "well", content_type = "text/plain" }

[[route]]
path = "/moved"
redirect = { to = "/small.txt", status = 302 }
"#;

/// Names and sizes: those above 32 KiB are sent from their descriptor.
const FILES: [(&str, usize); 8] = [
    ("/small.txt", 100),
    ("/page.html", 1_406),
    ("/medium.bin", 20_000),
    ("/held.bin", 200_000),
    ("/large.bin", 300_000),
    ("/huge.bin", 700_000),
    ("/dir/index.html", 700),
    ("/empty.txt", 0),
];

/// More than one turn sends of a file.
pub(crate) const VAST: (&str, usize) = ("/vast.bin", 3_000_000);

const NOT_FOUND: &[u8] = b"<p>There is no such page, and this one is configured.</p>";
const NOT_ALLOWED: &[u8] = b"<p>Files are read, not written.</p>";

/// The directory that is served, the same for all tests of the binary and all its runs.
fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("worlds-site");
        fs::create_dir_all(root.join("dir")).unwrap();
        for (name, size) in FILES.into_iter().chain([VAST]) {
            put(&root, name, &pattern(size));
        }
        put(&root, "/404.html", NOT_FOUND);
        put(&root, "/405.html", NOT_ALLOWED);
        root
    })
}

/// Has the kernel keep the names and the content of all files in memory: a world that comes again must not find a file
/// cold which was warm the first time, because others need memory meanwhile.
fn keep_warm() {
    #[expect(clippy::disallowed_types, reason = "the name of an open file is not forgotten")]
    static OPEN: OnceLock<Vec<fs::File>> = OnceLock::new();
    let paths = || FILES.into_iter().chain([VAST]).map(|(name, _)| root().join(&name[1..]));
    OPEN.get_or_init(|| paths().map(|path| open(&path)).collect());
    for path in paths() {
        fs::read(path).unwrap();
    }
}

#[expect(clippy::disallowed_types, reason = "the name of an open file is not forgotten")]
fn open(path: &Path) -> fs::File {
    fs::File::open(path).unwrap()
}

/// Writes a file unless it exists: a concurrent test may be serving it.
fn put(root: &Path, name: &str, content: &[u8]) {
    let path = root.join(&name[1..]);
    if fs::read(&path).is_ok_and(|there| there == content) {
        return;
    }
    let aside =
        root.join(format!(".{}-{}", path.file_name().unwrap().display(), std::process::id()));
    fs::write(&aside, content).unwrap();
    set_modified(&aside);
    fs::rename(&aside, &path).unwrap();
}

#[expect(clippy::disallowed_types, reason = "only a file can be given a time")]
fn set_modified(path: &Path) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(MODIFIED_SECONDS);
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// The configuration of most worlds, compiled.
pub(crate) fn data(generation: u64) -> Arc<SiteData> {
    data_of(CONFIGURATION, generation)
}

/// Another configuration, compiled.
pub(crate) fn data_of(text: &str, generation: u64) -> Arc<SiteData> {
    let read = Config::from_text(text, "velodrome.toml", root(), &Overrides::default());
    Arc::new(SiteData::compile(read.unwrap(), generation).unwrap())
}

fn common_data() -> Arc<SiteData> {
    static DATA: OnceLock<Arc<SiteData>> = OnceLock::new();
    Arc::clone(DATA.get_or_init(|| data(1)))
}

/// A server of the site.
pub(crate) fn stage(setting: &Setting) -> Stage<Connections> {
    keep_warm();
    stage_with(setting, common_data(), file_helpers())
}

pub(crate) fn file_helpers() -> Vec<Errand<Message>> {
    let errands = (0..HELPERS).map(|_| {
        let mut helper = FileHelper::new();
        Box::new(move |message| helper.answer(message)) as Errand<Message>
    });
    errands.collect()
}

/// A server of a site with the test's helpers.
pub(crate) fn stage_with(
    setting: &Setting,
    data: Arc<SiteData>,
    errands: Vec<Errand<Message>>,
) -> Stage<Connections> {
    Stage::new(setting, errands, |number, files| connections(&data, number, files))
}

fn connections(data: &Arc<SiteData>, number: usize, files: &[Endpoint]) -> Connections {
    let files = files.to_vec();
    let helpers = Helpers::of_files(1, files);
    let site = Site::open(Arc::clone(data), helpers, number as u128).unwrap();
    Connections::new(site, data, None)
}

fn request(method: &str, target: &str, fields: &str) -> Vec<u8> {
    format!("{method} {target} HTTP/1.1\r\nHost: example.test\r\n{fields}\r\n").into_bytes()
}

fn range(name: &str, size: usize, random: &mut Random) -> Exchange {
    let first = random.index(size);
    let last = first + random.index(size - first);
    let request = request("GET", name, &format!("Range: bytes={first}-{last}\r\n"));
    let expected = Expected::new(206, &pattern(size)[first..=last])
        .with("Content-Range", &format!("bytes {first}-{last}/{size}"));
    Exchange { request, expected }
}

/// A request of a correct client, after which it keeps the connection.
pub(crate) fn exchange(random: &mut Random) -> Exchange {
    // Small files are requested more often.
    let most = if random.below(3) == 0 { FILES.len() } else { 3 };
    let (name, size) = FILES[random.index(most)];
    let content = pattern(size);
    let (request, expected) = match random.below(12) {
        0..=3 => (get(name), Expected::new(200, content)),
        4 => {
            let request = request("HEAD", name, "");
            (request, Expected::new(200, content).head())
        }
        5 if size > 0 => return range(name, size, random),
        5 | 6 => {
            let request = request("GET", name, "If-None-Match: *\r\n");
            (request, Expected::status(304))
        }
        7 => (get("/no/such/file"), Expected::new(404, NOT_FOUND)),
        8 => {
            let request = post(name, &pattern(random.index(3_000)));
            let expected = Expected::new(405, NOT_ALLOWED).with("Allow", "GET, HEAD, OPTIONS");
            (request, expected)
        }
        9 => (get("/health"), Expected::new(200, *b"well")),
        10 => {
            let expected = Expected::status(302).with("Location", "/small.txt");
            (get("/moved"), expected)
        }
        _ => {
            let (name, size) = FILES[1];
            let request = request("GET", name, "Accept-Encoding: gzip\r\n");
            let mut expected = Expected::new(200, []);
            expected.body = Body::Gzip(pattern(size).into());
            (request, expected)
        }
    };
    Exchange { request, expected }
}

/// A request after which the server ends the connection.
pub(crate) fn last_exchange(random: &mut Random) -> Vec<Step> {
    let (name, size) = FILES[random.index(6)];
    let content = pattern(size);
    let (request, expected) = match random.below(5) {
        0 => {
            let request = request("GET", name, "Connection: close\r\n");
            (request, Expected::new(200, content).last())
        }
        1 => {
            let request = format!("GET {name} HTTP/1.0\r\n\r\n").into_bytes();
            (request, Expected::new(200, content).last())
        }
        2 => (request("GET", name, "Host: twice\r\n"), Expected::status(400).last()),
        3 => {
            // More than is discarded: answered, and not one byte of it is taken for a request.
            let mut body = get("/health").repeat(1 + 65_600 / get("/health").len());
            body.truncate(65_600);
            (post(name, &body), Expected::new(405, NOT_ALLOWED).last())
        }
        _ => {
            let mut large = request("GET", name, "Content-Length: 65600\r\n");
            large.extend(get("/health").repeat(2_000).into_iter().take(65_600));
            (large, Expected::new(200, content).last())
        }
    };
    vec![Step::Send(request), Step::Expect(expected), Step::ExpectEnd, Step::Close]
}
