//! Reports: their figures, their verdicts, their text and their JSON, from measurements worked out by hand.

mod figures;
mod sample;
mod schema;
mod text;
mod verdict;
