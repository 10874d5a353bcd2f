//! Reports: their figures, verdicts, texts, pages and JSON, from measurements computed by hand.

mod encrypted;
mod figures;
mod html;
mod knee;
mod sample;
mod schema;
mod text;
mod together;
mod verdict;
