//! Whether two results differ: intervals by bootstrap, and a rank test.
