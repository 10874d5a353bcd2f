//! Goal: durations and sizes with fractions are exact or refused. Method: texts on both sides of each bound.

use std::path::Path;
use std::time::Duration;

use config::QuantityError::{
    DurationTooFine, DurationTooLong, NoNumber, SizeTooFine, SizeTooLarge, UnknownDurationUnit,
};
use config::{Config, Overrides, parse_duration, parse_size};

/// A fraction counts as long as it is a whole number of microseconds, or of bytes.
#[test]
fn quantities_may_have_fractions() {
    for (text, micros) in [
        ("0.2s", 200_000),
        ("1.5ms", 1_500),
        ("0.000001 s", 1),
        ("2.50m", 150_000_000),
        ("0.5d", 43_200_000_000),
        ("0.1000000000000000000000000000000000000000000s", 100_000),
    ] {
        assert_eq!(parse_duration(text), Ok(Duration::from_micros(micros)), "{text}");
    }
    for (text, bytes) in [("1.5 GiB", 3 << 29), ("0.5kB", 500), ("0.0009765625KiB", 1)] {
        assert_eq!(parse_size(text), Ok(bytes), "{text}");
    }
    for (text, error) in [
        ("0.0000001s", DurationTooFine),
        ("1.5us", DurationTooFine),
        ("0.00000000000000000000000000000000000000001s", DurationTooFine),
        ("365.5d", DurationTooLong),
        ("99999999999999999999.5s", DurationTooLong),
        ("1.s", UnknownDurationUnit(".s".to_owned())),
        ("1.5.5s", UnknownDurationUnit(".5s".to_owned())),
        ("1,5s", UnknownDurationUnit(",5s".to_owned())),
        ("1e3s", UnknownDurationUnit("e3s".to_owned())),
        (".5s", NoNumber),
        ("-0.5s", NoNumber),
    ] {
        assert_eq!(parse_duration(text), Err(error), "{text}");
    }
    assert_eq!(parse_size("0.5"), Err(SizeTooFine));
    assert_eq!(parse_size("16777215.99999999999 TiB"), Err(SizeTooFine));
    assert_eq!(parse_size("16777216.0 TiB"), Err(SizeTooLarge));
}

#[test]
fn a_continuous_profile_covers_an_hour_at_most() {
    let (hour, more) = (Duration::from_secs(3_600), Duration::from_secs(3_601));
    let read = |text: &str, profile_ring: Option<Duration>| {
        let overrides = Overrides { profile_ring, ..Overrides::default() };
        let config = Config::from_text(text, "velodrome.toml", Path::new("/base"), &overrides);
        config.map(|config| config.profile_ring).map_err(|problems| problems.to_string())
    };
    assert_eq!(read("", None), Ok(Duration::ZERO));
    assert_eq!(read("profile_ring = \"1h\"\n", None), Ok(hour));
    assert_eq!(read("profile_ring = \"1h\"\n", Some(Duration::ZERO)), Ok(Duration::ZERO));
    assert!(read("profile_ring = \"3601s\"\n", None).unwrap_err().contains("profile_ring"));
    assert_eq!(read("", Some(more)), Err("--profile-ring must be at most 60m".to_owned()));
}
