//! Goal: the Grafana dashboard and the alert rules of the documents show something. Method: every metric that they name
//! is in the metrics of a server with upstreams, a limit, and a certificate whose order fails.

use std::collections::BTreeSet;

use crate::server::certificates::Authority;
use crate::server::client::{Client, text};
use crate::server::patience::until;
use crate::server::{Plan, free_address};

const FILES: [(&str, &str); 2] = [
    ("docs/grafana/velodrome.json", include_str!("../../docs/grafana/velodrome.json")),
    ("docs/prometheus/alerts.yml", include_str!("../../docs/prometheus/alerts.yml")),
];

/// How metrics begin.
const PREFIXES: [&str; 3] = ["velodrome_", "process_", "http_server_"];

/// The series of a histogram, behind its name.
const OF_HISTOGRAM: [&str; 3] = ["_bucket", "_sum", "_count"];

/// The metrics that a text names.
fn named(text: &str) -> BTreeSet<&str> {
    let words =
        text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    words.filter(|word| PREFIXES.iter().any(|prefix| word.starts_with(prefix))).collect()
}

#[test]
fn grafana_dashboard_and_alerts_use_existing_metrics() {
    let address = free_address();
    let config = format!(
        "[admin]\nmetrics = \"{address}\"\n[[upstream]]\nname = \"app\"\nservers = [\"127.0.0.1:1\"]\n\
         [[route]]\nprefix = \"/app/\"\nproxy = \"app\"\n[[limit]]\nname = \"all\"\nrequests = \"1000/s\"\n\
         [[listener]]\naddress = \"127.0.0.1:0\"\n[[listener]]\naddress = \"127.0.0.1:0\"\ntls = \"acme\"\n\
         [[listener]]\naddress = \"127.0.0.1:0\"\ntls = {{ certificate = \"own.pem\", key = \"own.key\" }}\n\
         [acme]\nnames = [\"one.example.org\"]\nissuers = [\"https://127.0.0.1:1/dir\"]\nstate = \"state\"\n"
    );
    let plan = Plan::new().config(&config).file("page.page.txt", "a\n");
    Authority::in_directory(&plan.directory).issue(&plan.directory, "own", &["127.0.0.1"]);
    let server = plan.listen_as_configured(3).start();
    assert_eq!(server.get("/page").status, 200);
    let late = ["velodrome_certificate_order_failures", "velodrome_page_duration_seconds"];
    let response = until("the metrics of a certificate and of a page", || {
        let response = Client::connect(address).ok()?.get("/metrics").ok()?;
        late.iter().all(|name| text(&response).contains(name)).then_some(response)
    });
    let types = text(&response).lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let known: BTreeSet<&str> = types.filter_map(|words| words.split(' ').next()).collect();
    for (file, text) in FILES {
        let used = named(text);
        assert!(used.len() > 10, "{file}: {used:?}");
        let base =
            |name: &str| OF_HISTOGRAM.iter().find_map(|end| known.get(name.strip_suffix(end)?));
        let is_unknown = |name: &&&str| !known.contains(**name) && base(name).is_none();
        let unknown: Vec<_> = used.iter().filter(is_unknown).collect();
        assert!(unknown.is_empty(), "{file} uses what there is not: {unknown:?}");
    }
    let dashboard: serde_json::Value = serde_json::from_str(FILES[0].1).unwrap();
    assert!(dashboard["panels"].as_array().unwrap().len() > 20);
}
