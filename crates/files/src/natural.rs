//! Natural order of names: `file2` before `file10`, case-insensitive.

use std::cmp::Ordering;

/// Compares two names; they are equal only if the texts are equal.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    compare_runs(left.as_bytes(), right.as_bytes()).then_with(|| left.cmp(right))
}

fn compare_runs(mut left: &[u8], mut right: &[u8]) -> Ordering {
    loop {
        let (Some(first), Some(second)) = (left.first(), right.first()) else {
            return left.len().cmp(&right.len());
        };
        let order = if first.is_ascii_digit() && second.is_ascii_digit() {
            let (one, other) = (take_number(&mut left), take_number(&mut right));
            one.len().cmp(&other.len()).then_with(|| one.cmp(other))
        } else {
            let order = first.to_ascii_lowercase().cmp(&second.to_ascii_lowercase());
            (left, right) = (&left[1..], &right[1..]);
            order
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// The digits at the start without leading zeros: of two such texts the longer is the larger number.
fn take_number<'t>(text: &mut &'t [u8]) -> &'t [u8] {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    *text = rest;
    let zeros = number.iter().position(|&byte| byte != b'0').unwrap_or(number.len());
    &number[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_count_and_case_does_not() {
        let mut names =
            ["b", "file10", "File2", "a", "file1", "C", "file02", "1.10", "1.9", "file", "ä"];
        names.sort_by(|left, right| compare(left, right));
        let expected =
            ["1.9", "1.10", "a", "b", "C", "file", "file1", "File2", "file02", "file10", "ä"];
        assert_eq!(names, expected);
    }

    proptest! {
        #[test]
        fn it_is_an_order(
            one in "[aAb0129]{0,6}", two in "[aAb0129]{0,6}", three in "[aAb0129]{0,6}",
        ) {
            prop_assert_eq!(compare(&one, &two), compare(&two, &one).reverse());
            prop_assert_eq!(compare(&one, &two) == Ordering::Equal, one == two);
            if compare(&one, &two).is_le() && compare(&two, &three).is_le() {
                prop_assert!(compare(&one, &three).is_le());
            }
        }
    }
}
