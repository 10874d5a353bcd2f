//! What one thread measured, and how the measurements of all are put together.
