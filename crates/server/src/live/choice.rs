//! The largest rows of a list, chosen while the list is walked.
//!
//! Owns the rows chosen so far, at most twice as many as are wanted.

use live::{CellValue, TableRow};

use super::ViewRequest;

/// The rows chosen so far.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    sort: String,
    filter: String,
    most: usize,
    rows: Vec<TableRow>,
    left_out: u64,
}

impl Choice {
    /// Chooses by what a wish says; by this column if it says none.
    pub(crate) fn new(wish: &ViewRequest, usual: &str) -> Self {
        let sort = if wish.sort.is_empty() { usual } else { &wish.sort };
        Self {
            sort: sort.to_owned(),
            filter: wish.filter.to_lowercase(),
            most: wish.most,
            rows: Vec::new(),
            left_out: 0,
        }
    }

    /// The column by which it chooses.
    pub(crate) fn sort(&self) -> &str {
        &self.sort
    }

    /// Offers a row.
    pub(crate) fn offer(&mut self, row: TableRow) {
        if !self.filter.is_empty() && !has_text(&row, &self.filter) {
            return;
        }
        self.rows.push(row);
        if self.rows.len() >= 2 * self.most {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let sort = std::mem::take(&mut self.sort);
        self.rows.sort_by(|one, other| {
            compare(one.values.get(&sort), other.values.get(&sort))
                .then_with(|| one.id.cmp(&other.id))
        });
        self.sort = sort;
        let left = self.rows.len().saturating_sub(self.most);
        self.rows.truncate(self.most);
        self.left_out += left as u64;
    }

    /// The chosen rows, largest first, and how many were left out.
    pub(crate) fn finish(mut self) -> (Vec<TableRow>, u64) {
        self.cut();
        (self.rows, self.left_out)
    }
}

/// Larger numbers first; texts in their order; rows without a value last.
fn compare(one: Option<&CellValue>, other: Option<&CellValue>) -> std::cmp::Ordering {
    use std::cmp::Ordering;
    match (one, other) {
        (Some(CellValue::Text(one)), Some(CellValue::Text(other))) => one.cmp(other),
        (Some(one), Some(other)) => number(other).total_cmp(&number(one)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

#[expect(clippy::cast_precision_loss, reason = "only compared")]
fn number(value: &CellValue) -> f64 {
    match value {
        CellValue::Number(number) => *number as f64,
        CellValue::Fraction(number) => *number,
        CellValue::Text(_) => f64::NEG_INFINITY,
    }
}

fn has_text(row: &TableRow, filter: &str) -> bool {
    row.values.values().any(|value| match value {
        CellValue::Text(text) => text.to_lowercase().contains(filter),
        CellValue::Number(_) | CellValue::Fraction(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_many_rows_are_chosen() {
        let wish = ViewRequest { most: 3, filter: "B".into(), ..ViewRequest::default() };
        let mut choice = Choice::new(&wish, "size");
        for number in 0..100 {
            let name = if number % 2 == 0 { "ab" } else { "c" };
            choice.offer(
                TableRow::new(number.to_string())
                    .text("name", name)
                    .number("size", number * 7 % 100),
            );
        }
        let (rows, left_out) = choice.finish();
        let sizes: Vec<u64> = rows.iter().map(|row| row.number_in("size")).collect();
        assert_eq!((sizes, left_out), (vec![98, 96, 94], 47));
    }
}
