//! The choices for a list: the column to sort by, the direction, the filter, the selected row.
//!
//! Owns the order of rows. The server chooses which rows there are.

use std::cmp::Ordering;

use live::{CellValue, LiveTable, TableRow};

use crate::figures::number_of;

/// The direction of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Direction {
    /// The largest number first, and the first text.
    #[default]
    Usual,
    /// The other way round.
    Reversed,
}

/// The choices for one list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    /// The key of a column; empty if nothing was chosen.
    pub(crate) sort: String,
    pub(crate) direction: Direction,
    pub(crate) filter: String,
    /// The id of the selected row.
    id: String,
    /// Where that row was: if it has gone, the one in its place is selected.
    place: usize,
}

impl Choice {
    /// The place of the column to sort by.
    pub(crate) fn column(&self, table: &LiveTable) -> usize {
        let wanted = if self.sort.is_empty() { &table.sorted_by } else { &self.sort };
        table.columns.iter().position(|column| column.key == *wanted).unwrap_or(0)
    }

    /// Sorts by the column so many places to the right.
    pub(crate) fn sort_by_next(&mut self, table: &LiveTable, step: isize) {
        let count = table.columns.len().cast_signed();
        if count > 0 {
            let place = (self.column(table).cast_signed() + step).rem_euclid(count);
            self.sort.clone_from(&table.columns[place.cast_unsigned()].key);
            self.direction = Direction::Usual;
        }
    }

    pub(crate) fn turn_round(&mut self) {
        self.direction = match self.direction {
            Direction::Usual => Direction::Reversed,
            Direction::Reversed => Direction::Usual,
        };
    }

    /// The rows in the order in which they are shown; equal ones as the server has them.
    pub(crate) fn rows<'a>(&self, table: &'a LiveTable) -> Vec<&'a TableRow> {
        let mut rows: Vec<&TableRow> = table.rows.iter().collect();
        let Some(column) = table.columns.get(self.column(table)) else { return rows };
        rows.sort_by(|one, other| {
            let order = compared(one.values.get(&column.key), other.values.get(&column.key));
            if self.direction == Direction::Usual { order } else { order.reverse() }
        });
        rows
    }

    /// The place of the selected row.
    pub(crate) fn selected(&self, rows: &[&TableRow]) -> usize {
        let found = rows.iter().position(|row| row.id == self.id);
        found.unwrap_or(self.place.min(rows.len().saturating_sub(1)))
    }

    /// Selects the row so many places below.
    pub(crate) fn move_by(&mut self, rows: &[&TableRow], step: isize) {
        let last = rows.len().saturating_sub(1);
        self.place = self.selected(rows).saturating_add_signed(step).min(last);
        self.id = rows.get(self.place).map(|row| row.id.clone()).unwrap_or_default();
    }
}

/// The usual order of two values: large numbers first, texts by the alphabet, nothing last.
fn compared(one: Option<&CellValue>, other: Option<&CellValue>) -> Ordering {
    match (one, other) {
        (Some(CellValue::Text(one)), Some(CellValue::Text(other))) => one.cmp(other),
        (Some(one), Some(other)) => match (number_of(one), number_of(other)) {
            (Some(one), Some(other)) => other.total_cmp(&one),
            (one, other) => other.is_some().cmp(&one.is_some()),
        },
        (one, other) => other.is_some().cmp(&one.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use live::{Column, ColumnGrowth, ColumnUnit};

    use super::*;

    fn table() -> LiveTable {
        let columns = vec![
            Column::new("name", "name", ColumnUnit::Text, ColumnGrowth::Now),
            Column::new("size", "size", ColumnUnit::Bytes, ColumnGrowth::Now),
        ];
        let rows = vec![
            TableRow::new("1").text("name", "b").number("size", 5),
            TableRow::new("2").text("name", "a"),
            TableRow::new("3").text("name", "c").number("size", 70),
        ];
        LiveTable { columns, rows, sorted_by: "size".to_owned(), ..LiveTable::default() }
    }

    fn ids(choice: &Choice, table: &LiveTable) -> String {
        choice.rows(table).iter().map(|row| &*row.id).collect()
    }

    #[test]
    fn rows_are_in_the_chosen_order() {
        let (table, mut choice) = (table(), Choice::default());
        assert_eq!(ids(&choice, &table), "312");
        choice.turn_round();
        assert_eq!(ids(&choice, &table), "213");
        choice.sort_by_next(&table, 1);
        assert_eq!((ids(&choice, &table), &*choice.sort), ("213".to_owned(), "name"));
        choice.sort_by_next(&table, -1);
        assert_eq!(choice.sort, "size");
    }

    #[test]
    fn the_selected_row_stays_selected_while_others_come_and_go() {
        let (mut table, mut choice) = (table(), Choice::default());
        choice.move_by(&choice.rows(&table), 1);
        assert_eq!(choice.selected(&choice.rows(&table)), 1);
        // The one above ends.
        table.rows.pop();
        assert_eq!(choice.selected(&choice.rows(&table)), 0);
        // It ends itself: the one in its place is selected.
        table.rows.remove(0);
        assert_eq!(choice.selected(&choice.rows(&table)), 0);
        choice.move_by(&choice.rows(&table), isize::MAX);
        choice.move_by(&choice.rows(&table), isize::MIN);
        table.rows.clear();
        choice.move_by(&choice.rows(&table), 1);
        assert_eq!(choice.selected(&choice.rows(&table)), 0);
    }
}
