//! Metrics and their names: a field of a struct and its row are in one place, in the part that counts.
//!
//! A [`Histogram`] counts times.
//!
//! Owns the types that describe a number, and the macro that makes a struct and its rows from one text. Does not count,
//! and writes no format: `/metrics`, `ctl stats` and `docs/metrics.md` are made from the rows elsewhere.

mod histogram;

pub use histogram::{Histogram, Histograms};

/// Whether a number only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows.
    Counter,
    /// Its present value, or its maximum so far.
    Gauge,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Ticks of the CPU's time stamp counter.
    Ticks,
}

/// The name and description of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its path in `ctl stats`: keys with dots between them.
    pub stats: &'static str,
    /// Its name in `/metrics` without prefix, unit and kind.
    pub name: &'static str,
    /// Whether it only grows.
    pub kind: MetricKind,
    /// Its unit.
    pub unit: MetricUnit,
    /// Its description: the documentation of the field.
    pub help: &'static str,
}

/// A number of `T`.
pub struct MetricRow<T> {
    /// Its name and description.
    pub metric: Metric,
    /// How it is read.
    pub read: fn(&T) -> u64,
}

/// Makes a struct of numbers, and its `ROWS`: a [`MetricRow`] for each of them.
///
/// After `=` a field has its [`MetricKind`], and in parentheses its [`MetricUnit`], its path in `ctl stats`, its name
/// in `/metrics`, and a function that converts it to `u64` if it is of another type. Its documentation, one line, is
/// the help text. A field that is not one number says `Elsewhere`, and where it is reported. A field with neither does
/// not compile: every number is reported somewhere.
///
/// ```
/// metric::counted! {
///     /// The counts of a baker.
///     #[derive(Clone, Debug, Default)]
///     pub struct Bakery {
///         /// Loaves sold.
///         pub loaves: u64 = Counter(Count, "shop.loaves", "loaves"),
///         /// Time the oven was hot.
///         pub hot_ns: u64 = Counter(Nanoseconds, "oven.hot_ns", "oven_hot"),
///         /// Flour left.
///         pub flour: usize = Gauge(Bytes, "shop.flour", "flour", metric::from_size),
///         /// Customers by weekday.
///         pub customers: [u64; 7] = Elsewhere("with a label each"),
///     }
/// }
///
/// let bakery = Bakery { loaves: 3, flour: 9, ..Bakery::default() };
/// let told = |row: &metric::MetricRow<Bakery>| (row.metric.stats, (row.read)(&bakery), row.metric.help);
/// let told: Vec<_> = Bakery::ROWS.iter().map(told).collect();
/// assert_eq!(told[0], ("shop.loaves", 3, "Loaves sold."));
/// assert_eq!((told.len(), told[2].1), (3, 9));
/// ```
///
/// ```compile_fail
/// metric::counted! {
///     struct Bakery {
///         /// Counted, and told nowhere.
///         loaves: u64,
///     }
/// }
/// ```
#[macro_export]
macro_rules! counted {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $(
                #[doc = $help:literal]
                $seen:vis $field:ident: $type:ty = $kind:ident($($told:tt)*)
            ),* $(,)?
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $name {
            $(
                #[doc = $help]
                $seen $field: $type,
            )*
        }

        impl $name {
            /// The numbers with their names and descriptions.
            pub const ROWS: &'static [$crate::MetricRow<Self>] =
                $crate::rows!([] $($kind $field $help ($($told)*))*);
        }
    };
}

/// The rows of [`counted!`], one field at a time.
#[doc(hidden)]
#[macro_export]
macro_rules! rows {
    ([$($row:expr,)*]) => { &[$($row),*] };
    ([$($row:expr,)*] Elsewhere $field:ident $help:literal ($where:literal) $($rest:tt)*) => {
        $crate::rows!([$($row,)*] $($rest)*)
    };
    (
        [$($row:expr,)*]
        $kind:ident $field:ident $help:literal
        ($unit:ident, $stats:literal, $name:literal $(, $convert:path)?) $($rest:tt)*
    ) => {
        $crate::rows!([
            $($row,)*
            $crate::MetricRow {
                metric: $crate::Metric {
                    stats: $stats,
                    name: $name,
                    kind: $crate::MetricKind::$kind,
                    unit: $crate::MetricUnit::$unit,
                    help: $help.trim_ascii_start(),
                },
                read: |counted| $crate::read!(counted.$field $(, $convert)?),
            },
        ] $($rest)*)
    };
}

/// How a field is read.
#[doc(hidden)]
#[macro_export]
macro_rules! read {
    ($field:expr) => {
        $field
    };
    ($field:expr, $convert:path) => {
        $convert($field)
    };
}

/// A size as a number.
pub fn from_size(size: usize) -> u64 {
    size as u64
}

/// Whole microseconds of what was counted in nanoseconds.
pub fn microseconds(nanoseconds: u64) -> u64 {
    nanoseconds / 1_000
}
