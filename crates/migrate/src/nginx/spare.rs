//! Directives of nginx that change nothing but speed, logs or the look of an answer.
//!
//! Owns their list. What is not here and not read elsewhere is taken for a guard.

use crate::word::is_in;

/// Those that need no counterpart, because we do this without a setting, or there is nothing to set.
const SILENT: &str = "
    sendfile sendfile_max_chunk tcp_nopush tcp_nodelay aio aio_write directio output_buffers
    postpone_output server_tokens types_hash_max_size types_hash_bucket_size
    variables_hash_max_size variables_hash_bucket_size server_names_hash_bucket_size
    server_names_hash_max_size map_hash_bucket_size map_hash_max_size gzip gzip_vary gzip_proxied
    gzip_types gzip_comp_level gzip_min_length gzip_buffers gzip_http_version gzip_disable
    gzip_static brotli brotli_types brotli_comp_level brotli_static open_file_cache
    open_file_cache_valid open_file_cache_min_uses open_file_cache_errors charset charset_types
    etag log_not_found log_subrequest http2 http2_max_concurrent_streams http3 quic_retry
    client_body_buffer_size client_body_temp_path client_header_buffer_size
    large_client_header_buffers connection_pool_size request_pool_size reset_timedout_connection
    chunked_transfer_encoding keepalive_disable lingering_close lingering_time lingering_timeout
    port_in_redirect absolute_redirect server_name_in_redirect autoindex_exact_size
    autoindex_localtime autoindex_format proxy_buffering proxy_buffers
    proxy_buffer_size proxy_busy_buffers_size proxy_max_temp_file_size proxy_temp_file_write_size
    proxy_temp_path proxy_request_buffering proxy_socket_keepalive
    proxy_send_timeout proxy_next_upstream_timeout
    proxy_headers_hash_max_size proxy_headers_hash_bucket_size proxy_ssl_session_reuse
    proxy_ssl_protocols proxy_ssl_ciphers proxy_ssl_verify proxy_ssl_verify_depth
    proxy_ssl_server_name send_lowat resolver resolver_timeout
    ssl_session_cache ssl_session_timeout ssl_session_tickets ssl_session_ticket_key ssl_protocols
    ssl_ciphers ssl_prefer_server_ciphers ssl_dhparam ssl_ecdh_curve ssl_buffer_size ssl_stapling
    ssl_stapling_verify ssl_stapling_file ssl_trusted_certificate ssl_early_data ssl_conf_command
    ssl_verify_depth error_log
    log_format
";

/// Directives whose loss the operator may want to know.
const TOLD: &str = "
    open_log_file_cache keepalive_timeout keepalive_requests keepalive_time
    client_header_timeout client_body_timeout send_timeout limit_req_status limit_req_log_level
    limit_conn_status limit_conn_log_level map geo split_clients
    limit_rate limit_rate_after proxy_force_ranges proxy_limit_rate proxy_redirect proxy_cookie_path
    proxy_cookie_domain proxy_cookie_flags proxy_pass_header upstream_conf
";

/// The directives of the process.
const OF_PROCESS: &str = "
    worker_rlimit_nofile worker_rlimit_core worker_cpu_affinity worker_priority
    worker_shutdown_timeout pid lock_file daemon master_process pcre_jit load_module events env
    timer_resolution working_directory thread_pool debug_points error_log ssl_engine stream mail
";

/// The treatment of such a directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spare {
    Silent,
    Told,
}

/// Whether a directive of `http` and in it can be left out.
pub(super) fn of(name: &str) -> Option<Spare> {
    // They are about what a directive such as `fastcgi_pass` does, which is closed.
    let is_of_closed = ["fastcgi_", "uwsgi_", "scgi_", "memcached_", "grpc_"]
        .iter()
        .any(|prefix| name.strip_prefix(prefix).is_some_and(|rest| rest != "pass"));
    if is_of_closed || is_in(SILENT, name) {
        return Some(Spare::Silent);
    }
    is_in(TOLD, name).then_some(Spare::Told)
}

/// Whether a directive outside of `http` can be left out: other protocols are not served at all.
pub(super) fn is_of_process(name: &str) -> bool {
    is_in(OF_PROCESS, name)
}
