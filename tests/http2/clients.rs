//! Goal: the clients that people use speak HTTP/2 with the server. Method: each as a program of a few lines that gets a
//! file, sends a body and asks for many things at once over one connection with TLS; its output says so.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use crate::server::{Plan, Server, errors_of, has, printed_by, run};
use crate::site::{ENCRYPTED, encrypted, plan};

const CONFIG: &str = "[[route]]\npath = \"/echo\"\nmodule = \"echo\"\n\
                      [[route]]\npath = \"/fixed\"\nrespond = { body = \"fixed\" }\n\
                      [[route]]\npath = \"/small\"\nmodule = \"echo\"\nbody_size = 10\n";

const ECHO: &str = "return function(request) return request.body end";

/// The output of each client: the protocol, the file, the length of the echo, the files that came at once.
const TOLD: &str = "2 a 300000 100\n";

const PYTHON: &str = "import asyncio, ssl, sys, httpx
async def main(url, ca):
    context = ssl.create_default_context(cafile=ca)
    async with httpx.AsyncClient(http2=True, verify=context, timeout=60) as client:
        first = await client.get(url + '/a.txt')
        echo = await client.post(url + '/echo', content=b'x' * 300000)
        many = await asyncio.gather(*[client.get(url + '/a.txt') for _ in range(100)])
        came = sum(answer.text == 'a\\n' for answer in many)
        print(first.http_version.replace('HTTP/', ''), first.text.strip(), len(echo.content), came)
asyncio.run(main(*sys.argv[1:]))";

const NODE: &str = "const http2 = require('http2');
const [url, ca] = process.argv.slice(2);
const session = http2.connect(url, { ca: require('fs').readFileSync(ca) });
const ask = (fields, body) => new Promise((done, failed) => {
  const stream = session.request(fields);
  let text = '';
  stream.on('data', piece => text += piece).on('end', () => done(text)).on('error', failed);
  stream.end(body);
});
(async () => {
  const file = await ask({ ':path': '/a.txt' });
  const echo = await ask({ ':path': '/echo', ':method': 'POST' }, 'x'.repeat(300000));
  const many = await Promise.all(Array.from({ length: 100 }, () => ask({ ':path': '/a.txt' })));
  const came = many.filter(text => text === 'a\\n').length;
  console.log(session.alpnProtocol.replace('h', ''), file.trim(), echo.length, came);
  session.close();
})();";

const GO: &str = r#"package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
)

func main() {
	pool := x509.NewCertPool()
	file, _ := os.ReadFile(os.Args[2])
	pool.AppendCertsFromPEM(file)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	client := &http.Client{Transport: transport}
	read := func(answer *http.Response, err error) (string, int) {
		if err != nil {
			panic(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			panic(err)
		}
		return string(text), answer.ProtoMajor
	}
	first, major := read(client.Get(os.Args[1] + "/a.txt"))
	body := strings.NewReader(strings.Repeat("x", 300000))
	echo, _ := read(client.Post(os.Args[1]+"/echo", "text/plain", body))
	var came atomic.Int32
	var all sync.WaitGroup
	for i := 0; i < 100; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			if text, _ := read(client.Get(os.Args[1] + "/a.txt")); text == "a\n" {
				came.Add(1)
			}
		}()
	}
	all.Wait()
	fmt.Println(major, strings.TrimSpace(first), len(echo), came.Load())
}
"#;

const JAVA: &str = r#"import java.io.FileInputStream;
import java.net.URI;
import java.net.http.*;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.stream.*;
import javax.net.ssl.*;

public class Client {
    static HttpClient client;

    static HttpRequest.Builder to(String url) {
        return HttpRequest.newBuilder(URI.create(url));
    }

    public static void main(String[] words) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        store.setCertificateEntry("ca", factory.generateCertificate(new FileInputStream(words[1])));
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        client = HttpClient.newBuilder().sslContext(context).build();
        var text = HttpResponse.BodyHandlers.ofString();
        var first = client.send(to(words[0] + "/a.txt").build(), text);
        var body = HttpRequest.BodyPublishers.ofString("x".repeat(300000));
        var echo = client.send(to(words[0] + "/echo").POST(body).build(), text);
        var many = IntStream.range(0, 100).mapToObj(i -> client.sendAsync(to(words[0] + "/a.txt").build(), text)).toList();
        long came = many.stream().filter(answer -> answer.join().body().equals("a\n")).count();
        String version = first.version() == HttpClient.Version.HTTP_2 ? "2" : "1";
        System.out.println(version + " " + first.body().trim() + " " + echo.body().length() + " " + came);
    }
}
"#;

fn with_site(plan: Plan) -> Plan {
    plan.directory.write("app/echo.lua", ECHO);
    plan.file("a.txt", "a\n").file("large.bin", vec![b'x'; 1024 * 1024])
}

fn site() -> (Server, SocketAddr, PathBuf) {
    encrypted(with_site(Plan::new().config(&format!("{ENCRYPTED}{CONFIG}"))))
}

