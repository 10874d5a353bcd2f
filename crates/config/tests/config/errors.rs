//! Every mistake with its message: the cases are in `errors.txt`.

use super::errors;

/// Cases are separated by a line of dashes and a title; the message follows a line with an arrow.
const CASES: &str = include_str!("errors.txt");

#[test]
fn mistakes_are_told_with_place_and_mend() {
    let mut count = 0;
    for case in CASES.split("\n---- ").skip(1) {
        let (title, case) = case.split_once('\n').unwrap();
        let (text, told) = case.split_once("\n=>\n").unwrap();
        assert_eq!(errors(text), told.trim_end(), "\n--- {title}, in\n{text}");
        count += 1;
    }
    assert!(count >= 150, "only {count} cases");
}

#[test]
fn the_first_problems_are_told_and_the_others_counted() {
    let text: String = (0..60).map(|number| format!("zz{number} = 1\n")).collect();
    let told = errors(&text);
    assert_eq!(told.lines().count(), 51);
    assert_eq!(told.lines().last().unwrap(), "velodrome.toml: and 10 more problems");
    assert!(told.starts_with("velodrome.toml:1:1: unknown key `zz0`"), "{told}");
}

/// For a value as long as a book the message contains the problem, not the book.
#[test]
fn long_values_are_told_by_their_beginning() {
    let long = "x".repeat(5_000);
    for wrong in [
        format!("spin = \"5{long}\""),
        format!("[limits]\nhead_size = \"5{long}\""),
        format!("[limits]\nsend_rate = \"5{long}/s\""),
        format!("[limits]\n{long} = 1"),
        format!("user = [\"{long}\"]"),
        format!("[[listener]]\naddress = \"{long}\""),
        format!("[[route]]\nglob = \"/{long}\"\nredirect = {{ to = \"{long}\" }}"),
    ] {
        for line in errors(&wrong).lines() {
            assert!(line.chars().count() < 1_000, "{line}");
        }
    }
}

#[test]
fn a_file_that_is_too_long_is_not_read() {
    let text = "# a comment\n".repeat(100_000);
    assert_eq!(errors(&text), "velodrome.toml:1:1: the file is longer than 1048576 bytes");
}

#[test]
fn problems_of_several_sections_come_in_the_order_of_the_file() {
    let told = errors(
        "[limits]\nkeep_alive = 1\n[[listener]]\n[log]\nlevel = 2\n[[route]]\npath = \"x\"\n",
    );
    let places: Vec<&str> = told.lines().map(|line| line.split(": ").next().unwrap()).collect();
    let expected =
        ["2:14", "3:1", "5:9", "6:1", "7:8"].map(|place| format!("velodrome.toml:{place}"));
    assert_eq!(places, expected);
}

#[test]
fn a_table_of_headers_has_a_limit() {
    let text = |size: usize| format!("[headers]\nX-A = \"{}\"\n", "x".repeat(size));
    let most = 16 * 1024 - "X-A".len() - 4;
    assert_eq!(errors(&text(most)), "");
    let told = "velodrome.toml:1:1: `headers` has 16385 bytes, more than 16384";
    assert_eq!(errors(&text(most + 1)).trim(), told);
}

#[test]
fn early_hints_have_a_limit() {
    let of = |count: usize, letters: usize| {
        let link = format!("\"<{}>; rel=x\"", "a".repeat(letters));
        let text = format!(
            "[[route]]\npath = \"/a\"\nfiles = {{}}\nearly_hints = [{}]\n",
            vec![link; count].join(", ")
        );
        errors(&text)
    };
    assert_eq!((of(32, 1), of(1, 8192 - 9)), (String::new(), String::new()));
    for (count, letters) in [(33, 1), (1, 8192 - 8)] {
        let told = of(count, letters);
        assert!(told.contains(":4:1: `early_hints` has "), "{told}");
    }
}
