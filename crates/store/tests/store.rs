//! The store as its users see it.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test is to be seen")]

#[path = "store/bounds.rs"]
mod bounds;
#[path = "store/copies.rs"]
mod copies;
#[path = "store/lending.rs"]
mod lending;
#[path = "store/lives.rs"]
mod lives;
#[path = "store/model.rs"]
mod model;
#[path = "store/order_bytes.rs"]
mod order_bytes;
#[path = "store/orders.rs"]
mod orders;
#[path = "store/own.rs"]
mod own;
#[path = "store/place.rs"]
mod place;
#[path = "store/readers.rs"]
mod readers;
#[path = "store/repeated.rs"]
mod repeated;
#[path = "store/replicas.rs"]
mod replicas;
#[path = "store/weather.rs"]
mod weather;
#[path = "store/world.rs"]
mod world;
