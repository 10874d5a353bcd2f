//! The configuration as plain data, with defaults filled in and every value checked.
//!
//! Owns the shapes, a file for each section. Never reads text: the files of the sections do.

pub(crate) mod access;
pub(crate) mod acme;
pub(crate) mod channel_settings;
pub(crate) mod channels;
pub(crate) mod cluster;
pub(crate) mod config;
pub(crate) mod encryption;
pub(crate) mod fetch;
pub(crate) mod file_settings;
pub(crate) mod files;
pub(crate) mod header;
pub(crate) mod limits;
pub(crate) mod log;
pub(crate) mod maintenance;
pub(crate) mod page_choices;
pub(crate) mod pages;
pub(crate) mod processes;
pub(crate) mod quotas;
pub(crate) mod redirect_map;
pub(crate) mod store;
pub(crate) mod trace;
pub(crate) mod upstream;
pub(crate) mod when;
