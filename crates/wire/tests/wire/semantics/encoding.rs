//! RFC 9110 section 12.5.3.

use proptest::prelude::*;
use wire::http::encoding::{Accepted, Available, Coding};
use wire::limits::ACCEPT_ENCODING_MEMBERS_MAXIMUM;

const GZIP_ONLY: Available = Available::IDENTITY.with(Coding::Gzip);

/// The choice for a single line of the field, or for none.
fn choose(accept: Option<&[u8]>, available: Available) -> Option<Coding> {
    let mut accepted = Accepted::default();
    accept.into_iter().for_each(|line| accepted.read_line(line));
    accepted.choose(available)
}

fn of_all(accept: &str) -> Option<Coding> {
    choose(Some(accept.as_bytes()), Available::ALL)
}

#[test]
fn rfc_9110_12_5_3_no_field_or_an_empty_one_is_identity() {
    assert_eq!(choose(None, Available::ALL), Some(Coding::Identity));
    assert_eq!(of_all(""), Some(Coding::Identity));
    assert_eq!(of_all(" , ,"), Some(Coding::Identity));
}

#[test]
fn rfc_9110_12_5_3_examples() {
    assert_eq!(of_all("compress, gzip"), Some(Coding::Gzip));
    assert_eq!(of_all("*"), Some(Coding::Brotli));
    assert_eq!(of_all("compress;q=0.5, gzip;q=1.0"), Some(Coding::Gzip));
    assert_eq!(of_all("gzip;q=1.0, identity; q=0.5, *;q=0"), Some(Coding::Gzip));
}

#[test]
fn ties_go_to_brotli_then_zstd_then_gzip_and_identity_last() {
    assert_eq!(of_all("gzip, deflate, br, zstd"), Some(Coding::Brotli));
    assert_eq!(of_all("identity, gzip, zstd"), Some(Coding::Zstd));
    assert_eq!(of_all("identity, gzip"), Some(Coding::Gzip));
    assert_eq!(choose(Some(b"gzip, br, zstd"), GZIP_ONLY), Some(Coding::Gzip));
    assert_eq!(choose(Some(b"br, zstd"), GZIP_ONLY), Some(Coding::Identity));
}

#[test]
fn rfc_9110_12_4_2_the_higher_weight_wins() {
    assert_eq!(of_all("br;q=0.998, gzip;q=0.999"), Some(Coding::Gzip));
    assert_eq!(of_all("gzip;q=0.5, identity"), Some(Coding::Identity));
    assert_eq!(of_all("gzip;q=0.001"), Some(Coding::Gzip));
    assert_eq!(of_all("br;q=0.5, *"), Some(Coding::Zstd));
}

#[test]
fn rfc_9110_12_5_3_zero_refuses() {
    assert_eq!(of_all("br;q=0, gzip"), Some(Coding::Gzip));
    assert_eq!(of_all("br;q=0"), Some(Coding::Identity));
    assert_eq!(of_all("identity;q=0"), None);
    assert_eq!(of_all("*;q=0"), None);
    assert_eq!(of_all("*;q=0, identity;q=0.1"), Some(Coding::Identity));
    assert_eq!(of_all("identity;q=0, gzip"), Some(Coding::Gzip));
    assert_eq!(choose(Some(b"identity;q=0, br"), GZIP_ONLY), None);
    assert_eq!(of_all("identity;q=0, *;q=0.5"), Some(Coding::Brotli));
}

#[test]
fn rfc_9110_8_4_1_names_in_any_case_and_the_old_one() {
    assert_eq!(of_all("GZip"), Some(Coding::Gzip));
    assert_eq!(of_all("x-gzip"), Some(Coding::Gzip));
    assert_eq!(of_all("gzipx, xbr, brotli"), Some(Coding::Identity));
}

#[test]
fn rfc_9110_12_4_2_weights_are_strict() {
    for good in ["1", "1.", "1.0", "1.000", "0.1", "0.001", "0.999"] {
        assert_eq!(of_all(&format!("gzip;q={good}")), Some(Coding::Gzip), "{good}");
        assert_eq!(of_all(&format!("gzip \t;\t Q={good} ")), Some(Coding::Gzip), "{good}");
    }
    for bad in
        ["", ".", "2", "1.1", "1.001", "1.0000", "0.0001", "-1", "+1", "01", "1 ", ".5", "1e0"]
    {
        let expected = if bad == "1 " { Coding::Gzip } else { Coding::Identity };
        assert_eq!(of_all(&format!("gzip;q={bad}")), Some(expected), "{bad}");
        // Ignored, not refused: identity stays acceptable.
        let identity = format!("identity;q={bad}x");
        assert_eq!(of_all(&identity), Some(Coding::Identity), "{identity}");
    }
    for bad in ["gzip;q", "gzip;", "gzip;level=1", "gzip;q=1;x=2", "gzip;q =1", "gzip q=1"] {
        assert_eq!(of_all(bad), Some(Coding::Identity), "{bad}");
    }
}

#[test]
fn of_two_members_with_one_name_the_later_holds() {
    assert_eq!(of_all("gzip;q=0, gzip"), Some(Coding::Gzip));
    assert_eq!(of_all("gzip, gzip;q=0"), Some(Coding::Identity));
}

#[test]
fn members_have_a_bound_over_all_lines() {
    let unknown = |count| vec!["x"; count].join(",");
    let within = format!("{},gzip", unknown(ACCEPT_ENCODING_MEMBERS_MAXIMUM - 1));
    assert_eq!(of_all(&within), Some(Coding::Gzip));
    let past = format!("{},gzip", unknown(ACCEPT_ENCODING_MEMBERS_MAXIMUM));
    assert_eq!(of_all(&past), Some(Coding::Identity));

    let mut accepted = Accepted::default();
    accepted.read_line(unknown(ACCEPT_ENCODING_MEMBERS_MAXIMUM).as_bytes());
    accepted.read_line(b"gzip");
    assert_eq!(accepted.choose(Available::ALL), Some(Coding::Identity));
}

#[test]
fn rfc_9110_5_3_lines_add_up() {
    let mut accepted = Accepted::default();
    accepted.read_line(b"gzip;q=0.5");
    accepted.read_line(b"br;q=0.4, identity;q=0");
    assert_eq!(accepted.choose(Available::ALL), Some(Coding::Gzip));
    assert_eq!(accepted.choose(Available::IDENTITY), None);
}

proptest! {
    #[test]
    fn only_what_is_available_is_chosen(
        accept in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..60),
            "((gzip|br|zstd|identity|[*])(;q=(0|1|0[.][0-9]{1,3}))?[, ]{1,2}){0,8}"
                .prop_map(String::into_bytes),
        ],
        codings in proptest::collection::vec(
            prop_oneof![Just(Coding::Gzip), Just(Coding::Brotli), Just(Coding::Zstd)], 0..3),
    ) {
        let available = codings.into_iter().fold(Available::IDENTITY, Available::with);
        if let Some(coding) = choose(Some(&accept), available) {
            prop_assert!(available.contains(coding));
        }
    }
}
