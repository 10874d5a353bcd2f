//! The benchmark service: `/json` serialises a message for every request, `/plaintext` sends a text, `/hello` a page.
//! `cargo run --release --example json -- 127.0.0.1:8080`

use serde::Serialize;
use velodrome::http::{self, Status};

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

/// The page that pages with code are compared with.
const HELLO: &str = r#"<!doctype html>
<html>
<head><meta charset="utf-8"><title>Hello</title></head>
<body><h1>Hello, World!</h1></body>
</html>
"#;

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    http::serve(&address, || {
        |request, reply| match request.path() {
            "/json" => reply.json(&Message { message: "Hello, World!" }),
            "/hello" => reply.send(Status::OK, "text/html; charset=utf-8", HELLO.as_bytes()),
            "/plaintext" => reply.send(Status::OK, "text/plain", b"Hello, World!"),
            _ => reply.empty(Status::NOT_FOUND),
        }
    })
}
