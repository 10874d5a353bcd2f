//! The parts that tests run pages with: an engine, a host with a fixed request, and a loop that plays the server.

use std::collections::BTreeMap;
use std::time::Duration;

use script::engine::{
    EngineSettings, EngineState, Handler, HostAnswer, PageHost, PageLogLevel, PageOutput,
    RecordScan, RequestPart, Run, ScriptError, WaitReply,
};

use crate::waits::{CALLS, Step, Wait};

/// More steps than any test needs.
const STEPS_MAX: usize = 100_000;

/// A host with one request, a clock that stands unless it is moved, and a log that is kept.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) asked: Vec<RequestPart>,
    pub(crate) log: Vec<(PageLogLevel, String)>,
    /// Of the next request.
    pub(crate) cookies: Vec<(String, String)>,
    /// The time by which the clock was moved.
    pub(crate) passed: Duration,
    pub(crate) clock_reads: u32,
    /// GET by default.
    pub(crate) method: Option<&'static str>,
    /// The rest of the path for a module.
    pub(crate) rest: String,
    pub(crate) scheme: &'static str,
    /// Values of the store: kind, bytes, version, expiry. Keys that begin with `broken` cannot be read.
    pub(crate) records: BTreeMap<Vec<u8>, [&'static [u8]; 4]>,
}

fn is_broken(key: &[u8]) -> Result<(), String> {
    if key.starts_with(b"broken") { Err("the disk is on fire".to_owned()) } else { Ok(()) }
}

