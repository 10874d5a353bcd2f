//! The shortest way to serve: one address, one scheduler for each CPU this process may use.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use sys::pollset::{ListenOptions, Speaks};
use sys::socket::ListenAddress;

use crate::launch::{Pinning, Plan, Spread, Tables, launch, schedulers_by_default};
use crate::limits;
use crate::mailbox::{Role, Waking, mesh};
use crate::scheduler::Settings;
use crate::service::Service;

/// Serves at an address such as `127.0.0.1:8080` until the process is ended. `make` makes each scheduler its own
/// service, on its own thread.
///
/// # Errors
/// When the address cannot be resolved or listened on, or a thread cannot be started.
pub fn serve<S, F>(address: &str, first: Speaks, make: F) -> io::Result<()>
where
    S: Service,
    S::Message: 'static,
    F: Fn() -> S + Send + Sync + 'static,
{
    let address = ListenAddress::Tcp(resolve(address)?);
    let schedulers = schedulers_by_default()?;
    let seats = mesh(&vec![Role::Scheduler; schedulers], Waking::Descriptors)?;
    let plan = Plan {
        name: "velodrome",
        pinning: Pinning::EachToItsCpu,
        tables: Tables::Private,
        spread: Spread::Hash,
        listeners: vec![ListenOptions { address, backlog: limits::BACKLOG, first }],
        settings: Settings::default(),
        keep: Vec::new(),
    };
    sys::descriptor::raise_descriptor_limit();
    let mut launched = launch(&plan, seats, move |_| Ok(make())).map_err(io::Error::other)?;
    launched.start();
    launched.join().map(drop)
}

fn resolve(address: &str) -> io::Result<SocketAddr> {
    let wrong = |error: String| {
        io::Error::other(format!("`{address}` is not an address to listen on: {error}"))
    };
    let mut found = address.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
    found.next().ok_or_else(|| wrong("it has none".to_owned()))
}