/// A Python that has httpx with HTTP/2: the one of the programs that are installed for the tests.
fn python() -> PathBuf {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let beside = std::env::split_paths(&paths).find(|path| path.join("httpx").is_file());
    beside.map_or_else(|| "python3".into(), |path| path.join("python3"))
}

#[test]
fn clients_of_other_languages_speak_http2() {
    const TEST: &str = "clients_of_other_languages_speak_http2";
    let (server, address, ca) = site();
    let python = python().display().to_string();
    for (needed, program, words, file, text) in [
        ("httpx", python.as_str(), &[][..], "client.py", PYTHON),
        ("node", "node", &[], "client.js", NODE),
        ("go", "go", &["run"], "client.go", GO),
        ("java", "java", &[], "Client.java", JAVA),
    ] {
        if !has(needed, TEST) {
            continue;
        }
        server.directory().write(file, text);
        let mut command = Command::new(program);
        command.args(words).arg(server.directory().join(file));
        command.arg(format!("https://localhost:{}", address.port())).arg(&ca);
        let output = run(&mut command);
        assert_eq!(printed_by(&output), TOLD, "{program}: {}", errors_of(&output));
    }
    server.reaches("/connections", 0);
    assert_eq!(server.printed_troubles(), "");
}

#[test]
fn curl_chooses_http2_and_sends_bodies() {
    const TEST: &str = "curl_chooses_http2_and_sends_bodies";
    if !has("curl", TEST) {
        return;
    }
    let (server, address, ca) = site();
    let url = format!("https://localhost:{}", address.port());
    let curl = |words: &[&str]| {
        let mut command = Command::new("curl");
        command.args(["-sS", "--cacert"]).arg(&ca).args(words);
        let output = run(&mut command);
        assert!(output.status.success(), "{words:?}: {}", errors_of(&output));
        printed_by(&output)
    };
    let told = curl(&["-w", "%{http_version} %{http_code}", &format!("{url}/a.txt")]);
    assert_eq!(told, "a\n2 200");
    let upload = server.directory().join("site/large.bin");
    let upload = format!("@{}", upload.display());
    let words = ["-o", "/dev/null", "-w", "%{http_version} %{http_code} %{size_download}"];
    let told = curl(
        &[
            &words[..],
            &["--data-binary", &upload, "-H", "Expect: 100-continue", &format!("{url}/echo")],
        ]
        .concat(),
    );
    assert_eq!(told, "2 200 1048576");
    // Routes that do not read the body, which is on its way while they answer.
    for _ in 0..20 {
        for (body, path, told) in [
            ("abc", "/fixed", "2 200 5"),
            ("abc", "/a.txt", "2 405"),
            (&*upload, "/small", "2 413"),
        ] {
            let url = format!("{url}{path}");
            let answered = curl(&[&words[..], &["--data-binary", body, &url]].concat());
            assert!(answered.starts_with(told), "{path}: {answered}");
        }
    }
    let told = curl(&["--http1.1", "-w", "%{http_version}", &format!("{url}/a.txt")]);
    assert_eq!(told, "a\n1.1");
    // And with prior knowledge.
    let server = with_site(plan(CONFIG)).start();
    let url = format!("http://{}/large.bin", server.address());
    let told = curl(&[&words[..], &["--http2-prior-knowledge", &url]].concat());
    assert_eq!(told, "2 200 1048576");
}

#[test]
fn nghttp_and_h2load_are_served() {
    const TEST: &str = "nghttp_and_h2load_are_served";
    if !has("nghttp", TEST) || !has("h2load", TEST) {
        return;
    }
    let server = with_site(plan(CONFIG)).start();
    let url = format!("http://{}", server.address());
    let mut nghttp = Command::new("nghttp");
    nghttp.args(["-ns", "--no-dep", &format!("{url}/a.txt"), &format!("{url}/large.bin")]);
    let output = run(&mut nghttp);
    assert!(output.status.success(), "{}", errors_of(&output));
    assert!(printed_by(&output).contains("/large.bin"), "{}", printed_by(&output));
    for words in [["-m100", "-c4"], ["-m1", "-c10"], ["-m10", "-c1"]] {
        let mut h2load = Command::new("h2load");
        h2load.args(words).args(["-n1000", &format!("{url}/a.txt")]);
        let printed = printed_by(&run(&mut h2load));
        assert!(
            printed.contains("1000 succeeded, 0 failed, 0 errored, 0 timeout"),
            "{words:?}: {printed}"
        );
    }
    // Small windows, and a body for each request.
    server.directory().write("body.bin", vec![b'x'; 40_000]);
    let mut h2load = Command::new("h2load");
    h2load
        .args(["-n200", "-c2", "-m20", "-w12", "-W14", "-d"])
        .arg(server.directory().join("body.bin"));
    h2load.arg(format!("{url}/echo"));
    let printed = printed_by(&run(&mut h2load));
    assert!(printed.contains("200 succeeded, 0 failed, 0 errored, 0 timeout"), "{printed}");
    server.reaches("/connections", 0);
    assert_eq!(server.printed_troubles(), "");
}
