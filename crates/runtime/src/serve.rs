//! The shortest way to serve: one address, one scheduler per CPU that this process may use.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use sys::pollset::{ListenOptions, Silence, Speaks};
use sys::socket::ListenAddress;

use crate::launch::{ConnectionSpread, LaunchPlan, Launched, Pinning, Tables, launch};
use crate::limits;
use crate::mailbox::{EndpointRole, Mailbox, Waking, mesh};
use crate::scheduler::SchedulerSettings;
use crate::service::Service;

pub use crate::launch::schedulers_by_default;

/// A running service.
pub struct RunningService<M> {
    /// The address it listens on, with the port that the kernel chose.
    pub address: SocketAddr,
    /// Its schedulers.
    pub launched: Launched,
    /// The mailbox of a helper without a thread: for messages to the schedulers.
    pub mail: Mailbox<M>,
}

/// Serves at an address such as `127.0.0.1:8080` until the process ends, with one scheduler for each CPU that the
/// process may use. `make` makes the service of each scheduler, on its thread.
///
/// See [`start`] for an example.
///
/// # Errors
/// If the address cannot be resolved or bound, or a thread cannot be started.
pub fn serve<S, F>(address: &str, first: Speaks, make: F) -> io::Result<()>
where
    S: Service,
    S::Message: 'static,
    F: Fn() -> S + Send + Sync + 'static,
{
    start(address, schedulers_by_default()?, first, make)?.launched.join().map(drop)
}

/// Starts serving at an address with this many schedulers.
///
/// ```
/// # use runtime::Peer;
/// # use runtime::service::{SchedulerCommand, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext};
/// use runtime::Speaks;
/// use std::io::Read;
///
/// # struct Once(bool);
/// # impl Service for Once {
/// #     type Process = ();
/// #     type Message = ();
/// #     const KINDS: &'static [&'static str] = &["once"];
/// #     fn kind(_: &()) -> usize { 0 }
/// #     fn is_idle(_: &()) -> bool { true }
/// #     fn on_accept(&mut self, _: ListenerIndex, _: Peer, context: &mut Context<'_, ()>) -> Option<()> {
/// #         context.output.put(b"hello");
/// #         self.0 = true;
/// #         Some(())
/// #     }
/// #     fn on_input(&mut self, _: &mut (), input: &[u8], _: &mut Context<'_, ()>) -> Progress {
/// #         Progress { consumed: input.len(), next: Next::Read }
/// #     }
/// #     fn on_event(&mut self, _: &mut (), _: Event, _: &mut Context<'_, ()>) -> Next { Next::Finish }
/// #     fn on_turn_end(&mut self, context: &mut ServiceContext<'_, ()>) {
/// #         if self.0 { context.command(SchedulerCommand::Drain { deadline_ms: 100, idle_grace_ms: 0 }); }
/// #     }
/// # }
/// // `Once` is a service that greets one client and ends.
/// let started = runtime::serve::start("127.0.0.1:0", 1, Speaks::Either, || Once(false))?;
/// let mut client = std::net::TcpStream::connect(started.address)?;
/// let mut greeting = String::new();
/// client.read_to_string(&mut greeting)?;
/// assert_eq!(greeting, "hello");
/// started.launched.join()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If the address cannot be resolved or bound, or a thread cannot be started.
pub fn start<S, F>(
    address: &str,
    schedulers: usize,
    first: Speaks,
    make: F,
) -> io::Result<RunningService<S::Message>>
where
    S: Service,
    S::Message: 'static,
    F: Fn() -> S + Send + Sync + 'static,
{
    let asked = resolve(address)?;
    let mut roles = vec![EndpointRole::Scheduler; schedulers];
    roles.push(EndpointRole::Helper);
    let mut seats = mesh(&roles, Waking::Descriptors)?;
    let helper = seats.pop().ok_or_else(|| io::Error::other("a mesh without seats"))?;
    let plan = LaunchPlan {
        name: "velodrome",
        pinning: Pinning::EachToItsCpu,
        tables: Tables::Private,
        spread: ConnectionSpread::Hash,
        listeners: vec![ListenOptions {
            address: ListenAddress::Tcp(asked),
            backlog: limits::BACKLOG,
            first,
            silent: Silence::Trusted,
        }],
        settings: SchedulerSettings::default(),
        keep: Vec::new(),
    };
    sys::descriptor::raise_descriptor_limit();
    let mut launched = launch(&plan, seats, move |_| Ok(make())).map_err(io::Error::other)?;
    let address = launched.addresses.first().and_then(ListenAddress::tcp).unwrap_or(asked);
    launched.start();
    Ok(RunningService { address, launched, mail: helper.mailbox })
}

fn resolve(address: &str) -> io::Result<SocketAddr> {
    let wrong = |error: String| {
        io::Error::other(format!("`{address}` is not an address to listen on: {error}"))
    };
    let mut found = address.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
    found.next().ok_or_else(|| wrong("it has none".to_owned()))
}
