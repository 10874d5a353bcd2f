//! The highest rate at which an objective holds.
