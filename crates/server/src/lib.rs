//! The application server: the processes and messages of all protocols, the site, admin, start and
//! shutdown.
//!
//! Owns which part answers a request, and connects the crates `http`, `files`, `pages` and `config`
//! on the runtime's schedulers. A handler never blocks a turn; its only system calls are those of
//! the file lookup.

pub mod access;
pub mod admin;
mod cache_disk;
mod cache_order;
pub mod certificate_files;
mod channel_keys;
mod channel_rules;
pub mod cluster_setup;
pub mod conn;
mod connection_share;
mod control_path;
mod disk_order;
pub mod dump;
pub mod events;
pub mod file_helper;
mod handshakes;
mod issued;
mod limit_rules;
pub mod limits;
pub mod link_report;
pub mod live;
pub mod load;
pub mod log_writer;
mod maintenance;
pub mod message;
mod message_level;
mod origin;
mod password_helper;
mod profile_helper;
pub mod profile_order;
mod program_keys;
mod question;
pub mod record_json;
pub mod sandbox;
pub mod serve;
pub mod shown_certificate;
pub mod site;
pub mod site_data;
pub mod site_tls;
pub mod span_stats;
mod store_node;
mod store_readers;
mod store_writer;
mod store_writer_stats;
pub mod together;
mod upstream_report;
mod upstream_tls;
