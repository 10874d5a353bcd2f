//! `velodrome top`: the screens of a running server.
