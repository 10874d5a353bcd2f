//! Bounds of the generator, each with its consequence.
