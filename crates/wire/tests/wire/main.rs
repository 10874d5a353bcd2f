//! The tests of this crate, in one program, because each program links everything anew.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod agreement;
mod answers;
mod desync;
mod escaping;
mod forwarded;
mod generate;
mod h2_frames;
mod h2_heads;
mod hpack;
mod hpack_examples;
mod json;
mod kept;
mod multipart;
mod nats;
mod pipeline;
mod proxy;
mod received;
mod received_agreement;
mod received_lines;
mod requirements;
mod semantics;
mod split;
