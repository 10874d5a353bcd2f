//! Directives of nginx that need no counterpart.
//!
//! Owns their list, and that of guards of a whole server. Anything that is not here and not read is told in a comment.

/// Directives whose work is done without a setting, or that have no meaning here.
pub(super) fn is_automatic(name: &str) -> bool {
    const NAMES: [&str; 38] = [
        "sendfile",
        "tcp_nopush",
        "tcp_nodelay",
        "server_tokens",
        "types_hash_max_size",
        "default_type",
        "types",
        "gzip",
        "gzip_vary",
        "gzip_proxied",
        "gzip_types",
        "gzip_comp_level",
        "gzip_min_length",
        "gzip_buffers",
        "gzip_http_version",
        "gzip_disable",
        "gzip_static",
        "open_file_cache",
        "open_file_cache_valid",
        "open_file_cache_min_uses",
        "open_file_cache_errors",
        "charset",
        "etag",
        "log_not_found",
        "http2",
        "server_names_hash_bucket_size",
        "proxy_http_version",
        "proxy_buffering",
        "proxy_buffers",
        "proxy_buffer_size",
        "proxy_redirect",
        "ssl_session_cache",
        "ssl_session_timeout",
        "ssl_session_tickets",
        "ssl_protocols",
        "ssl_ciphers",
        "ssl_prefer_server_ciphers",
        "ssl_dhparam",
    ];
    NAMES.contains(&name)
        || matches!(
            name,
            "access_log" | "error_log" | "aio" | "directio" | "proxy_request_buffering"
        )
}

/// Directives that guard a whole server.
pub(super) fn is_guard(name: &str) -> bool {
    matches!(
        name,
        "auth_request"
            | "auth_jwt"
            | "satisfy"
            | "valid_referers"
            | "secure_link"
            | "access_by_lua_block"
    )
}
