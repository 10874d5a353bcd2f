//! The statements about encryption in reports, and how reports are compared with those of plain servers.

use bench::compare::{Comparison, Side};
use bench::report::{EncryptionPlanReport, Ended, Report, write_html, write_text};

use crate::report::sample::{closed_plan, closed_run, encrypt, encryption_plan, of};

/// A report over TLS, with these handshakes.
fn encrypted(handshakes: &str) -> Report {
    let mut plan = closed_plan();
    plan.tls =
        Some(EncryptionPlanReport { handshakes: handshakes.to_owned(), ..encryption_plan() });
    let mut run = closed_run();
    encrypt(&mut run.tally);
    Report::of(of(plan, vec![run]))
}

fn plain() -> Report {
    Report::of(of(closed_plan(), vec![closed_run()]))
}

fn compared(first: &Report, second: &Report) -> Comparison {
    let [first, second] = [first, second].map(std::slice::from_ref);
    let first = Side { name: "A", reports: first };
    Comparison::of(first, Side { name: "B", reports: second }, None, Ended::Complete)
}

#[test]
fn a_comparison_of_an_encrypted_server_with_a_plain_one_says_so() {
    let (full, resumed) = (encrypted("full"), encrypted("resumed"));
    let differs = |notes: &[String], text: &str| notes.iter().any(|note| note.contains(text));
    for (first, second, expected) in [
        (&full, &plain(), Some("A is encrypted and B is not")),
        (&plain(), &full, Some("B is encrypted and A is not")),
        (&full, &resumed, Some("full handshakes and the other for resumed")),
        (&full, &full, None),
    ] {
        let notes = compared(first, second).notes;
        match expected {
            Some(text) => assert!(differs(&notes, text), "{notes:?}"),
            None => assert!(!differs(&notes, "encrypted"), "{notes:?}"),
        }
        assert!(!differs(&notes, "plans differ"), "{notes:?}");
    }
}

#[test]
fn handshakes_are_compared_where_both_sides_have_some_and_judge_nothing() {
    let figures = |first: &Report, second: &Report| -> Vec<(String, bool)> {
        let figures = compared(first, second).figures;
        let handshakes = figures.into_iter().filter(|one| one.figure.starts_with("handshake"));
        handshakes.map(|one| (one.figure, one.judged)).collect()
    };
    let full = encrypted("full");
    let both = ["handshake p50", "handshake p99"].map(|name| (name.to_owned(), false));
    assert_eq!(figures(&full, &full), both);
    assert_eq!(figures(&full, &plain()), []);
}

#[test]
fn text_and_page_show_handshakes_certificate_and_failures() {
    let report = encrypted("full");
    let mut text = String::new();
    write_text(&report, &mut text).expect("text takes text");
    for expected in [
        "tls         4 handshakes, 1 resumed (25.0 %), 2 failed\n",
        "            TLSv1.3, TLS_AES_128_GCM_SHA256, X25519MLKEM768, http/1.1\n",
        "            ECDSA P-256 for example.org, ",
        "            failed 2: the connection ended in the middle\n",
        "\nhandshake     2.00 ms",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let page = write_html(&report);
    for expected in ["<h2>TLS</h2>", "handshake time", "the connection ended in the middle"] {
        assert!(page.contains(expected), "{expected}");
    }
    let mut text = String::new();
    write_text(&plain(), &mut text).expect("text takes text");
    assert!(!text.contains("tls ") && !write_html(&plain()).contains("<h2>TLS</h2>"), "{text}");
}
