//! `cargo xtask bench memory`: the memory that the server keeps after a load has gone, over time.
//!
//! Method: the server on one core; a load that opens what needs memory and closes it; then the anonymous memory at
//! fixed times. Twice: heads that are never finished, and requests of several kinds. `--preload` starts the server with
//! another allocator. Owns the loads.

#![expect(clippy::disallowed_types, reason = "one thread and one descriptor table in this tool")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::arguments::Arguments;
use crate::bench::accounting;
use crate::bench::contender::Start;
use crate::bench::host;
use crate::bench::report::aligned;
use crate::bench::run::Report;
use crate::bench::site::{Site, shown};
use crate::client::{self, Opening};
use crate::failure::Failure;
use crate::process::Guarded;
use crate::server::{self, leashed};

/// When the memory is read, in seconds after the load has gone.
const LOOKS: [u64; 7] = [0, 2, 5, 10, 20, 40, 60];

/// Unfinished heads, unless there are fewer descriptors, and the bytes of each.
const HEADS: u64 = 10_000;
const HEAD_BYTES: usize = 2_500;

/// Descriptors that stay free.
const SPARE_DESCRIPTORS: u64 = 500;

/// Rounds of the mixed load, and its connections.
const CYCLES: usize = 5;
const MIXED: usize = 200;

/// A page that makes a table of rows, and one that reads a body.
const ROWS: &str = "<% local rows = {} for row = 1, 2000 do rows[row] = ('row %d'):format(row) end \
    response:write(table.concat(rows, ',')) %>";
const LENGTH: &str = "<% response:write(#request.body) %>";

/// A running server.
struct Place {
    server: Guarded,
    web: SocketAddr,
    resp: SocketAddr,
}

/// Runs the verb.
pub(crate) fn run(words: &[String], mut arguments: Arguments) -> Result<(), Failure> {
    let preload = arguments.take_value("--preload")?;
    let mut report = Report::take("memory", &mut arguments)?;
    arguments.finish()?;
    let site = Site::with_programs([Start::Serve].into_iter())?;
    let cores = host::Cores::take()?;
    let descriptors = host::raise_descriptor_limit();
    let heads = HEADS.min(descriptors.saturating_sub(SPARE_DESCRIPTORS));
    let command = report.note_command(words);
    report.say(&format!(
        "{command}\nserver on core {}, load on core {}; anonymous memory in MiB\n",
        cores.server, cores.load
    ));
    let mut rows = vec![["load", "before", "with it"].map(str::to_owned).to_vec()];
    rows[0].extend(LOOKS.map(|seconds| format!("{seconds} s")));
    rows[0].push("CPU s".to_owned());
    let mut curves = Vec::new();
    type Load<'l> = (&'l str, Box<dyn Fn(&Place) -> Result<f64, Failure>>);
    let loads: [Load<'_>; 2] = [
        ("unfinished heads", Box::new(move |place| unfinished(place, heads))),
        ("five mixed cycles", Box::new(mixed)),
    ];
    for (name, load) in loads {
        let place = start(&site, preload.as_deref(), cores.server)?;
        let before = place.memory();
        let most = load(&place)?;
        let gone = Instant::now();
        let mut curve = Vec::new();
        for seconds in LOOKS {
            std::thread::sleep(Duration::from_secs(seconds).saturating_sub(gone.elapsed()));
            curve.push(place.memory());
        }
        let cpu = place.cpu_seconds();
        let mut row = vec![name.to_owned(), format!("{before:.1}"), format!("{most:.1}")];
        row.extend(curve.iter().map(|memory| format!("{memory:.1}")));
        row.push(format!("{cpu:.2}"));
        rows.push(row);
        curves.push(json!({
            "load": name, "before_mib": before, "most_mib": most, "seconds": LOOKS, "curve_mib": curve, "cpu_s": cpu,
        }));
    }
    report.say(&aligned(&rows));
    report.note("loads", curves);
    report.write()
}

