//! A list as a table.
//!
//! Owns which columns and rows are seen: always the name, the column that it is sorted by, and the selected row.

use std::ops::Range;

use live::{CellValue, Column, ColumnUnit, LiveTable, TableRow};
use ratatui::style::Style;
use ratatui::text::Line;

use super::overview::Room;
use crate::choice::{Choice, Direction};
use crate::figures::number_of;
use crate::number::{change, of_column};
use crate::paint::{dim, fit, fit_name, fit_right, line, selected, title, width};

/// The columns of a text other than the name, at most; and those of a name, at least.
const TEXT: usize = 24;
const NAME: usize = 16;

/// Columns between two columns.
const GAP: usize = 2;

/// Whether a row is marked as selected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Selected,
    None,
}

/// The table, with changes where there are earlier values to compare with.
pub(crate) fn lines(
    table: &LiveTable,
    then: Option<&LiveTable>,
    choice: &Choice,
    mark: Mark,
    room: Room,
) -> Vec<Line<'static>> {
    if table.columns.is_empty() {
        return vec![line("The server has nothing to list here.", dim())];
    }
    let then = then.filter(|then| then.name == table.name);
    let rows = choice.rows(table);
    let notes = notes(table, &rows);
    let place = choice.selected(&rows);
    let seen = seen(rows.len(), place, room.height.saturating_sub(1 + notes.len()));
    let sorted = choice.column(table);
    let cells: Vec<Vec<String>> =
        rows[seen.clone()].iter().map(|row| cells(table, row, then)).collect();
    let headings: Vec<String> =
        (0..table.columns.len()).map(|place| heading(table, place, choice)).collect();
    let widest = |column: usize| {
        let cells = cells.iter().map(|row| width(&row[column]));
        cells.chain([width(&headings[column])]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(widest).collect();
    let shown = shown(&table.columns, widths, sorted, room.width);
    let whole = |texts: &[String]| {
        let texts = shown.iter().map(|(column, columns)| match table.columns[*column].unit {
            ColumnUnit::Text => fit_name(&texts[*column], *columns),
            _ => fit_right(&texts[*column], *columns),
        });
        fit(&texts.collect::<Vec<_>>().join(&" ".repeat(GAP)), room.width)
    };
    let mut lines = vec![line(whole(&headings), title())];
    for (cells, row) in cells.iter().zip(seen) {
        let is_selected = row == place && mark == Mark::Selected;
        lines.push(line(whole(cells), if is_selected { selected() } else { Style::new() }));
    }
    lines.extend(notes.into_iter().map(|note| line(fit(&note, room.width), dim())));
    lines.truncate(room.height);
    lines
}

fn notes(table: &LiveTable, rows: &[&TableRow]) -> Vec<String> {
    match (rows.len(), table.left_out) {
        (0, 0) => vec!["none".to_owned()],
        (_, 0) => Vec::new(),
        (_, left_out) => vec![format!("and {left_out} more, which the server left out")],
    }
}

fn heading(table: &LiveTable, place: usize, choice: &Choice) -> String {
    let column = &table.columns[place];
    let per = match (column.counts, column.unit) {
        (live::ColumnGrowth::Up, ColumnUnit::Count | ColumnUnit::Bytes) => "/s",
        _ => "",
    };
    let arrow = match choice.direction {
        _ if place != choice.column(table) => "",
        Direction::Usual => "↓",
        Direction::Reversed => "↑",
    };
    format!("{}{per}{arrow}", column.title)
}

fn cells(table: &LiveTable, row: &TableRow, then: Option<&LiveTable>) -> Vec<String> {
    let before = then.and_then(|then| then.rows.iter().find(|earlier| earlier.id == row.id));
    let cell = |column: &Column| {
        let Some(value) = row.values.get(&column.key) else { return "-".to_owned() };
        let Some(number) = number_of(value) else {
            let CellValue::Text(text) = value else { return String::new() };
            return text.clone();
        };
        let earlier = before.and_then(|before| before.values.get(&column.key));
        let shown = |number| of_column(number, column.unit, column.counts);
        match earlier.and_then(number_of) {
            Some(earlier) => change(number - earlier, shown),
            None => shown(number),
        }
    };
    table.columns.iter().map(cell).collect()
}

/// The rows that are seen: the selected one is among them.
fn seen(count: usize, selected: usize, height: usize) -> Range<usize> {
    let first = (selected + 1).saturating_sub(height).min(count);
    first..(first + height).min(count)
}

/// The columns that are shown, and their widths.
fn shown(
    columns: &[Column],
    mut widths: Vec<usize>,
    sorted: usize,
    room: usize,
) -> Vec<(usize, usize)> {
    for (place, column) in columns.iter().enumerate().skip(1) {
        if column.unit == ColumnUnit::Text {
            widths[place] = widths[place].min(TEXT);
        }
    }
    let name = widths[0].min(NAME);
    let needed = |chosen: &[usize]| -> usize {
        name + chosen.iter().map(|place| widths[*place] + GAP).sum::<usize>()
    };
    let mut chosen: Vec<usize> = (1..columns.len()).collect();
    // The last ones go first, but not the one that was asked for.
    while needed(&chosen) > room {
        let Some(last) = chosen.iter().rposition(|place| *place != sorted) else { break };
        chosen.remove(last);
    }
    let left = room.saturating_sub(needed(&chosen));
    let mut all = vec![(0, widths[0].min(name + left))];
    all.extend(chosen.into_iter().map(|place| (place, widths[place])));
    all
}

#[cfg(test)]
mod tests {
    use live::ColumnGrowth;

    use super::*;

    #[test]
    fn the_selected_row_is_seen() {
        assert_eq!(seen(3, 0, 10), 0..3);
        assert_eq!(seen(30, 9, 10), 0..10);
        assert_eq!(seen(30, 10, 10), 1..11);
        assert_eq!(seen(30, 29, 10), 20..30);
        assert_eq!((seen(0, 0, 10), seen(5, 2, 0)), (0..0, 3..3));
    }

    #[test]
    fn the_name_and_the_sorted_column_are_always_shown() {
        let column = |key| Column::new(key, key, ColumnUnit::Count, ColumnGrowth::Now);
        let columns = ["name", "a", "b", "c"].map(column);
        let places = |room, sorted| {
            let shown = shown(&columns, vec![30, 10, 10, 10], sorted, room);
            shown.into_iter().map(|(place, _)| place).collect::<Vec<_>>()
        };
        assert_eq!(places(80, 1), [0, 1, 2, 3]);
        assert_eq!(places(40, 1), [0, 1, 2]);
        assert_eq!(places(40, 3), [0, 1, 3]);
        assert_eq!(places(28, 3), [0, 3]);
        let wide = shown(&columns, vec![30, 10, 10, 10], 1, 60);
        assert_eq!(wide[0], (0, 24));
    }
}
