//! A recursive function in a page, computed this many times: `cargo run --release -p velodrome-script --example fib --
//! native 5`; with the word `anew` after it, the function is defined anew by each request.
//!
//! Owns one page and its result, so that a whole run can be timed from outside. Never reads a clock.
#![expect(clippy::print_stdout, reason = "an example that reports")]

use std::time::Duration;

use script::engine::{
    CallResult, Code, EngineSettings, EngineState, HostAnswer, PageHost, PageLogLevel, PageOutput,
    RequestPart, WaitReply,
};

const FIB: &str = "local function fib(n)
  if n < 2 then
    return n
  end
  return fib(n - 1) + fib(n - 2)
end
return function(output)
  output:put(fib(40))
end";

const FIB_ANEW: &str = "return function(output)
  local function fib(n)
    if n < 2 then
      return n
    end
    return fib(n - 1) + fib(n - 2)
  end
  output:put(fib(40))
end";

/// More than the slowest machine needs: a page of a server has 250 ms.
const BUDGET: Duration = Duration::from_secs(3_600);

/// Nobody asks.
struct NoRequest;

impl PageHost for NoRequest {
    fn request(&mut self, _: RequestPart, _: &mut HostAnswer) {}

    fn now(&mut self) -> Duration {
        Duration::ZERO
    }

    fn log(&mut self, _: PageLogLevel, _: &[u8]) {}
}

fn main() {
    let mut words = std::env::args().skip(1);
    let code = match words.next().as_deref() {
        Some("bytecode") => Code::Bytecode,
        _ => Code::Native,
    };
    let times = words.next().map_or(1, |word| word.parse().expect("a number of times"));
    let source = if words.next().is_some_and(|word| word == "anew") { FIB_ANEW } else { FIB };
    let settings = EngineSettings { code, cpu_budget: BUDGET, ..EngineSettings::default() };
    let mut state = EngineState::new(settings).expect("the engine can be made here");
    let page = state.load(0, "fib", source).expect("the page is Lua");
    for _ in 0..times {
        let mut output = PageOutput::default();
        let mut run = state.begin(&page).expect("there is memory for it");
        loop {
            match state.resume(&mut run, WaitReply::Nothing, &mut NoRequest, &mut output) {
                CallResult::Sliced | CallResult::Waits(_) => {}
                CallResult::Failed(error) => panic!("{error}"),
                CallResult::Done => break,
            }
        }
        println!("{}", String::from_utf8_lossy(&output.body));
    }
}
