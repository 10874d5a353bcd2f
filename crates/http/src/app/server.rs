//! Serves an app: addresses, schedulers, and shutdown.
//!
//! Owns the start and the stop of the scheduler threads, and a thread that sends the order to stop.
//! Never answers a request.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use runtime::launch::Launched;
use runtime::mailbox::{Endpoint, Mailbox};
use runtime::serve;
use sys::pollset::Speaks;

use super::App;
use super::message::{AppMessage, Kind};

/// An address to serve an [`App`] at.
///
/// ```
/// use http::{App, Response, Server};
/// use std::time::Duration;
///
/// let server = Server::listen("127.0.0.1:0")
///     .schedulers(1)
///     .start(|| App::new(()).get("/", |_call| Ok(Response::text("hello"))))?;
/// println!("http://{}/", server.address());
/// server.stop(Duration::from_secs(5))?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Server {
    address: String,
    schedulers: Option<usize>,
}

impl Server {
    /// At an address such as `127.0.0.1:8080`. For port 0 the kernel chooses one; [`Running::address`] returns it.
    pub fn listen(address: impl Into<String>) -> Self {
        Self { address: address.into(), schedulers: None }
    }

    /// With this many schedulers, instead of one for each CPU that the process may use.
    pub fn schedulers(mut self, count: usize) -> Self {
        self.schedulers = Some(count);
        self
    }

    /// Starts the schedulers. Each makes its own app, on its own thread.
    ///
    /// # Errors
    /// If the address cannot be resolved or bound, or a thread cannot be started.
    pub fn start<S, F>(self, make: F) -> io::Result<Running>
    where
        S: 'static,
        F: Fn() -> App<S> + Send + Sync + 'static,
    {
        let count = self.schedulers.map_or_else(serve::schedulers_by_default, Ok)?.max(1);
        let started =
            serve::start(&self.address, count, Speaks::CLIENT, move || make().into_service())?;
        let (stop, orders) = channel();
        let mut mail = started.mail;
        std::thread::Builder::new()
            .name("velodrome-stop".to_owned())
            .spawn(move || orders.iter().for_each(|patience| send_stop(&mut mail, patience)))?;
        Ok(Running { address: started.address, launched: started.launched, stop: Stop(stop) })
    }
}

fn send_stop<S>(mail: &mut Mailbox<AppMessage<S>>, patience: Duration) {
    let deadline_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
    let schedulers: Vec<Endpoint> = mail.schedulers().collect();
    for scheduler in schedulers {
        // A scheduler without room for the message has already been told to stop many times.
        let _told_before = mail.send(scheduler, AppMessage(Kind::Stop { deadline_ms }));
    }
    mail.flush();
}

/// A running server.
///
/// ```
/// use http::{App, Response, Server};
/// use std::time::Duration;
///
/// let app = || App::new(()).get("/", |_call| Ok(Response::text("hello")));
/// let server = Server::listen("127.0.0.1:0").schedulers(1).start(app)?;
/// assert_ne!(server.address().port(), 0);
/// let handle = server.handle();
/// std::thread::spawn(move || handle.stop(Duration::from_secs(5)));
/// server.join()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Running {
    address: SocketAddr,
    launched: Launched,
    stop: Stop,
}

impl Running {
    /// The address it listens on, with the port that the kernel chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A handle with which other threads can stop it.
    pub fn handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Stops the server: it accepts no new connections, lets running requests finish within this time, then ends.
    ///
    /// # Errors
    /// As [`join`](Self::join).
    pub fn stop(self, patience: Duration) -> io::Result<()> {
        self.stop.stop(patience);
        self.join()
    }

    /// Waits until it has been stopped.
    ///
    /// # Errors
    /// If a scheduler failed because its pollset failed.
    pub fn join(self) -> io::Result<()> {
        self.launched.join().map(drop)
    }
}

/// Stops a server from any thread.
///
/// See [`Running`] for an example.
#[derive(Clone, Debug)]
pub struct Stop(Sender<Duration>);

impl Stop {
    /// Begins to stop: running requests may take this long. A second call changes nothing.
    pub fn stop(&self, patience: Duration) {
        // The receiving thread exists as long as one of these handles.
        let _always = self.0.send(patience);
    }
}
