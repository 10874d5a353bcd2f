//! The screens of `velodrome top` on a terminal of cells.

mod comparing;
mod lists;
mod once;
mod overview;
mod samples;
mod silence;
mod stage;
