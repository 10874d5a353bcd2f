//! The served site from outside, with real clients: files, routes, pages, modules, channels, operations.
//!
//! One module per feature, in one program, because each program links the whole product.
#![expect(clippy::disallowed_types, reason = "a test holds sockets and files of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod access;
mod acme;
mod acme_renewal;
mod acme_store;
mod admin;
#[path = "../../crates/tls/tests/tls/authority.rs"]
#[expect(dead_code, reason = "the tests of `tls` use the rest")]
mod authority;
mod board_example;
mod browser_client;
mod channel_browsers;
mod channel_commands;
mod channel_modules;
mod channel_order;
mod channel_pages;
mod channel_programs;
mod channel_reconnects;
mod channel_slow;
mod channel_texts;
mod channel_tokens;
mod channels;
mod chat_example;
mod client_certificates;
mod clients;
mod codings;
mod cross_site;
mod dashboard;
mod documents;
mod drain;
mod error_pages;
mod events;
mod expiry;
mod files;
mod foreign_tls;
mod forward_auth;
mod hostile;
mod includes;
mod limits;
mod listen;
mod live;
mod log;
mod memory;
mod module_applications;
mod module_proxies;
mod modules_document;
mod monitoring;
mod moved_clock;
mod moving;
mod odd_bytes;
mod open_redirects;
mod own_directories;
mod pages;
mod pages_document;
mod pebble;
mod process_names;
mod profiles;
mod proxies;
mod proxy;
mod proxy_access;
mod proxy_bodies;
mod proxy_cache;
mod proxy_cache_disk;
mod proxy_cache_fetches;
mod proxy_cache_files;
mod proxy_cache_private;
mod proxy_cache_stale;
mod proxy_failures;
mod proxy_headers;
mod proxy_log;
mod proxy_statuses;
mod reload;
mod requirements;
mod route_choices;
mod routes;
mod script_blame;
mod script_edits;
mod script_fetch;
mod script_fetch_pieces;
mod script_fetch_tls;
mod script_gone;
mod script_hostile;
mod script_large_uploads;
mod script_log;
mod script_memory;
mod script_modules;
mod script_names;
mod script_pages;
mod script_processes;
mod script_reload;
mod script_roots;
mod script_sessions;
mod script_streams;
mod script_upload_directory;
mod script_uploads;
mod serve;
#[path = "../server/mod.rs"]
#[allow(dead_code, reason = "each program uses a part of it")]
mod server;
mod site_processes;
mod sleeping;
mod slow;
mod systemd;
mod tls;
mod tls_clients;
mod trace_context;
mod tracing;
mod unanswered;
mod unread;
mod upload_limits;
mod websocket_modules;
