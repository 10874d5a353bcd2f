//! The times of requests, by route and class of status, and by page.

use live::{Histogram, Latency};

use crate::site::Site;
use http::Http;

/// The times of all requests of a scheduler.
pub(crate) fn times_of(http: &Http<Site>) -> Vec<Latency> {
    let times = http.times();
    let site = http.application();
    let mut told = Vec::new();
    for (number, name) in site.timed_routes() {
        for class in 1..=5 {
            if let Some(counted) = times.of_route(number, class) {
                told.push(latency(&format!("route {class}xx"), &name, counted));
            }
        }
    }
    for (number, name) in site.timed_pages() {
        if let Some(counted) = times.of_page(number) {
            told.push(latency("page", &name, counted));
        }
    }
    told
}

fn latency(of: &str, name: &str, counted: &metric::Histogram) -> Latency {
    let times = Histogram { sum_ns: counted.sum_ns(), buckets: counted.filled().collect() };
    Latency { of: of.to_owned(), name: name.to_owned(), times }
}
