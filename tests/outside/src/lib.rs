//! A small service as a user of the library writes it: notes, kept by each scheduler.
//!
//! Uses everything that the library promises: routes with parameters, handlers that fail with `?`, JSON in and out,
//! waits, answers of other schedulers, a background job, port 0, and stopping by a handle.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use velodrome::http::{App, Call, Failure, HandlerResult, Response, Running, Server, Status};

/// The state of one scheduler.
#[derive(Debug, Default)]
pub struct Notes {
    notes: BTreeMap<u32, Note>,
    /// Seconds since the start, counted by the background job.
    seconds: u64,
}

/// One note.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Its text.
    pub text: String,
}

/// The routes.
pub fn app() -> App<Notes> {
    App::new(Notes::default())
        .get("/notes/{number}", show)
        .put("/notes/{number}", write)
        .delete("/notes/{number}", |call| {
            let number = number(call)?;
            call.state().notes.remove(&number).ok_or_else(Failure::not_found)?;
            Ok(Response::empty(Status::NO_CONTENT))
        })
        .get("/count", count)
        .get("/slow/{milliseconds}", slow)
        .get("/count-after/{milliseconds}", |call| {
            let milliseconds = call.parameter("milliseconds").parse()?;
            call.after(Duration::from_millis(milliseconds), count)
        })
        .get("/up", |call| Response::json(&call.state().seconds))
        .get("/abandoned", |call| {
            // A wait that is not returned has no effect.
            let _later = call.after(Duration::from_secs(1), |_call| Ok(Response::text("late")));
            let _asked =
                call.ask_all(|notes| notes.seconds, |_call, _all| Ok(Response::text("late")));
            Ok(Response::text("now"))
        })
        .get("/empty", |_call| Ok(Response::text("unseen").status(Status::NO_CONTENT)))
        .get("/config", |_call| {
            let port: u16 = "no number".parse()?;
            Response::json(&port)
        })
        .every(Duration::from_secs(1), |notes| notes.seconds += 1)
}

/// Serves until it is stopped.
///
/// # Errors
/// It cannot listen on the address.
pub fn start(address: &str) -> io::Result<Running> {
    Server::listen(address).schedulers(2).start(app)
}

fn number(call: &Call<'_, Notes>) -> Result<u32, Failure> {
    let text = call.parameter("number");
    text.parse().map_err(|_| Failure::new(Status::BAD_REQUEST, "a note has a number"))
}

fn show(call: &mut Call<'_, Notes>) -> HandlerResult {
    let number = number(call)?;
    let note = call.state().notes.get(&number).ok_or_else(Failure::not_found)?;
    Response::json(note)
}

fn write(call: &mut Call<'_, Notes>) -> HandlerResult {
    let (number, note) = (number(call)?, call.json()?);
    match call.state().notes.insert(number, note) {
        Some(_) => Ok(Response::empty(Status::NO_CONTENT)),
        None => {
            let place = format!("/notes/{number}");
            Response::empty(Status::CREATED).field("Location", &place)
        }
    }
}

/// The notes of all schedulers.
fn count(call: &mut Call<'_, Notes>) -> HandlerResult {
    call.ask_all(
        |notes| notes.notes.len(),
        |_call, counts| Response::json(&counts.iter().sum::<usize>()),
    )
}

fn slow(call: &mut Call<'_, Notes>) -> HandlerResult {
    let milliseconds = call.parameter("milliseconds").parse()?;
    call.after(Duration::from_millis(milliseconds), |call| {
        let path = call.request().path().to_owned();
        Ok(Response::text(format!("{path} is done")))
    })
}
