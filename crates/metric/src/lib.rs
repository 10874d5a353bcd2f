//! What is counted, and what it is called: a field of a struct and its row stand together, in the part that counts.
//!
//! Owns the words that describe a number, and the macro that makes a struct and its rows from one text. Never counts, and never
//! writes a format: `/metrics`, `ctl stats` and `docs/metrics.md` are made from the rows elsewhere.

/// Whether a number only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It is what it is now, or the most that it has been.
    Gauge,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Ticks of the CPU's counter of time.
    Ticks,
}

/// What a number is called and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its place in `ctl stats`: keys with dots between.
    pub stats: &'static str,
    /// Its name in `/metrics` without prefix, unit and kind.
    pub name: &'static str,
    /// Whether it only grows.
    pub kind: Kind,
    /// Its unit.
    pub unit: Unit,
    /// What it is: the text of the field's documentation.
    pub help: &'static str,
}

/// A number of `T`.
pub struct Row<T> {
    /// What it is.
    pub metric: Metric,
    /// How it is read.
    pub read: fn(&T) -> u64,
}

/// Makes a struct of numbers, and its `ROWS`: a [`Row`] for each of them.
///
/// A field says behind `=` its [`Kind`], and between parentheses its [`Unit`], its place in `ctl stats`, its name in `/metrics`, and
/// a function that makes a `u64` of it where it is none. Its documentation, one line, is the help text. A field that is not one
/// number says `Elsewhere`, and where it is told. A field that says neither does not compile: nothing is counted and told nowhere.
///
/// ```
/// metric::counted! {
///     /// What a baker counts.
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
/// let told = |row: &metric::Row<Bakery>| (row.metric.stats, (row.read)(&bakery), row.metric.help);
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
            /// The numbers, and what they are called.
            pub const ROWS: &'static [$crate::Row<Self>] =
                $crate::rows!([] $($kind $field $help ($($told)*))*);
        }
    };
}

/// The rows of [`counted!`], a field at a time.
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
            $crate::Row {
                metric: $crate::Metric {
                    stats: $stats,
                    name: $name,
                    kind: $crate::Kind::$kind,
                    unit: $crate::Unit::$unit,
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
#[must_use]
pub fn from_size(size: usize) -> u64 {
    size as u64
}

/// Whole microseconds of what was counted in nanoseconds.
#[must_use]
pub fn microseconds(nanoseconds: u64) -> u64 {
    nanoseconds / 1_000
}