impl PageHost for Desk {
    fn request(&mut self, part: RequestPart, answer: &mut HostAnswer) {
        self.asked.push(part);
        match part {
            RequestPart::Method => answer.text(self.method.unwrap_or("GET").as_bytes()),
            RequestPart::Path => answer.text(b"/hello"),
            RequestPart::Query => {
                answer.field(b"name", b"Ada");
                answer.field(b"name", b"Grace & <co>");
                answer.field(b"page", b"2");
            }
            RequestPart::QueryLists => {
                answer.field(b"1.name", b"Ada");
                answer.field(b"2.name", b"Grace & <co>");
                answer.field(b"3.page", b"2");
            }
            RequestPart::FormLists => answer.field(b"1.agreed", b"yes"),
            RequestPart::Headers => answer.field(b"host", b"example.org"),
            RequestPart::Cookies => {
                answer.fields();
                for (name, value) in &self.cookies {
                    answer.field(name.as_bytes(), value.as_bytes());
                }
            }
            RequestPart::CookieLists => {
                answer.fields();
                for (index, (name, value)) in self.cookies.iter().enumerate() {
                    answer.field(format!("{}.{name}", index + 1).as_bytes(), value.as_bytes());
                }
            }
            RequestPart::Body => answer.text(br#"{"a":[1,2]}"#),
            RequestPart::Trailers => answer.field(b"x-sum", b"7"),
            RequestPart::Form => answer.field(b"agreed", b"yes"),
            RequestPart::Files => {
                let facts = [
                    ("form", "7"),
                    ("count", "2"),
                    ("1.field", "photo"),
                    ("1.name", "a.jpg"),
                    ("1.type", "image/jpeg"),
                    ("1.size", "10"),
                    ("2.field", "photo"),
                    ("2.name", "b"),
                    ("2.size", "0"),
                ];
                for (name, value) in facts {
                    answer.field(name.as_bytes(), value.as_bytes());
                }
            }
            RequestPart::Rest => answer.text(self.rest.as_bytes()),
            RequestPart::Scheme => answer.text(self.scheme.as_bytes()),
            RequestPart::QueryText
            | RequestPart::Peer
            | RequestPart::Tls
            | RequestPart::Id
            | RequestPart::Trace
            | RequestPart::User => {}
            RequestPart::Channel => answer.text(b"room.1"),
            RequestPart::Message => answer.field(b"json", br#"{"a":[1,2]}"#),
            RequestPart::Claims => answer.text(br#"{"sub":"ann"}"#),
        }
    }

    fn now(&mut self) -> Duration {
        Duration::from_millis(1_000_000_000_500) + self.passed
    }

    fn clock(&mut self) -> Duration {
        self.clock_reads += 1;
        Duration::from_micros(250) * self.clock_reads
    }

    fn record(&mut self, _: &[u8], key: &[u8], answer: &mut HostAnswer) -> Result<(), String> {
        is_broken(key)?;
        if let Some([kind, bytes, version, end]) = self.records.get(key) {
            answer.field(kind, bytes);
            answer.field(version, end);
        }
        Ok(())
    }

    fn records(&mut self, wanted: RecordScan<'_>, answer: &mut HostAnswer) -> Result<(), String> {
        is_broken(wanted.prefix)?;
        let from = wanted.after.unwrap_or(wanted.prefix);
        let found = self.records.range(from.to_vec()..).filter(|(key, _)| {
            key.starts_with(wanted.prefix) && wanted.after.is_none_or(|after| &***key > after)
        });
        let found: Vec<_> = found.take(wanted.count).collect();
        match found.last() {
            Some((last, _)) if found.len() == wanted.count => answer.field(last, b"1"),
            _ => answer.field(b"", b""),
        }
        answer.field(b"7", b"");
        for (key, [kind, bytes, version, end]) in found {
            answer.field(key, b"");
            answer.field(kind, bytes);
            answer.field(version, end);
        }
        Ok(())
    }

    fn log(&mut self, level: PageLogLevel, text: &[u8]) {
        self.log.push((level, String::from_utf8_lossy(text).into_owned()));
    }
}

/// An engine and its parts in a server.
pub(crate) struct Stage {
    pub(crate) state: EngineState,
    pub(crate) desk: Desk,
    pub(crate) output: PageOutput,
}

/// The result of a page, and its events.
#[derive(Debug, Default)]
pub(crate) struct Course {
    pub(crate) body: String,
    pub(crate) slices: usize,
    pub(crate) waits: Vec<Wait>,
    /// The number of slices that had ended before each wait.
    pub(crate) slices_before: Vec<usize>,
}

impl Stage {
    /// An engine whose slices are too long to end while a test watches.
    pub(crate) fn new() -> Stage {
        Self::with(EngineSettings { slice: Duration::from_secs(3600), ..EngineSettings::default() })
    }

    pub(crate) fn with(settings: EngineSettings) -> Stage {
        let state = EngineState::new(EngineSettings { calls: CALLS, ..settings }).unwrap();
        Stage { state, desk: Desk::default(), output: PageOutput::default() }
    }

    /// Loads a page from the inside of its function.
    pub(crate) fn load(&mut self, code: &str) -> Handler {
        self.try_load(code).unwrap()
    }

    pub(crate) fn try_load(&mut self, code: &str) -> Result<Handler, Box<ScriptError>> {
        let text = format!("return function(_b, _e, _r, request, response) {code}\nend");
        self.state.load(0, "test.page.html", &text)
    }

    pub(crate) fn start(&mut self, page: &Handler) -> Step {
        match self.state.begin(page) {
            Ok(run) => self.resume(run),
            Err(error) => Step::Failed(error),
        }
    }

    pub(crate) fn resume(&mut self, run: Run) -> Step {
        self.reply(run, WaitReply::Nothing)
    }

    /// Continues with the answer to a wait.
    pub(crate) fn reply(&mut self, mut run: Run, reply: WaitReply<'_>) -> Step {
        let result = self.state.resume(&mut run, reply, &mut self.desk, &mut self.output);
        Step::of(run, result)
    }

    /// Plays a page to its end; every wait ends at once.
    pub(crate) fn play(&mut self, page: &Handler) -> Result<Course, Box<ScriptError>> {
        let mut course = Course::default();
        // As at the end of a turn.
        self.state.clear_away();
        let mut step = self.start(page);
        for _ in 0..STEPS_MAX {
            step = match step {
                Step::Done => {
                    course.body = String::from_utf8(self.output.body.clone()).unwrap();
                    return Ok(course);
                }
                Step::Failed(error) => return Err(error),
                Step::Sliced(run) => {
                    course.slices += 1;
                    self.resume(run)
                }
                Step::Waits(run, wait) => {
                    course.waits.push(wait);
                    course.slices_before.push(course.slices);
                    self.resume(run)
                }
            };
        }
        panic!("the page did not end in {STEPS_MAX} steps");
    }

    /// Loads and plays a page; returns its output.
    pub(crate) fn body(&mut self, code: &str) -> String {
        let page = self.load(code);
        self.play(&page).unwrap().body
    }

    /// The text fields that the last page set.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.output.fields().map(|(name, value)| (name, str::from_utf8(value).unwrap()))
    }

    /// The cookies that the last page set, as a browser parses them: name, value, and attributes.
    pub(crate) fn cookies_set(&self) -> Vec<(String, String, String)> {
        let lines = self.fields().filter(|(name, _)| *name == "set-cookie");
        let split = |line: &str| {
            let (pair, attributes) = line.split_once("; ").unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            (name.to_owned(), value.to_owned(), attributes.to_owned())
        };
        lines.map(|(_, line)| split(line)).collect()
    }

    /// Loads and plays a page that fails.
    pub(crate) fn failure(&mut self, code: &str) -> Box<ScriptError> {
        let page = self.load(code);
        match self.play(&page) {
            Ok(course) => panic!("it ended well: {course:?}"),
            Err(error) => error,
        }
    }
}
