//! A client that costs as little as a client can: one thread, a few connections, one fixed request.
//!
//! The counterpart of the do-nothing server, for loads with so few connections that the client is half of
//! what is measured. Used by `cargo xtask bench floor`:
//!
//! ```text
//! floor-load ADDRESS PATH CONNECTIONS SECONDS
//! ```
//!
//! It spins. In a closed loop over one connection, the measured time is one round
//! trip, and the client's own way out of epoll would be as long a part of it as the answer: the same for
//! every server, so it would hide the difference between them. A spinning client sends its next request at
//! once, so the rate depends on the server alone. It favours a server that spins as well and never sleeps:
//! for that its CPU time is printed beside the rate.
//!
//! Prints one line of JSON: requests and requests per second, response times from sent to
//! completely received in nanoseconds (bins of at most 1 %, the longest exact), errors, and polls without an answer
//! per request; if they are near zero, the client was the bottleneck.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool prints its outcome")]
#![expect(clippy::disallowed_methods, reason = "a tool measures wall time; it has no turns")]

mod answer;
mod client;

use std::process::ExitCode;
use std::time::Duration;

use client::{Counted, Order};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(order) = read_order(&words) else {
        eprintln!("usage: floor-load ADDRESS PATH CONNECTIONS SECONDS");
        return ExitCode::from(2);
    };
    match client::run(&order) {
        Ok(outcome) => {
            println!("{}", line(&order, &outcome));
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("floor-load: {}: {reason}", order.address);
            ExitCode::FAILURE
        }
    }
}

fn read_order(words: &[String]) -> Option<Order> {
    let [address, path, connections, seconds] = words else { return None };
    Some(Order {
        address: address.parse().ok()?,
        path: Some(path).filter(|path| path.starts_with('/'))?.clone(),
        connections: connections.parse().ok().filter(|count| *count > 0)?,
        duration: Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?,
    })
}

fn line(order: &Order, outcome: &Counted) -> String {
    let latencies = &outcome.latencies;
    let requests = latencies.len();
    // The end of a bin may be a little longer than any time in it.
    let quantile = |share| latencies.value_at_quantile(share).min(outcome.longest_ns);
    let seconds = outcome.measured.as_secs_f64();
    format!(
        "{{\"requests\":{requests},\"requests_per_second\":{:.1},\"latency_p50_ns\":{},\
         \"latency_p99_ns\":{},\"latency_p999_ns\":{},\"latency_max_ns\":{},\"errors\":{},\
         \"looks_in_vain_per_request\":{:.3},\"connections\":{}}}",
        requests as f64 / seconds.max(f64::MIN_POSITIVE),
        quantile(0.5),
        quantile(0.99),
        quantile(0.999),
        outcome.longest_ns,
        outcome.errors,
        outcome.looks_in_vain as f64 / requests.max(1) as f64,
        order.connections,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Order> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        read_order(&words)
    }

    #[test]
    fn orders_are_read_and_nonsense_is_refused() {
        let order = read("127.0.0.1:1 /json 4 2.5").expect("an order");
        assert_eq!((order.connections, order.duration.as_millis()), (4, 2_500));
        assert!(read("127.0.0.1:1 /json 0 2").is_none());
        assert!(read("127.0.0.1:1 json 1 2").is_none());
        assert!(read("127.0.0.1:1 /json 1 -2").is_none());
        assert!(read("127.0.0.1:1 /json 1 2 3").is_none());
    }
}
