//! `store sample`: generated records of an identity-card register.
//!
//! Owns that the same number produces the same records in each run.

use crate::Failure;
use crate::output::print_with;

const FIRST: [&str; 16] = [
    "Ada", "Alan", "Barbara", "Claude", "Donald", "Edsger", "Frances", "Grace", "John", "Ken",
    "Leslie", "Margaret", "Niklaus", "Radia", "Robin", "Tony",
];
const LAST: [&str; 16] = [
    "Allen",
    "Armstrong",
    "Backus",
    "Dijkstra",
    "Hamilton",
    "Hoare",
    "Hopper",
    "Knuth",
    "Lamport",
    "Liskov",
    "Lovelace",
    "Milner",
    "Perlman",
    "Shannon",
    "Thompson",
    "Turing",
];
const CITIES: [&str; 8] =
    ["Aachen", "Bergen", "Cork", "Delft", "Espoo", "Figueres", "Ghent", "Hradec"];

pub(super) fn run(records: u64) -> Result<(), Failure> {
    print_with(|out| {
        writeln!(out, "card,name,born,city")?;
        for number in 0..records {
            writeln!(out, "{}", record(number))?;
        }
        Ok(())
    })
}

fn record(number: u64) -> String {
    // Fibonacci hashing: neighbours differ in all fields (Knuth, volume 3, section 6.4).
    let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let pick = |from: u32, count: u64| ((mixed >> from) % count) as usize;
    let (first, last, city) = (FIRST[pick(8, 16)], LAST[pick(20, 16)], CITIES[pick(32, 8)]);
    let (year, month, day) = (1930 + pick(36, 80), 1 + pick(44, 12), 1 + pick(50, 28));
    format!("{number:012},{first} {last},{year}-{month:02}-{day:02},{city}")
}
