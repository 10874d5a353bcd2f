//! The whole HTTP server in simulated worlds.
//!
//! `world` turns schedulers, helpers and clients in seeded order; `client` and `cast` are the programs that use the
//! server, `expected` what they have to get, `small` and `site` what it serves. The tests are in `worlds` (thousands of
//! seeds; also over TLS, with `secure`), `deadlines`, `cutting`, `crowding`, `fetching` and `fetch_worlds` (with
//! `fetcher`), `channel_worlds` (with `subscriber` and `publisher`), `cluster_worlds` and `cluster_halves` (with
//! `cluster_node`, `nats` and `nats_stream`), `full_mailboxes`, `endings` (drain and reload), `refusals`, `parts`,
//! `panics` and `mux_worlds`, in which the same requests and those of `whole_site` come on streams of HTTP/2
//! (`mux_client`, `mux_frames`, `mux_http2`), `mux_closed_window`, and `mux_sockets`, where streams become WebSockets
//! (`mux_socket`). A seed that fails is printed with the command that replays it, and stays in `failed_seeds.txt`.
#![expect(clippy::unwrap_used, reason = "a test stops where its preparation fails")]

mod cast;
mod channel_worlds;
mod client;
mod cluster_halves;
mod cluster_node;
mod cluster_worlds;
mod crowding;
mod cutting;
mod deadlines;
mod endings;
mod expected;
mod fetch_pieces;
mod fetch_worlds;
mod fetcher;
mod fetching;
mod full_mailboxes;
mod mux_client;
mod mux_closed_window;
mod mux_frames;
mod mux_http2;
mod mux_socket;
mod mux_socket_worlds;
mod mux_sockets;
mod mux_uploads;
mod mux_worlds;
mod nats;
mod nats_stream;
mod panics;
mod partial;
mod parts;
mod publisher;
mod refusals;
mod response;
mod secure;
mod seeds;
mod site;
mod small;
mod subscriber;
mod whole_site;
mod world;
mod worlds;
