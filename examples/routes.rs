//! Routes, JSON, a wait, and a request to all schedulers. `cargo run --release --example routes -- 127.0.0.1:8080`

use std::time::Duration;

use velodrome::http::{App, Response, Server};

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let server = Server::listen(address).start(|| {
        App::new(0_u64)
            .get("/hello/{name}", |call| {
                *call.state() += 1;
                Ok(Response::text(format!("Hello, {}!\n", call.parameter("name"))))
            })
            .post("/sum", |call| {
                let numbers: Vec<f64> = call.json()?;
                Response::json(&numbers.iter().sum::<f64>())
            })
            .get("/slow", |call| {
                call.after(Duration::from_millis(50), |_call| Ok(Response::text("later\n")))
            })
            .get("/visits", |call| {
                call.ask_all(
                    |visits| *visits,
                    |_call, all| Response::json(&all.iter().sum::<u64>()),
                )
            })
    })?;
    #[allow(clippy::print_stdout, reason = "an example tells its address")]
    {
        println!("http://{}/", server.address());
    }
    server.join()
}
