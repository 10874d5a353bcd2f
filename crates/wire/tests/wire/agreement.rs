//! Our parser accepts nothing that httparse does not read in the same way.
//!
//! httparse is the measure for the grammar; the strict rules come on top. So everything accepted here is
//! accepted there with the same parts, and what only we refuse is refused for a rule httparse does not have.

use proptest::prelude::*;
use wire::http::head::{FieldSlots, Head, HeadLimits, HttpVersion, RequestTarget, parse};
use wire::http::refusal::Reason;
use wire::http::url::Scheme;

fn compare(input: &[u8]) -> Result<(), TestCaseError> {
    let mut headers = [httparse::EMPTY_HEADER; 100];
    let mut theirs = httparse::Request::new(&mut headers);
    let status = theirs.parse(input);
    match parse(input, Scheme::Http, &HeadLimits::default(), &mut FieldSlots::new()) {
        Ok(Head::Complete { request, length }) => {
            // httparse knows no minor versions other than 0 and 1.
            if status == Err(httparse::Error::Version) {
                prop_assert_eq!(request.version, HttpVersion::Http11);
                return Ok(());
            }
            prop_assert_eq!(status, Ok(httparse::Status::Complete(length)));
            prop_assert_eq!(Some(request.method.as_str()), theirs.method);
            let minor = if request.version == HttpVersion::Http10 { 0 } else { 1 };
            prop_assert_eq!(Some(minor), theirs.version);
            let path = theirs.path.unwrap_or_default();
            match request.target {
                RequestTarget::Asterisk => prop_assert_eq!(path, "*"),
                RequestTarget::Origin(target) => {
                    prop_assert!(path.as_bytes().ends_with(target) || target == b"/")
                }
            }
            let fields: Vec<(&str, &[u8])> = request.fields.iter().collect();
            let their_fields: Vec<(&str, &[u8])> =
                theirs.headers.iter().map(|header| (header.name, header.value)).collect();
            prop_assert_eq!(fields, their_fields);
        }
        Ok(Head::Partial) => prop_assert!(
            status == Ok(httparse::Status::Partial) || status == Err(httparse::Error::Version),
            "{:?}",
            status
        ),
        Err(refusal) => prop_assert!(
            !matches!(status, Ok(httparse::Status::Complete(_))) || is_strict(refusal.reason()),
            "{refusal:?} for what httparse reads"
        ),
    }
    Ok(())
}

/// Whether a rule goes beyond the grammar that httparse reads.
fn is_strict(reason: Reason) -> bool {
    !matches!(
        reason,
        Reason::BareCarriageReturn
            | Reason::InvalidMethod
            | Reason::MissingVersion
            | Reason::InvalidVersion
            | Reason::VersionNotSupported
            | Reason::BlankBeforeFirstField
            | Reason::ObsoleteFold
            | Reason::EmptyFieldName
            | Reason::BlankInFieldName
            | Reason::InvalidFieldName
            | Reason::FieldWithoutColon
            | Reason::InvalidFieldValue
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_head_means_the_same_to_both(input in crate::generate::head()) {
        compare(&input)?;
    }

    #[test]
    fn fields_of_any_length_mean_the_same_to_both(
        name in "[!-9;-~]{1,40}",
        value in "[ -~\t\u{80}-\u{ff}]{0,60}",
        rest in "[A-Za-z0-9_.^-]{1,20}:[ \t]{0,3}[ -~]{0,20}",
    ) {
        compare(format!("GET / HTTP/1.1\r\nHost: a\r\n{name}:{value}\r\n{rest}\r\n\r\n").as_bytes())?;
        compare(format!("GET / HTTP/1.1\r\n{rest}\r\n{name}: {value}\r\nHost: a\r\n\r\n").as_bytes())?;
    }
}

/// Every byte at every place of a small request.
#[test]
fn one_changed_byte_means_the_same_to_both() {
    let request = b"GET /a HTTP/1.1\r\nHost: a.b:80\r\nX-Y:z\r\n\r\n";
    for at in 0..request.len() {
        for byte in 0..=255 {
            let mut changed = request.to_vec();
            changed[at] = byte;
            compare(&changed).unwrap_or_else(|error| panic!("{}: {error}", changed.escape_ascii()));
            changed.insert(at, request[at]);
            compare(&changed).unwrap_or_else(|error| panic!("{}: {error}", changed.escape_ascii()));
        }
    }
}
