//! Other servers that speak HTTP/2, behind the proxy or fetched from: nginx, Go's, and one that the test plays frame by
//! frame.
//!
//! Owns their start and their end. Does not know the expected results.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use wire::h2::{
    AfterFrame, H2Frame, PREFACE, begin_headers, end_headers, read_frame, write_data_head,
    write_settings,
};
use wire::hpack::{Decoder, Encoder, Indexing};

use crate::server::client::read;
use crate::server::directory::Directory;
use crate::server::patience::until;
use crate::server::{Ending, free_address};

/// A server of others, as a process.
pub(crate) struct Other {
    _process: Ending,
    _directory: Directory,
    pub(crate) address: SocketAddr,
}

/// Sends back what it gets, with its length as a trailer; says which protocol was spoken, and which trailers came. A
/// handler gets those that were declared, and over HTTP/2 no others.
const GO: &str = r#"package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
)

func main() {
	http.HandleFunc("/echo", func(answer http.ResponseWriter, request *http.Request) {
		answer.Header().Set("X-Spoken", request.Proto)
		answer.Header().Set("Trailer", "X-Sum")
		if request.Header.Get("Te") == "trailers" {
			answer.Header().Set("X-Te", "trailers")
		}
		count, _ := io.Copy(answer, request.Body)
		answer.Header().Set("X-Sum", fmt.Sprint(count))
	})
	http.HandleFunc("/trailers", func(answer http.ResponseWriter, request *http.Request) {
		declared := fmt.Sprint(request.Trailer)
		count, _ := io.Copy(io.Discard, request.Body)
		fmt.Fprint(answer, count, " ", declared, " ", request.Trailer)
	})
	http.HandleFunc("/counted", func(answer http.ResponseWriter, request *http.Request) {
		answer.Header().Set("Trailer", "X-Sum")
		answer.Header().Set("Content-Length", "2")
		fmt.Fprint(answer, "ok")
		answer.Header().Set("X-Sum", "7")
	})
	http.HandleFunc("/early", func(answer http.ResponseWriter, request *http.Request) {
		answer.Header().Set("Link", "</a.css>")
		answer.WriteHeader(103)
		fmt.Fprint(answer, request.Host)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: protocols}
	server.Serve(listener)
}
"#;

impl Other {
    /// Go's server, which speaks both versions on a plain port.
    pub(crate) fn go() -> Self {
        let directory = Directory::new();
        directory.write("main.go", GO);
        let program = directory.join("server");
        let mut build = Command::new("go");
        build.args(["build", "-o"]).arg(&program).arg(directory.join("main.go"));
        let built = crate::server::run(&mut build);
        assert!(built.status.success(), "{}", crate::server::errors_of(&built));
        let mut child = Command::new(program).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().parse().unwrap();
        Self { _process: Ending(child), _directory: directory, address }
    }

    /// nginx, which speaks both versions on a plain port and serves files.
    pub(crate) fn nginx() -> Self {
        let directory = Directory::new();
        let (address, place) = (free_address(), directory.join("."));
        let place = place.display();
        let config = format!(
            "daemon off; master_process off; worker_processes 1; pid {place}/pid; error_log {place}/error.log;\n\
             events {{ worker_connections 64; }}\nhttp {{ access_log off; server {{ listen {address} http2; \
             root {place}/site; client_body_temp_path {place}/body; proxy_temp_path {place}/a; \
             fastcgi_temp_path {place}/b; uwsgi_temp_path {place}/c; scgi_temp_path {place}/d;\n\
             add_header X-Spoken $server_protocol; add_header X-Connection $connection; }} }}\n"
        );
        directory.write("nginx.conf", config);
        directory.write("site/a.txt", "a\n");
        directory.write("site/large.bin", vec![b'x'; 1024 * 1024]);
        let mut command = Command::new("nginx");
        command.arg("-c").arg(directory.join("nginx.conf")).arg("-p").arg(directory.join("."));
        let process = Ending(quiet(&mut command));
        until("nginx listens", || TcpStream::connect(address).ok());
        Self { _process: process, _directory: directory, address }
    }
}

fn quiet(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The server's end of a connection, played by the test.
pub(crate) struct Played {
    stream: TcpStream,
    decoder: Decoder,
    input: Vec<u8>,
    has_preface: bool,
}

impl Played {
    /// A connection that was accepted: says these settings.
    pub(crate) fn new(mut stream: TcpStream, settings: &[(wire::h2::SettingId, u32)]) -> Self {
        let mut out = Vec::new();
        write_settings(settings, &mut out);
        stream.write_all(&out).unwrap();
        Self { stream, decoder: Decoder::new(4_096), input: Vec::new(), has_preface: false }
    }

    /// The next frame that begins with this word, in words: `HEADERS 1 :method=GET ...`, `DATA 1 5`, `RST_STREAM 1`.
    pub(crate) fn next(&mut self, word: &str) -> String {
        loop {
            if let Some(line) = self.frame()
                && line.starts_with(word)
            {
                return line;
            }
        }
    }

    fn frame(&mut self) -> Option<String> {
        let mut buffer = [0; 65_536];
        loop {
            if !self.has_preface && self.input.len() >= PREFACE.len() {
                assert!(self.input.starts_with(PREFACE), "{}", self.input.escape_ascii());
                self.input.drain(..PREFACE.len());
                self.has_preface = true;
            }
            if self.has_preface
                && let Some((frame, length)) = read_frame(&self.input, 16_384).unwrap()
            {
                let words = words(&mut self.decoder, frame);
                self.input.drain(..length);
                return words;
            }
            let count = read(&mut self.stream, &mut buffer).unwrap();
            assert!(count > 0, "the connection has ended");
            self.input.extend_from_slice(&buffer[..count]);
        }
    }

    /// Sends bytes.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends a head behind which more follows.
    pub(crate) fn head(&mut self, stream: u32, fields: &[(&str, &str)]) {
        let mut out = Vec::new();
        let begin = begin_headers(&mut out);
        for (name, value) in fields {
            Encoder::new().encode(name, value.as_bytes(), Indexing::Skip, &mut out);
        }
        end_headers(begin, stream, AfterFrame::More, 16_384, &mut out);
        self.send(&out);
    }

    /// Answers a request.
    pub(crate) fn answer(&mut self, stream: u32, fields: &[(&str, &str)], content: &[u8]) {
        self.head(stream, fields);
        let mut out = Vec::new();
        write_data_head(stream, content.len() as u32, AfterFrame::Nothing, &mut out);
        out.extend_from_slice(content);
        self.send(&out);
    }

    /// Waits for the end of the connection.
    pub(crate) fn end(mut self) {
        let _reset = self.stream.read_to_end(&mut Vec::new());
    }
}

fn words(decoder: &mut Decoder, frame: H2Frame<'_>) -> Option<String> {
    Some(match frame {
        H2Frame::Headers { stream, fragment, .. } => {
            let mut words = format!("HEADERS {stream}");
            let visit = |name: &[u8], value: &[u8]| {
                let _text = write!(words, " {}={}", name.escape_ascii(), value.escape_ascii());
            };
            decoder.decode(fragment, visit).unwrap();
            words
        }
        H2Frame::Data { stream, content, .. } => format!("DATA {stream} {}", content.len()),
        H2Frame::Reset { stream, code } => format!("RST_STREAM {stream} {code}"),
        H2Frame::GoAway { code, .. } => format!("GOAWAY {code}"),
        _ => return None,
    })
}
