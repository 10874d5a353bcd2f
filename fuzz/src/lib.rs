//! The properties that must hold for every input, for each codec and for a whole connection.
//!
//! Each module has one function `check(data)` that panics if a property is violated, example inputs, and
//! words worth inserting. Without I/O, so that libFuzzer and the stable driver (`src/bin/drive.rs`) can call
//! it a million times.
#![forbid(unsafe_code)]

pub mod certificate;
pub mod chunked_body;
pub mod config_file;
pub mod connection;
pub mod cutting;
pub mod exchange;
pub mod forwarded;
pub mod h2_frames;
pub mod handshake;
pub mod head_values;
pub mod hpack;
pub mod json;
pub mod log_escape;
pub mod multipart;
pub mod mutation;
pub mod nats;
pub mod precondition;
pub mod proxy_header;
pub mod range;
pub mod request_head;
pub mod resp;
pub mod response;
pub mod store_orders;
pub mod stored_file;
pub mod streams;
pub mod target_path;
pub mod template;
pub mod tls_session;
pub mod token;
pub mod trace_parent;
pub mod websocket;

/// A check with the inputs and words that a fuzzer needs.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name, which is that of the module and of the file in `fuzz_targets`.
    pub name: &'static str,
    /// The code that it runs: the beginnings of paths in the project.
    pub covers: &'static [&'static str],
    /// Panics if a property is violated.
    pub check: fn(&[u8]),
    /// Example inputs.
    pub seeds: &'static [&'static [u8]],
    /// Words worth inserting.
    pub words: &'static [&'static [u8]],
}

macro_rules! targets {
    ($($module:ident),+ $(,)?) => {
        /// Every target.
        pub const TARGETS: &[Target] = &[$(Target {
            name: stringify!($module),
            covers: $module::COVERS,
            check: $module::check,
            seeds: $module::SEEDS,
            words: $module::WORDS,
        }),+];
    };
}

targets!(
    request_head,
    head_values,
    hpack,
    h2_frames,
    chunked_body,
    multipart,
    target_path,
    range,
    precondition,
    config_file,
    json,
    log_escape,
    proxy_header,
    nats,
    forwarded,
    resp,
    response,
    exchange,
    connection,
    store_orders,
    stored_file,
    streams,
    template,
    websocket,
    handshake,
    token,
    trace_parent,
    certificate,
    tls_session,
);
