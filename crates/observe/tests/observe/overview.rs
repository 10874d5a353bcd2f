//! The first screen, and that every screen fits every terminal.

use observe::{Colours, Key};
use ratatui::style::Color;

use crate::samples;
use crate::stage::Stage;

#[test]
fn the_overview_fits_the_smallest_usual_terminal() {
    let text = Stage::usual().text();
    println!("{text}");
    let expected = "\
";
    assert_eq!(text, expected, "\n{text}");
}
