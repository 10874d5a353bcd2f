//! The smallest service: says hello. `cargo run --release --example hello -- 127.0.0.1:8080`

use velodrome::http::{self, Status};

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    // Each scheduler has its own function and its own count: no lock, no atomic.
    http::serve(&address, || {
        let mut visits = 0_u64;
        move |request, reply| match request.path() {
            "/" => {
                visits += 1;
                reply.text(&format!("Hello! Visit {visits} on this scheduler.\n"));
            }
            _ => reply.empty(Status::NOT_FOUND),
        }
    })
}
