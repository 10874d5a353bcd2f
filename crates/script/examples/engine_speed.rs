//! What the engine costs by itself: `cargo run --release -p velodrome-script --example engine_speed`.
//!
//! Owns the measurements and their printing. Never speaks HTTP: what a server adds is measured elsewhere.
#![expect(clippy::print_stdout, reason = "an example that reports")]
#![expect(clippy::disallowed_methods, reason = "it measures time, outside of any scheduler")]

use std::time::{Duration, Instant};

use script::engine::{
    Answer, Code, Handler, Host, Level, Output, Part, Reply, Run, Settings, State, Step,
};

const HELLO: &str = "return function(b, e, r, request, response)
  b:put('<!doctype html><title>Hello</title><h1>Hello, world</h1>')
end";

const LIGHT: &str = "return function(b, e, r, request, response)
  b:put('<!doctype html><title>Request</title><h1>', e(request.method), ' ', e(request.path), '</h1><dl>')
  for name, value in pairs(request.query) do
    b:put('<dt>', e(name), '</dt><dd>', e(value), '</dd>')
  end
  b:put('</dl><dl>')
  for name, value in pairs(request.headers) do
    b:put('<dt>', e(name), '</dt><dd>', e(value), '</dd>')
  end
  b:put('</dl>')
end";

const TABLE: &str = "local rows = {}
for i = 1, 1000 do
  rows[i] = { id = i, name = 'Name <' .. i .. '>', note = 'a note without marks ' .. i }
end
return function(b, e, r, request, response)
  b:put('<table>')
  for i = 1, #rows do
    local row = rows[i]
    b:put('<tr><td>', e(row.id), '</td><td>', e(row.name), '</td><td>', e(row.note), '</td></tr>')
  end
  b:put('</table>')
end";

const FIB: &str = "local function fib(n)
  if n < 2 then return n end
  return fib(n - 1) + fib(n - 2)
end
return function(b) b:put(fib(40)) end";

const JSON: &str =
    "local value = { id = 7, name = 'Ada \"L\"', tags = { 'a', 'b', 'c' }, price = 1.5, ok = true }
local text = json.encode(value)
return function(b)
  for i = 1, 1000 do b:put(json.encode(value)) end
  for i = 1, 1000 do json.decode(text) end
end";

/// A request as a browser sends it.
struct Request;

const FIELDS: [(&[u8], &[u8]); 12] = [
    (b"host", b"127.0.0.1:8080"),
    (b"user-agent", b"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"),
    (b"accept", b"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    (b"accept-language", b"en-US,en;q=0.5"),
    (b"accept-encoding", b"gzip, deflate, br, zstd"),
    (b"connection", b"keep-alive"),
    (b"cookie", b"session=0123456789abcdef"),
    (b"upgrade-insecure-requests", b"1"),
    (b"sec-fetch-dest", b"document"),
    (b"sec-fetch-mode", b"navigate"),
    (b"sec-fetch-site", b"none"),
    (b"priority", b"u=0, i"),
];

impl Host for Request {
    fn request(&mut self, part: Part, answer: &mut Answer) {
        match part {
            Part::Method => answer.text(b"GET"),
            Part::Path => answer.text(b"/light"),
            Part::Query => {
                answer.field(b"name", b"Ada & Grace");
                answer.field(b"page", b"12");
                answer.field(b"sort", b"descending");
            }
            Part::Headers => FIELDS.iter().for_each(|(name, value)| answer.field(name, value)),
            _ => {}
        }
    }

    fn now(&mut self) -> Duration {
        Duration::ZERO
    }

    fn log(&mut self, _: Level, _: &[u8]) {}
}

fn engine(code: Code) -> State {
    let settings = Settings { code, cpu_budget: Duration::from_secs(3600), ..Settings::default() };
    State::new(settings).expect("the engine can be made here")
}

/// Plays a page to its end; how many bytes it wrote.
fn play(state: &mut State, page: &Handler, output: &mut Output) -> usize {
    let mut step = state.start(page, &mut Request, output);
    loop {
        step = match step {
            Step::Done => return output.body.len(),
            Step::Sliced(run) | Step::Waits(run, _) => {
                state.resume(run, Reply::Nothing, &mut Request, output)
            }
            Step::Failed(error) => panic!("{error}"),
        };
    }
}

/// Nanoseconds for each of `count` runs, the best of five rounds.
fn measure(state: &mut State, text: &str, count: u32) -> (f64, usize) {
    let page = state.load(0, "page", text).expect("the page is Lua");
    let mut output = Output::default();
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..count {
            play(state, &page, &mut output);
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(count));
    }
    (best, output.body.len())
}

/// Bytes of Lua memory for each of many pages that wait.
fn waiting_bytes() -> usize {
    const PAGES: usize = 10_000;
    let settings = Settings { memory_bytes: 256 << 20, ..Settings::default() };
    let mut state = State::new(settings).expect("the engine can be made here");
    let text = "return function(b) b:put('<p>') sleep(1) b:put('</p>') end";
    let page = state.load(0, "page", text).expect("the page is Lua");
    let mut output = Output::default();
    state.collect_garbage();
    let before = state.memory_used();
    let mut waiting = Vec::with_capacity(PAGES);
    for _ in 0..PAGES {
        waiting.push(state.start(&page, &mut Request, &mut output));
    }
    state.collect_garbage();
    (state.memory_used() - before) / PAGES
}

fn main() {
    println!("a waiting page: {} bytes, and {} of its handle", waiting_bytes(), size_of::<Run>());
    for code in [Code::Native, Code::Bytecode] {
        let mut state = engine(code);
        for (name, text, count) in [
            ("hello", HELLO, 200_000),
            ("light", LIGHT, 50_000),
            ("table", TABLE, 500),
            ("json x 2,000", JSON, 20),
        ] {
            let (time_ns, bytes) = measure(&mut state, text, count);
            println!("{code:?} {name}: {time_ns:.0} ns, {bytes} bytes");
        }
    }
    for code in [Code::Native, Code::Bytecode] {
        let mut state = engine(code);
        let page = state.load(0, "fib", FIB).expect("the page is Lua");
        let start = Instant::now();
        play(&mut state, &page, &mut Output::default());
        println!("{code:?} fib(40): {:.2} s", start.elapsed().as_secs_f64());
    }
}
