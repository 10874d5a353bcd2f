//! How long a body is: Content-Length, Transfer-Encoding, and names that resemble them.

use wire::http::head::Framing;
use wire::http::refusal::Reason;

use crate::requirements::verdict::{refused, refused_field, with_fields};

#[test]
fn rfc9112_6_3_content_length() {
    for (value, length) in [("0", 0), ("5", 5), ("007", 7), ("9223372036854775808", 1 << 63)] {
        with_fields("POST / HTTP/1.1", &format!("Content-Length: {value}\r\n"), |request| {
            assert_eq!(request.framing, Framing::Length(length));
            assert!(request.persistent);
        });
    }
    for value in [
        "",
        "+5",
        "-0",
        "-5",
        "0x5",
        "5_0",
        "5 5",
        "5,5",
        "5, 5",
        "5;",
        "a",
        "5a",
        "9223372036854775809",
        "18446744073709551616",
        "00000000000000000005",
        "\u{b2}",
        "5.0",
        "1e3",
        "\"5\"",
    ] {
        refused_field(&format!("Content-Length: {value}"), Reason::InvalidContentLength);
    }
    refused_field("Content-Length: 5\r\ncontent-length: 6", Reason::DuplicateContentLength);
    refused_field("Content-Length: 5\r\nContent-Length: 5", Reason::DuplicateContentLength);
}

#[test]
fn rfc9112_6_1_transfer_encoding() {
    for value in ["chunked", "Chunked", "CHUNKED", " chunked\t"] {
        with_fields("POST / HTTP/1.1", &format!("Transfer-Encoding:{value}\r\n"), |request| {
            assert_eq!(request.framing, Framing::Chunked);
            assert!(request.persistent);
        });
    }
    for value in [
        "gzip",
        "identity",
        "gzip, chunked",
        "xchunked",
        "chunke",
        "cow, chunked",
        "identity, chunked",
    ] {
        refused_field(&format!("Transfer-Encoding: {value}"), Reason::CodingUnknown);
    }
    for value in [
        "",
        ",",
        ",chunked",
        "chunked,",
        "chunked, chunked",
        "chunked, gzip",
        "chunked;q=1",
        "chun ked",
        "\"chunked\"",
        "chunked\u{a0}",
    ] {
        refused_field(&format!("Transfer-Encoding: {value}"), Reason::InvalidTransferEncoding);
    }
    refused_field(
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        Reason::InvalidTransferEncoding,
    );
    refused_field("Transfer-Encoding: chunked\r\nContent-Length: 5", Reason::LengthAndCoding);
    refused_field("Content-Length: 5\r\nTransfer-Encoding: chunked", Reason::LengthAndCoding);
    refused(b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", Reason::CodingInHttp10);
}

#[test]
fn names_that_resemble_the_framing_fields() {
    for name in [
        "Content_Length",
        "_Content-Length",
        "Content-Length-",
        "Transfer_Encoding_",
        "Transfer--Encoding",
        "TransferxEncoding",
        "Content-Leng--",
    ] {
        refused_field(&format!("{name}: 5"), Reason::DisguisedFraming);
    }
    for name in [
        "Content-Language",
        "Content-Disposition",
        "Content-Location",
        "X-Content-Length",
        "Transfer-Encodings",
        "Transfer.Encoding1",
        "--------------",
    ] {
        with_fields("GET / HTTP/1.1", &format!("{name}: 5\r\n"), |request| {
            assert_eq!(request.framing, Framing::None);
            assert!(request.persistent);
        });
    }
}
