//! Goal: clients of other languages are served, and one that misbehaves is refused and forgotten. Method: each client
//! as a program of a few lines that trusts an authority of the test, and `tls_scripts.py`, which changes records.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use crate::server::certificates::Authority;
use crate::server::{Plan, Server, errors_of, has, printed_by, run};

const LISTENER: &str = "[[listener]]\naddress = \"127.0.0.1:0\"\ntls = { certificate = \"site.pem\", key = \
                        \"site.key\" }\n";

const PYTHON: &str = "import ssl, sys, urllib.request
context = ssl.create_default_context(cafile=sys.argv[2])
print(urllib.request.urlopen(sys.argv[1], context=context).read().decode(), end='')";

const NODE: &str = "const [url, ca] = process.argv.slice(2);
require('https').get(url, { ca: require('fs').readFileSync(ca) }, r => r.pipe(process.stdout));";

const GO: &str = r#"package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
)

func main() {
	pool := x509.NewCertPool()
	file, _ := os.ReadFile(os.Args[2])
	pool.AppendCertsFromPEM(file)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	answer, err := client.Get(os.Args[1])
	if err != nil {
		panic(err)
	}
	io.Copy(os.Stdout, answer.Body)
}
"#;

const JAVA: &str = r#"import java.io.FileInputStream;
import java.net.URI;
import java.net.http.*;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.*;

public class Client {
    public static void main(String[] words) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        store.setCertificateEntry("ca", factory.generateCertificate(new FileInputStream(words[1])));
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        HttpClient client = HttpClient.newBuilder().sslContext(context).build();
        HttpRequest request = HttpRequest.newBuilder(URI.create(words[0])).build();
        System.out.print(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
    }
}
"#;

fn server() -> (Server, SocketAddr, PathBuf) {
    let plan = Plan::new()
        .config(LISTENER)
        .file("a.txt", "a\n")
        .file("group.page.txt", "<%= request.tls.group %>")
        .listen_as_configured(1);
    let authority = Authority::in_directory(&plan.directory);
    authority.issue(&plan.directory, "site", &["localhost"]);
    let server = plan.start();
    let address = server.announced[0].strip_prefix("https://").unwrap().trim_end_matches('/');
    let (address, ca) = (address.parse().unwrap(), server.directory().join("ca.pem"));
    (server, address, ca)
}

#[test]
fn clients_of_other_languages_trust_an_authority_and_are_served() {
    const TEST: &str = "clients_of_other_languages_trust_an_authority_and_are_served";
    let (server, address, ca) = server();
    // OpenSSL and Java learn ML-KEM with their newer versions.
    let groups = ["X25519MLKEM768", "x25519"];
    for (program, words, file, text, expected) in [
        ("python3", &[][..], "client.py", PYTHON, &groups[..]),
        ("node", &[], "client.js", NODE, &groups),
        ("go", &["run"], "client.go", GO, &groups[..1]),
        ("java", &[], "Client.java", JAVA, &groups),
    ] {
        if !has(program, TEST) {
            continue;
        }
        server.directory().write(file, text);
        let url = format!("https://localhost:{}/group", address.port());
        let mut command = Command::new(program);
        command.args(words).arg(server.directory().join(file)).arg(url).arg(&ca);
        let output = run(&mut command);
        let group = printed_by(&output);
        assert!(expected.contains(&&*group), "{program}: {group} {}", errors_of(&output));
    }
}

/// A Python that has tlslite-ng: the one beside its scripts.
fn python() -> PathBuf {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let beside = std::env::split_paths(&paths).find(|path| path.join("tlsdb.py").is_file());
    beside.map_or_else(|| "python3".into(), |path| path.join("python3"))
}

#[test]
fn records_that_are_cut_are_understood_and_wrong_ones_refused() {
    const TEST: &str = "records_that_are_cut_are_understood_and_wrong_ones_refused";
    if !has("python3", TEST) {
        return;
    }
    let (server, address, ca) = server();
    let mut command = Command::new(python());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serving/tls_scripts.py");
    command.arg(script).arg(address.port().to_string()).arg(ca);
    let printed = printed_by(&run(&mut command));
    let told: Vec<(&str, &str)> =
        printed.lines().map(|line| line.rsplit_once(": ").unwrap()).collect();
    let is_served = |name: &str| {
        [
            "nothing is changed",
            "bytes one at a time",
            "a hello in records",
            "1 updates",
            "20 updates",
        ]
        .iter()
        .any(|served| name.starts_with(served))
    };
    for (name, answer) in &told {
        assert_eq!(*answer == "HTTP/1.1 200 OK", is_served(name), "{name}: {answer}");
    }
    if !printed.contains("updates of keys") {
        println!("SKIPPED {TEST}, updates of keys: tlslite-ng is not installed");
    }
    assert!(told.len() >= 19, "{printed}");
    // Nothing is left of those that were refused.
    server.reaches("/connections", 0);
    assert_eq!(server.printed_troubles(), "");
}
