//! RFC 9110 section 5.6.7.

use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;
use wire::http::date::{format, parse};

const EXAMPLE: u64 = 784_111_777;
const LAST: u64 = 253_402_300_799;

fn text(unix_seconds: u64) -> String {
    String::from_utf8(format(unix_seconds).to_vec()).unwrap()
}

#[test]
fn rfc_9110_5_6_7_examples_of_all_three_formats() {
    assert_eq!(text(EXAMPLE), "Sun, 06 Nov 1994 08:49:37 GMT");
    for example in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ] {
        assert_eq!(parse(example.as_bytes()), Some(EXAMPLE), "{example}");
    }
}

#[test]
fn edges_of_the_calendar() {
    assert_eq!(text(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    assert_eq!(text(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
    assert_eq!(text(4_107_542_399), "Sun, 28 Feb 2100 23:59:59 GMT");
    assert_eq!(text(4_107_542_400), "Mon, 01 Mar 2100 00:00:00 GMT");
    assert_eq!(text(LAST), "Fri, 31 Dec 9999 23:59:59 GMT");
}

#[test]
fn past_the_year_9999_it_stays() {
    assert_eq!(format(LAST + 1), format(LAST));
    assert_eq!(format(u64::MAX), format(LAST));
}

#[test]
fn no_dates() {
    for no_date in [
        b"".as_slice(),
        b"0",
        b"784111777",
        b"Sun, 06 Nov 1994 08:49:37",
        b"Sun, 06 Nov 1994 08:49:37 CET",
        b"Mon, 06 Nov 1994 08:49:37 GMT",
        b"Sun, 31 Feb 1994 08:49:37 GMT",
        b"Sun, 06 Nov 1994 24:49:37 GMT",
        b"Sun, 06 Nov 1994 08:49:60 GMT",
        b"Wed, 31 Dec 1969 23:59:59 GMT",
        b"Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
        b"Sun, 06 Nov 1994 08:49:\xff7 GMT",
    ] {
        assert_eq!(parse(no_date), None, "{}", no_date.escape_ascii());
    }
}

proptest! {
    #[test]
    fn written_as_httpdate_writes_and_read_back(unix_seconds in 0..=LAST) {
        let oracle = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix_seconds));
        prop_assert_eq!(text(unix_seconds), oracle);
        prop_assert_eq!(parse(&format(unix_seconds)), Some(unix_seconds));
    }

    #[test]
    fn whatever_comes_is_no_panic(
        input in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..40),
            "(Sun|Monday|Fri),? [0-9 -]{2,4}(Nov|Feb|-Jan-)[ 0-9]{2,6}[0-9: ]{8}( GMT)?"
                .prop_map(String::into_bytes),
        ],
    ) {
        if let Some(unix_seconds) = parse(&input) {
            prop_assert!(unix_seconds <= LAST);
        }
    }
}
