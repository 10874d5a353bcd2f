//! The state of a server, as its control socket tells it.
//!
//! Owns the questions. They go straight to the socket: tests ask often, and a process of `velodrome ctl` for each
//! question would take most of a processor. Changes nothing.

use serde_json::Value;

use super::Server;
use super::client::Client;
use super::patience::until;

impl Server {
    /// The answer to a GET of the control socket, such as `/status`.
    pub(crate) fn told(&self, path: &str) -> Value {
        let mut client = Client::connect_unix(&self.plan.socket()).unwrap();
        let answer = client.get(path).unwrap();
        serde_json::from_slice(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }

    /// Waits for a value of `/stats`, which may be a moment old.
    pub(crate) fn reaches(&self, pointer: &str, number: u64) {
        until(pointer, || (self.count(pointer) == number).then_some(()));
    }

    /// A value of `/stats`, summed over schedulers; the path is a JSON pointer.
    pub(crate) fn count(&self, pointer: &str) -> u64 {
        let stats = self.told("/stats");
        let of_one = |scheduler: &Value| {
            scheduler.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| {
                panic!("no number {pointer} in {scheduler}");
            })
        };
        stats["schedulers"].as_array().unwrap().iter().map(of_one).sum()
    }
}
