//! Goal: what an operator has today becomes a configuration that does the same, or says where it does not. Method:
//! whole files as they are written, and the answers to requests that matter to their sites.

use migrate::{IncludedFiles, from_nginx};

use super::{judge, table};

/// The files that Debian includes: types of files, and modules of which there are none.
struct OfDebian;

impl IncludedFiles for OfDebian {
    fn matching(&self, _: &str, pattern: &str) -> Result<Vec<(String, String)>, String> {
        let text = match pattern {
            "mime.types" | "/etc/nginx/mime.types" => "types { text/html html; }",
            "snippets/fastcgi-php.conf" => {
                "fastcgi_split_path_info ^(.+?\\.php)(/.*)$; try_files $fastcgi_script_name =404; fastcgi_index \
                 index.php;"
            }
            "/etc/nginx/modules-enabled/*.conf" => return Ok(Vec::new()),
            other => return Err(format!("`{other}` is not there")),
        };
        Ok(vec![(pattern.to_owned(), text.to_owned())])
    }
}

fn made(text: &str) -> String {
    from_nginx(text, "nginx.conf", &OfDebian).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The comments of a printed configuration that tell of a closed place, as `LINE: directive`.
fn closed(text: &str) -> Vec<&str> {
    let all = text.lines().filter_map(|line| line.strip_prefix("# closed: nginx.conf:"));
    all.map(|line| line.rsplit_once("`: ").map_or(line, |(told, _)| told)).collect()
}

#[test]
fn a_shop_keeps_its_cache_its_limits_and_its_doors() {
    let text = made(include_str!("samples/shop.conf"));
    let (config, _) = table(&text);
    judge(
        &text,
        &[
            ("0.0.0.0:80 www.shop.example/a", "301 https://shop.example/a"),
            ("0.0.0.0:443 shop.example/static/a.css", "/var/www/shop/public/static/a.css"),
            ("0.0.0.0:443 shop.example/products/7", "shop /products/7"),
            ("0.0.0.0:443 shop.example/login", "shop /login"),
            ("0.0.0.0:443 shop.example/staff/a", "shop /staff/a for address+password -"),
            ("0.0.0.0:443 shop.example/", "shop-2 /"),
        ],
    );
    assert_eq!(closed(&text), Vec::<&str>::new(), "{text}");
    assert_eq!(config.upstreams.len(), 2, "one for each time: {text}");
    assert!(config.upstreams[0].cache.is_some() && text.contains("[[limit]]"), "{text}");
}

#[test]
fn a_blog_with_php_serves_its_files_and_never_its_code() {
    let text = made(include_str!("samples/blog.conf"));
    judge(
        &text,
        &[
            ("blog.example/wp-content/uploads/a.png", "/var/www/blog/wp-content/uploads/a.png"),
            ("blog.example/wp-content/uploads/a.php", "403"),
            ("blog.example/index.php", "501"),
            ("blog.example/xmlrpc.php", "403"),
            ("blog.example/.htaccess", "403"),
        ],
    );
}

#[test]
fn a_gateway_speaks_to_each_service_as_before() {
    let text = made(include_str!("samples/gateway.conf"));
    let (config, _) = table(&text);
    judge(
        &text,
        &[
            ("api.example/v1/users/7", "users /7"),
            ("api.example/v1/orders/7", "orders /v1/orders/7"),
            ("api.example/v1/catalog/a", "orders /v1/catalog/a"),
            ("api.example/v1/me/a", "users /v1/me/a"),
            ("api.example/v1/search", "search /v1/search"),
            ("api.example/v1/stream", "10.0.5.10-50051 /v1/stream"),
            ("api.example/healthz", "200"),
            ("api.example/other", "404"),
        ],
    );
    assert_eq!(closed(&text), Vec::<&str>::new(), "{text}");
    let cached = config.upstreams.iter().filter(|upstream| upstream.cache.is_some());
    let names: Vec<&str> = cached.map(|upstream| &*upstream.name).collect();
    assert_eq!(names, ["orders"], "what each user gets is not stored: {text}");
}

#[test]
fn a_single_page_application_has_its_fallback_and_its_api() {
    let text = made(include_str!("samples/spa.conf"));
    judge(
        &text,
        &[
            ("app.example/users/7", "/usr/share/nginx/html/users/7"),
            ("app.example/assets/a.js", "/usr/share/nginx/html/assets/a.js"),
            ("app.example/api/users", "127.0.0.1-8080 /users"),
            ("app.example/50x.html", "/usr/share/nginx/html/50x.html"),
        ],
    );
    assert_eq!(closed(&text), Vec::<&str>::new(), "{text}");
}

#[test]
fn a_media_site_keeps_thumbnails_and_guards_its_pictures() {
    let text = made(include_str!("samples/media.conf"));
    let (config, _) = table(&text);
    judge(
        &text,
        &[
            ("media.example/films/a.mp4", "501"),
            ("media.example/pictures/a.jpg", "501"),
            ("media.example/thumbs/a.jpg", "thumbnailer /thumbs/a.jpg"),
            ("media.example/", "thumbnailer-2 /"),
        ],
    );
    let directories = config.upstreams.iter().filter_map(|one| one.cache.as_ref()?.disk.as_ref());
    let directories: Vec<String> =
        directories.map(|disk| disk.directory.display().to_string()).collect();
    assert_eq!(directories, ["/srv/cache/thumbs-thumbnailer", "/srv/cache/pages-thumbnailer-2"]);
}

#[test]
fn a_chat_keeps_its_sockets_and_its_silent_streams() {
    let text = made(include_str!("samples/chat.conf"));
    let (config, _) = table(&text);
    judge(
        &text,
        &[
            ("0.0.0.0:443 chat.example/socket", "chat /socket"),
            ("0.0.0.0:443 chat.example/events", "chat-2 /events"),
            ("0.0.0.0:443 chat.example/room/7", "/srv/chat/room/7"),
            ("0.0.0.0:80 chat.example/x", "301 https://chat.example/x"),
            (
                "0.0.0.0:80 chat.example/.well-known/acme-challenge/t",
                "/var/www/certbot/.well-known/acme-challenge/t",
            ),
        ],
    );
    assert_eq!(closed(&text), Vec::<&str>::new(), "{text}");
    assert_eq!(config.upstreams[1].timeouts.idle.as_secs(), 24 * 3600);
}
