//! Velodrome as a library: services of your own on its schedulers.
//!
//! An HTTP service is a function ([`http::serve`]; see `examples/hello.rs` and `examples/json.rs`). Any other protocol
//! is a [`service::Service`] with its own process states ([`launch`]; see `examples/echo.rs` and `examples/chat.rs`).
//! [`channels`] gives a service subscribers, histories and one order on all schedulers (`examples/board.rs`). [`store`]
//! keeps keys and values: each scheduler reads with a [`store::TurnStore`], one thread writes with a [`store::Writer`].
//! Nothing is shared between schedulers, so neither needs a lock.

pub use channels;
pub use http;
pub use runtime::{
    clock, fan, limits, mailbox, output, post, scheduler, service, slots, stats, transport,
};
pub use store;

pub mod launch {
    //! Launching a service on schedulers of its own.
    pub use runtime::launch::{
        ConnectionSpread, LaunchError, LaunchPlan, Launched, Pinning, Tables, launch,
        schedulers_by_default,
    };
    pub use runtime::serve::{RunningService, serve, start};
    pub use runtime::{ListenAddress, ListenOptions, Silence, Speaks};
}

pub use runtime::{Peer, RemoteAddress};

#[cfg(feature = "world")]
pub use world;
