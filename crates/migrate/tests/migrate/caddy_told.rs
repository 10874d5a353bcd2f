//! What Caddy does and the printed configuration does not, although nothing has to be closed for it, is told.

use super::caddy::made;
use super::table;

#[test]
fn lines_that_only_pages_of_errors_logs_and_servers_lose_are_told() {
    let text = made(
        ":80 {\nhandle_errors {\nrespond sorry\n}\nhandle /a/* {\nlog_skip\nlog_append a b\n}\n\
         reverse_proxy b:80 {\nheader_up X-Real-IP {remote_host}\nlb_retries 3\nlb_retries 11\n}\n}\n",
    );
    let (config, _) = table(&text);
    for line in [
        "Caddyfile:2: `handle_errors`: no counterpart: write `error_pages`",
        "Caddyfile:6: `log_skip`: no counterpart: write `log = false` into its routes",
        "Caddyfile:7: `log_append a b`: no counterpart: write `format` or `fields`",
        "Caddyfile:12: `lb_retries 11`: no counterpart",
    ] {
        assert_eq!(text.matches(line).count(), 1, "{line}\n{text}");
    }
    assert_eq!(config.upstreams[0].retries, 3);
}
