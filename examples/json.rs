//! The benchmark service: `/json` serialises a message for every request, `/plaintext` sends a text.
//! `cargo run --release --example json -- 127.0.0.1:8080`

use serde::Serialize;
use velodrome::http::{self, Status};

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    http::serve(&address, || {
        |request, reply| match request.path() {
            "/json" => reply.json(&Message { message: "Hello, World!" }),
            "/plaintext" => reply.send(Status::OK, "text/plain", b"Hello, World!"),
            _ => reply.empty(Status::NOT_FOUND),
        }
    })
}
