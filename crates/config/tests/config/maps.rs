//! Maps of redirects and countries from files: their lookup, and what is wrong with a row.

use std::net::IpAddr;

use config::RouteAction;
use config::route::{RouteRequest, RouteTable};

use super::outside::Table as Disk;
use super::read_within;

const TEXT: &str = "[[route]]\nprefix = \"/\"\nmap = \"old.csv\"\n";

fn table(text: &str, disk: &Disk) -> RouteTable {
    RouteTable::compile(&read_within(text, disk).unwrap()).unwrap()
}

fn location(table: &RouteTable, path: &str, query: Option<&str>) -> Option<(u16, String)> {
    let found = table.find(&RouteRequest::new(None, "GET", path, query));
    let Ok(RouteAction::Map(map)) = &found.action else { return None };
    let status = map.rows.find(&found.path, query).unwrap().status;
    Some((status, found.location.into_owned()))
}

#[test]
fn a_map_redirects_its_paths_and_leaves_the_others() {
    let rows = "from,to,status\n/a,/b\n\"/c,d\",https://example.org/x?y=1,301\n\
        /page.php?id=7,/seven,308\n/page.php,/pages\n/caf%C3%A9,/coffee\n/price,/$5\n";
    let table = table(TEXT, &Disk::default().file("/base/old.csv", rows));
    let to = |status, to: &str| Some((status, to.to_owned()));
    for (path, query, expected) in [
        ("/a", None, to(302, "/b")),
        ("/a", Some("q=1"), to(302, "/b")),
        ("/c,d", None, to(301, "https://example.org/x?y=1")),
        ("/page.php", Some("id=7"), to(308, "/seven")),
        ("/page.php", Some("id=8"), to(302, "/pages")),
        ("/page.php", None, to(302, "/pages")),
        ("/caf\u{e9}", None, to(302, "/coffee")),
        ("/price", None, to(302, "/$5")),
        ("/b", None, None),
        ("/A", None, None),
    ] {
        assert_eq!(location(&table, path, query), expected, "{path} {query:?}");
    }
    let explained = table.explain(&RouteRequest::new(None, "GET", "/b", None)).to_string();
    assert!(explained.contains("`/base/old.csv` has no row for `/b`"), "{explained}");
    let explained = table.explain(&RouteRequest::new(None, "GET", "/a", None)).to_string();
    assert!(explained.ends_with("(map): yes\nresult: redirected to `/b`"), "{explained}");
}

#[test]
fn wrong_rows_of_a_map_are_refused_with_their_line() {
    for (row, why) in [
        ("/a", "line 1: write `from,to` or `from,to,status`"),
        ("/a,/b,200", "line 1: the status `200` is not 301, 302, 303, 307 or 308"),
        ("a,/b", "line 1: `a`: it must begin with `/`"),
        ("/a/../b,/c", "line 1: `/a/../b`: `.` and `..` never are in a normalised path"),
        ("/a%00,/c", "line 1: `/a%00`: the path has an encoded control character"),
        ("/a%2fb,/c", "line 1: `/a%2fb`: the path has an encoded slash or a backslash"),
        ("/a,//evil.example", "line 1: `//evil.example`: write the scheme too"),
        ("/a,javascript:x", "line 1: `javascript:x`: it must begin with"),
        (
            "/a,\"/b\r\nSet-Cookie: x\"",
            "line 1: `/b\\r\\nSet-Cookie: x`: it must not contain control",
        ),
        ("\"/a\nb\",/c", "line 1: `/a\\nb`: it must not contain control characters"),
        ("/x,/y\n/a,/b\n/a,/c", "line 3: `/a` is there twice"),
        ("/a,/a", "line 1: `/a` leads to itself"),
        ("/a,\"/b", "line 1: the quotes of this row do not match"),
        ("/a?b c,/c", "line 1: `/a?b c`: write the query as clients send it"),
    ] {
        let disk = Disk::default().file("/base/old.csv", row);
        let told = read_within(TEXT, &disk).unwrap_err().to_string();
        let begins = format!("velodrome.toml:3:7: the map `/base/old.csv`: {why}");
        assert!(told.starts_with(&begins), "{told}\n{begins}");
    }
    let many = "x,/y\n".repeat(30);
    let told = read_within(TEXT, &Disk::default().file("/base/old.csv", many)).unwrap_err();
    assert_eq!(told.problems().len(), 11, "the first ten, and that there may be more");
    let told = read_within(TEXT, &Disk::default()).unwrap_err().to_string();
    assert_eq!(told, "velodrome.toml:3:7: the map `/base/old.csv`: no such file");
}

#[test]
fn a_hundred_thousand_rows_are_looked_up_like_one() {
    let rows: String =
        (0..100_000).map(|number| format!("/old/{number},/new/{number}\n")).collect();
    let table = table(TEXT, &Disk::default().file("/base/old.csv", rows));
    assert_eq!(location(&table, "/old/99999", None), Some((302, "/new/99999".to_owned())));
    assert_eq!(location(&table, "/old/100000", None), None);
}

#[test]
fn the_smallest_network_has_the_country() {
    let rows = "# \
                all\n10.0.0.0/8,US\n10.1.0.0/16,DE\n10.1.2.0,10.1.2.255,at\n10.1.3.0/24,-\n2001:db8::/32,FR\n";
    let text = |country: &str| {
        format!(
            "countries = \"c.csv\"\n[[route]]\npath = \"/\"\nwhen = {{ country = [\"{country}\"] }}\njson = \
             1\n"
        )
    };
    let disk = Disk::default().file("/base/c.csv", rows);
    let country_of = |address: &str| {
        let address: IpAddr = address.parse().unwrap();
        ["US", "DE", "AT", "FR"].into_iter().find(|country| {
            let table = table(&text(country), &disk);
            let mut request = RouteRequest::new(None, "GET", "/", None);
            request.circumstances.address = Some(address);
            matches!(table.find(&request).action, Ok(RouteAction::Json(_)))
        })
    };
    for (address, expected) in [
        ("9.255.255.255", None),
        ("10.0.0.0", Some("US")),
        ("10.0.255.255", Some("US")),
        ("10.1.0.0", Some("DE")),
        ("10.1.2.0", Some("AT")),
        ("10.1.2.255", Some("AT")),
        ("10.1.3.7", None),
        ("10.1.4.0", Some("DE")),
        ("10.2.0.0", Some("US")),
        ("10.255.255.255", Some("US")),
        ("11.0.0.0", None),
        ("::ffff:10.1.2.9", Some("AT")),
        ("2001:db8::1", Some("FR")),
        ("2001:db9::", None),
    ] {
        assert_eq!(country_of(address), expected, "{address}");
    }
    for (row, why) in [
        ("10.0.0.1/8,DE", "line 1: `10.0.0.1/8`: bits are set beyond the network"),
        ("10.0.0.0/8,Germany", "line 1: `Germany` is not a country of two letters"),
        ("10.0.0.9,10.0.0.1,DE", "line 1: the first address is behind the last"),
        ("10.0.0.0/8", "line 1: write `network,country` or `first,last,country`"),
    ] {
        let disk = Disk::default().file("/base/c.csv", row);
        let told = read_within(&text("DE"), &disk).unwrap_err().to_string();
        assert!(told.contains(why), "{told}\n{why}");
        assert!(told.starts_with("velodrome.toml:1:13: "), "{told}");
    }
}