fn start(site: &Site, preload: Option<&str>, core: usize) -> Result<Place, Failure> {
    let folder = site.folder().join("memory");
    let files = folder.join("site");
    // Each load has a new store.
    let _not_there = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&files)?;
    std::fs::write(files.join("rows.page.txt"), ROWS)?;
    std::fs::write(files.join("length.page.txt"), LENGTH)?;
    std::fs::write(files.join("file.txt"), vec![b'x'; 200_000])?;
    let web = server::free_address()?;
    let configuration = "[limits]\nbody_size = \"4 MiB\"\n[store]\nsync = \"none\"\n";
    std::fs::write(folder.join("velodrome.toml"), configuration)?;
    let taken = TcpListener::bind(web)?;
    let resp = server::free_address()?;
    drop(taken);
    let line = format!(
        "taskset -c {core} {} serve {} --config {} --store {} --schedulers 1 --no-pin --listen {web} \
         --listen-resp {resp}",
        shown(&site.velodrome()?),
        shown(&files),
        shown(&folder.join("velodrome.toml")),
        shown(&folder.join("data")),
    );
    let mut command = leashed(&line.split(' ').collect::<Vec<_>>());
    if let Some(library) = preload {
        command.env("LD_PRELOAD", library);
    }
    let server = server::start(command, "memory", site.folder(), web, b"")?;
    Ok(Place { server, web, resp })
}

impl Place {
    /// Anonymous memory in MiB: what the kernel cannot read back from a file.
    fn memory(&self) -> f64 {
        accounting::memory(&self.server.family()).anonymous as f64 / (1024.0 * 1024.0)
    }

    /// CPU time so far.
    fn cpu_seconds(&self) -> f64 {
        accounting::spent(&self.server.family()).nanoseconds as f64 / 1e9
    }

    fn connect(&self) -> Result<OwnedFd, Failure> {
        Ok(client::connect(self.web).map_err(std::io::Error::from)?)
    }
}

/// Connections with half a head each. Returns the memory meanwhile.
fn unfinished(place: &Place, count: u64) -> Result<f64, Failure> {
    let head = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "y".repeat(HEAD_BYTES));
    let mut open = Vec::new();
    for _ in 0..count {
        let socket = place.connect()?;
        client::send(&socket, head.as_bytes())?;
        open.push(socket);
    }
    Ok(place.memory())
}

/// Pages, uploads, files, queues of clients that do not read, and writes into the store. Returns the most memory after
/// a cycle.
fn mixed(place: &Place) -> Result<f64, Failure> {
    let mut most = 0.0_f64;
    let body = vec![b'u'; 1024 * 1024];
    let value = vec![b'v'; 100_000];
    for _ in 0..CYCLES {
        let mut open = Vec::new();
        for number in 0..MIXED {
            let socket = place.connect()?;
            ask(&socket, "GET /rows", b"")?;
            ask(&socket, "GET /file.txt", b"")?;
            if number < MIXED / 5 {
                ask(&socket, "POST /length", &body)?;
            }
            let deaf = place.connect()?;
            client::send(&deaf, "GET /rows HTTP/1.1\r\nHost: a\r\n\r\n".repeat(40).as_bytes())?;
            open.extend([socket, deaf]);
        }
        let mut redis = TcpStream::connect(place.resp)?;
        for number in 0..MIXED {
            let head = format!("*3\r\n$3\r\nSET\r\n$4\r\nk{number:03}\r\n${}\r\n", value.len());
            redis.write_all(&[head.as_bytes(), &value, b"\r\n"].concat())?;
            redis.read_exact(&mut [0; 5])?;
        }
        most = most.max(place.memory());
    }
    Ok(most)
}

/// Sends a request and reads its answer.
fn ask(socket: &OwnedFd, what: &str, body: &[u8]) -> Result<(), Failure> {
    let head = format!("{what} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
    let opening = Opening::of([head.as_bytes(), body].concat());
    client::exchange(socket, &opening)
        .map(drop)
        .map_err(|failure| Failure::Work(format!("{what}: {failure}")))
}
