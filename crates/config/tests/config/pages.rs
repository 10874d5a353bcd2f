//! The keys of `[pages]`, and their defaults.

use std::time::Duration;

use config::{FetchRules, PageCode, PageErrors, PageSessions, Pages};

use super::config;

#[test]
fn the_keys_of_pages() {
    let config = config(
        "[pages]\nenabled = false\nnative = false\nslice = \"2ms\"\ncpu_budget = \"1s\"\ndeadline = \
         \"5s\"\nmemory = \"8 MiB\"\nmemory_per_request = \"3 MiB\"\nprocess_memory = \"16 \
         MiB\"\ntable_size = \"1 MiB\"\nfetch = \"none\"\nfetch_ca = \"ca.pem\"\nfetch_certificate = \
         \"/own.pem\"\nfetch_key = \"own.key\"\nsecret_file = \"../key\"\nsessions = \"store\"\nsession_age \
         = \"1h\"\nsecure_cookies = true\ncompress = true\nuploads = \"up\"\nupload_size = \"2 \
         GiB\"\nuploads_size = \"3 GiB\"\n[store]\npath = \"../data\"\n",
    );
    assert_eq!(
        config.pages,
        Pages {
            enabled: false,
            code: PageCode::Bytecode,
            slice: Duration::from_millis(2),
            cpu_budget: Duration::from_secs(1),
            deadline: Duration::from_secs(5),
            memory: 8 << 20,
            memory_per_request: 3 << 20,
            process_memory: 16 << 20,
            table_size: 1 << 20,
            fetch: FetchRules::None,
            fetch_ca: Some("/base/ca.pem".into()),
            fetch_certificate: Some("/own.pem".into()),
            fetch_key: Some("/base/own.key".into()),
            secret_file: Some("/base/../key".into()),
            sessions: PageSessions::Store,
            session_age: Duration::from_secs(3600),
            secure_cookies: true,
            compress: true,
            uploads: Some("/base/up".into()),
            upload_size: 2 << 30,
            uploads_size: 3 << 30,
            errors: PageErrors::Hidden,
        }
    );
}

#[test]
fn a_request_may_hold_half_of_the_memory_where_nothing_else_is_said() {
    let memory = |text: &str| config(text).pages.memory_per_request;
    assert_eq!(memory(""), 32 << 20);
    assert_eq!(memory("[pages]\nmemory = \"10 MiB\"\n"), 5 << 20);
    assert_eq!(memory("[pages]\nmemory_per_request = \"64 MiB\"\n"), 64 << 20);
}
