//! HTTP services by routes: a handler per method and path, with state per scheduler.
//!
//! Owns the list of routes and how a request finds its handler. Each scheduler has its own `App`,
//! so handlers keep state without locks. Never reads a clock and never blocks: a handler that waits
//! says what follows the wait.

mod call;
mod failure;
mod message;
mod response;
mod run;
mod server;

use std::collections::BTreeMap;
use std::time::Duration;

use wire::http::method::Method;

pub use call::Call;
pub use failure::Failure;
pub use message::AppMessage;
pub use response::Response;
pub use server::{Running, Server, Stop};

use crate::limits;
use crate::{Http, HttpSettings};
use call::Waiting;

/// The result of a handler. `?` turns every error into a [`Failure`].
pub type HandlerResult = Result<Response, Failure>;

/// The parts of a path that match names in its route, by these names.
type Parameters = Vec<(Box<str>, Box<str>)>;

type Handler<S> = Box<dyn FnMut(&mut Call<'_, S>) -> HandlerResult>;

/// The routes of one scheduler, with the state `S` that its handlers share.
///
/// ```
/// use http::{App, Call, Failure, Response, Status};
///
/// #[derive(Default)]
/// struct Visits(u64);
///
/// fn hello(call: &mut Call<'_, Visits>) -> Result<Response, Failure> {
///     call.state().0 += 1;
///     let name = call.parameter("name").to_owned();
///     Ok(Response::text(format!("Hello, {name}! Visit {}.", call.state().0)))
/// }
///
/// fn sum(call: &mut Call<'_, Visits>) -> Result<Response, Failure> {
///     let numbers: Vec<f64> = call.json()?;
///     Response::json(&numbers.iter().sum::<f64>())
/// }
///
/// let app = App::new(Visits::default()).get("/hello/{name}", hello).post("/sum", sum);
/// # let _ = app;
/// ```
pub struct App<S> {
    state: S,
    paths: matchit::Router<usize>,
    /// Indexed by the number that `paths` gives for a pattern.
    routes: Vec<Route<S>>,
    body_size: u64,
    jobs: Vec<Job<S>>,
    waiting: Waiting<S>,
    failures: failure::FailureLog,
}

/// The handlers of one path.
struct Route<S> {
    pattern: String,
    handlers: BTreeMap<&'static str, Handler<S>>,
}

/// Work that is repeated.
struct Job<S> {
    every: Duration,
    due_ns: u64,
    work: Box<dyn FnMut(&mut S)>,
}

impl<S: 'static> App<S> {
    /// An app without routes.
    pub fn new(state: S) -> Self {
        Self {
            state,
            paths: matchit::Router::new(),
            routes: Vec::new(),
            body_size: limits::BODY_SIZE,
            jobs: Vec::new(),
            waiting: Waiting::new(),
            failures: failure::FailureLog::default(),
        }
    }

    /// Answers GET at a path, and HEAD without the body. `{name}` matches one segment, `{*name}` the whole rest.
    ///
    /// # Panics
    /// If the path conflicts with an earlier one or already has this method. This is a mistake of the program, found
    /// when it starts.
    pub fn get(
        self,
        path: &str,
        handler: impl FnMut(&mut Call<'_, S>) -> HandlerResult + 'static,
    ) -> Self {
        self.route(Method::Get, path, handler)
    }

    /// Answers POST at a path; see [`get`](Self::get).
    pub fn post(
        self,
        path: &str,
        handler: impl FnMut(&mut Call<'_, S>) -> HandlerResult + 'static,
    ) -> Self {
        self.route(Method::Post, path, handler)
    }

    /// Answers PUT at a path; see [`get`](Self::get).
    pub fn put(
        self,
        path: &str,
        handler: impl FnMut(&mut Call<'_, S>) -> HandlerResult + 'static,
    ) -> Self {
        self.route(Method::Put, path, handler)
    }

    /// Answers DELETE at a path; see [`get`](Self::get).
    pub fn delete(
        self,
        path: &str,
        handler: impl FnMut(&mut Call<'_, S>) -> HandlerResult + 'static,
    ) -> Self {
        self.route(Method::Delete, path, handler)
    }

    /// Answers a method at a path; see [`get`](Self::get).
    ///
    /// # Panics
    /// As in [`get`](Self::get).
    pub fn route(
        mut self,
        method: Method,
        path: &str,
        handler: impl FnMut(&mut Call<'_, S>) -> HandlerResult + 'static,
    ) -> Self {
        let known = self.routes.iter().position(|route| route.pattern == path);
        let number = known.unwrap_or_else(|| {
            let number = self.routes.len();
            if let Err(error) = self.paths.insert(path, number) {
                panic!("the route `{path}` cannot be added: {error}");
            }
            self.routes.push(Route { pattern: path.to_owned(), handlers: BTreeMap::new() });
            number
        });
        let handlers = &mut self.routes[number].handlers;
        if handlers.insert(method.as_str(), Box::new(handler)).is_some() {
            panic!("the route `{path}` has {} already", method.as_str());
        }
        self
    }

    /// Repeats something on each scheduler. The first time is one interval after the start.
    ///
    /// ```
    /// # use http::App;
    /// # use std::time::Duration;
    /// let app = App::new(0_u64).every(Duration::from_secs(1), |seconds| *seconds += 1);
    /// # let _ = app;
    /// ```
    pub fn every(mut self, interval: Duration, work: impl FnMut(&mut S) + 'static) -> Self {
        // A shorter interval would be a busy loop.
        let every = interval.max(Duration::from_millis(1));
        self.jobs.push(Job { every, due_ns: 0, work: Box::new(work) });
        self
    }

    /// The largest request body; a larger one is answered with 413. The default is 1 MiB.
    pub fn body_size(mut self, bytes: u64) -> Self {
        self.body_size = bytes;
        self
    }

    /// The app as a service for a scheduler, with the default [`HttpSettings`].
    pub fn into_service(self) -> Http<Self> {
        Http::new(self, HttpSettings::default().into(), None)
    }

    /// The number of requests that wait for a time or for other schedulers.
    pub fn waiting(&self) -> usize {
        self.waiting.count()
    }

    /// The state, for tests.
    pub fn state(&self) -> &S {
        &self.state
    }
}

impl<S> Route<S> {
    /// The value of the `Allow` field.
    fn allow(&self) -> String {
        let mut methods: Vec<&str> = self.handlers.keys().copied().collect();
        if methods.contains(&"GET") {
            methods.push("HEAD");
        }
        methods.push("OPTIONS");
        methods.sort_unstable();
        methods.join(", ")
    }
}
