//! Pages, modules, uploads, channels, event streams and the store of the real site, on streams.
//!
//! Owns their directory, the test's store helper, and the model of their answers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pages::Before;
use runtime::mailbox::Endpoint;
use server::conn::Connections;
use server::load::ConfigSource;
use server::message::{Message, StoreOrders, ToScheduler, ToStoreWriter};
use server::site::{Helpers, Site};
use server::site_data::SiteData;
use store::{Store, StoreOptions as StoreSettings, Sync};
use world::Random;

use crate::expected::{Body, Expected};
use crate::site;
use crate::small::{Exchange, get, pattern, post};
use crate::world::{Errand, Setting, Stage};

const CONFIGURATION: &str = r#"
[[listener]]
address = "127.0.0.1:8080"
h2c = true

[[route]]
prefix = "/api"
module = "riders"

[[route]]
prefix = "/talk"
module = "talk"

[[route]]
prefix = "/behind"
proxy = "behind"

[[upstream]]
name = "behind"
servers = ["10.0.0.9:80"]

[channels]
compress = true

[[channel]]
pattern = "narrow"
behind = "4KB"

[[channel]]
pattern = "*"
history = 20

[store]
path = "../store"

[[database]]
name = "0"
http = true
"#;

const PAGES: [(&str, &str); 5] = [
    ("sum.page.txt", "<%= 1 + 1 -%>"),
    ("slow.page.txt", "<% sleep(0.02) -%>slept"),
    (
        "parts.page.txt",
        "<% for n = 1, 30 do response:write(('x'):rep(1000)) response:flush() end -%>",
    ),
    ("form.page.txt", "<%- #(request.form.text or '') -%>"),
    (
        "kept.page.txt",
        "<% local key = request.query.key store.put(key, 'value') -%><%- store.get(key) -%>",
    ),
];

const MODULE: &str =
    "return { { 'GET', '/riders/:n', function(request) return { n = request.parameters.n } end } }";

/// Repeats what its client says, and tells how a conversation has ended.
const TALK: &str = "
return { { 'GET', '/', function(request)
  return websocket {
    open = function(socket) socket:send('open') end,
    message = function(socket, text, kind)
      if text == 'close' then socket:close(3001, 'as asked') return end
      if text == 'flood' then
        for n = 1, 3000 do socket:send(('x'):rep(1000)) end
      end
      if text == 'think' then sleep(1) end
      if kind == 'text' then socket:send(text) else socket:send_binary(text) end
    end,
    close = function(socket, code) channel.publish('ends', tostring(code)) end,
  }
end } }";

/// The directory that is served.
fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("whole-site-{}", std::process::id()));
        fs::create_dir_all(root.join("app")).unwrap();
        for (name, text) in PAGES {
            fs::write(root.join(name), text).unwrap();
        }
        fs::write(root.join("app/riders.lua"), MODULE).unwrap();
        fs::write(root.join("app/talk.lua"), TALK).unwrap();
        fs::write(root.join("velodrome.toml"), CONFIGURATION).unwrap();
        root
    })
}

pub(crate) fn data() -> Arc<SiteData> {
    static DATA: OnceLock<Arc<SiteData>> = OnceLock::new();
    let load = || {
        let source = ConfigSource { directory: root().to_owned(), ..ConfigSource::default() };
        Arc::new(source.load(1, Before::default()).unwrap())
    };
    Arc::clone(DATA.get_or_init(load))
}

/// The writer of the store, on the test's thread.
fn store_helper(store: &Store) -> Errand<Message> {
    let mut writer = store.writer();
    Box::new(move |message| {
        let Message::StoreWriter(ToStoreWriter::Orders(orders)) = message else { return None };
        let StoreOrders { now_ms, waiting, orders } = *orders;
        let executed = writer.execute(&orders, now_ms);
        Some(ToScheduler::Stored(Box::new(waiting.into_iter().zip(executed).collect())).into())
    })
}

/// A server, and the directory of its store, which has to live as long.
pub(crate) fn stage(setting: &Setting) -> (Stage<Connections>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let settings = StoreSettings {
        databases: vec!["0".to_owned()],
        sync: Sync::Never,
        ..StoreSettings::new(&directory.path().join("store"))
    };
    let store = Store::open(&settings).unwrap();
    let data = data();
    let schedulers = u16::try_from(setting.schedulers).unwrap();
    let mut helpers = site::file_helpers();
    helpers.push(store_helper(&store));
    let mut stage = Stage::new(setting, helpers, |number, all: &[Endpoint]| {
        let (writer, files) = all.split_last().unwrap();
        let files = files.to_vec();
        let helpers = Helpers { store: Some(*writer), ..Helpers::of_files(schedulers, files) };
        let mut site = Site::open(Arc::clone(&data), helpers, number as u128).unwrap();
        site.join_schedulers(Endpoint(u16::try_from(number).unwrap()), 7);
        site.open_store(store.clone());
        Connections::new(site, &data, None)
    });
    stage.tell_all(|| {
        let sets = data.pages.clone().into();
        ToScheduler::Pages { generation: 1, sets }.into()
    });
    (stage, directory)
}

/// A request, and its answer.
pub(crate) fn exchange(random: &mut Random) -> Exchange {
    let is = |request, body: &[u8]| Exchange { request, expected: Expected::new(200, body) };
    match random.below(9) {
        0 => is(get("/sum"), b"2"),
        1 => is(get("/slow"), b"slept"),
        2 => is(get("/parts"), &[b'x'; 30_000]),
        3 => {
            let text = pattern(random.index(20_000));
            let body = [b"text=", &text[..]].concat();
            let mut request = b"POST /form HTTP/1.1\r\nHost: example.test\r\n\
                Content-Type: application/x-www-form-urlencoded\r\n"
                .to_vec();
            request.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
            request.extend(body);
            is(request, text.len().to_string().as_bytes())
        }
        4 => is(get(&format!("/kept?key={}", random.bits())), b"value"),
        5 => is(get("/api/riders/7"), br#"{"n":"7"}"#),
        6 => {
            let request =
                post(&format!("/store/0/{}", random.bits()), &pattern(random.index(9_000)));
            let put = [b"PUT", &request[4..]].concat();
            Exchange { request: put, expected: Expected::status(204) }
        }
        7 => {
            let mut expected = Expected::status(200);
            expected.body = Body::Anything;
            Exchange { request: post("/channels/news", b"text"), expected }
        }
        _ => {
            let request = b"GET /channels/news HTTP/1.1\r\nHost: example.test\r\nAccept: \
                            text/event-stream\r\n\r\n";
            Exchange { request: request.to_vec(), expected: Expected::status(200) }
        }
    }
}
