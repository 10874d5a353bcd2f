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
    only: Option<String>,
    most: usize,
    rows: Vec<TableRow>,
    /// The least number of the rows chosen so far, once there are enough of them: others need more than this.
    floor: Option<f64>,
    left_out: u64,
}

impl Choice {
    /// Chooses by what a wish says; by this column if it says none.
    pub(crate) fn new(wish: &ViewRequest, usual: &str) -> Self {
        let sort = if wish.sort.is_empty() { usual } else { &wish.sort };
        Self {
            sort: sort.to_owned(),
            filter: wish.filter.to_lowercase(),
            only: wish.only.clone(),
            most: wish.most,
            rows: Vec::new(),
            floor: None,
            left_out: 0,
        }
    }

    /// The column by which it chooses.
    pub(crate) fn sort(&self) -> &str {
        &self.sort
    }

    /// Whether a row with this number in the column of the choice may still be chosen. If not, it counts as left out,
    /// and nobody has to make it: of fifteen thousand connections a few hundred rows are made.
    #[expect(clippy::cast_precision_loss, reason = "only compared")]
    pub(crate) fn may_take(&mut self, number: Option<u64>) -> bool {
        let (Some(number), Some(floor)) = (number, self.floor) else { return true };
        let may_take = number as f64 > floor;
        self.left_out += u64::from(!may_take);
        may_take
    }

    pub(crate) fn offer(&mut self, row: TableRow) {
        if self.only.as_ref().is_some_and(|only| row.id != *only) {
            return;
        }
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
        // With a filter, the text of a row decides whether it is left out.
        let last = self.rows.last().filter(|_| self.rows.len() == self.most);
        self.floor = last.filter(|_| self.filter.is_empty()).and_then(|row| {
            match row.values.get(&self.sort)? {
                CellValue::Text(_) => None,
                of_number => Some(number(of_number)),
            }
        });
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
    fn a_row_below_the_chosen_ones_is_not_asked_for() {
        let wish = ViewRequest { most: 3, ..ViewRequest::default() };
        let mut choice = Choice::new(&wish, "size");
        let mut made = 0;
        for number in 0..1_000 {
            let size = number * 7 % 1_000;
            if choice.may_take(Some(size)) {
                made += 1;
                choice.offer(TableRow::new(number.to_string()).number("size", size));
            }
        }
        let (rows, left_out) = choice.finish();
        let sizes: Vec<u64> = rows.iter().map(|row| row.number_in("size")).collect();
        assert_eq!((sizes, left_out), (vec![999, 998, 997], 997));
        assert!(made < 500, "{made} rows were made");
    }

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
