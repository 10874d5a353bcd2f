//! What is asked of a run: where, how fast, how many, for how long.
