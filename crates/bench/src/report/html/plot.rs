//! A plot: axes, lines and a legend, as SVG.
//!
//! Owns sizes and positions in the view box. Does not know what the lines mean.

use super::page::HtmlPage;
use super::scale::Axis;

/// Width and height of the view box.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 320.0;

/// Distances of the axes from the edges of the view box, for labels.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 22.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 48.0;

/// From an axis to its labels.
const LABEL_GAP: f64 = 8.0;

/// The subject of a line, which determines its colour and dashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hue {
    First,
    Second,
    Third,
    Fourth,
    Fifth,
    Sixth,
    Seventh,
    Good,
    Bad,
}

impl Hue {
    fn class(self) -> &'static str {
        match self {
            Hue::First => "first",
            Hue::Second => "second",
            Hue::Third => "third",
            Hue::Fourth => "fourth",
            Hue::Fifth => "fifth",
            Hue::Sixth => "sixth",
            Hue::Seventh => "seventh",
            Hue::Good => "good",
            Hue::Bad => "bad",
        }
    }
}

/// How prominent a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// One run of several.
    Thin,
    /// The median, or the only run.
    Bold,
    /// No measurement: a reference line.
    Border,
}

impl Weight {
    fn class(self) -> &'static str {
        match self {
            Weight::Thin => "thin",
            Weight::Bold => "bold",
            Weight::Border => "border",
        }
    }
}

/// The shape of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Disc,
    Ring,
}

/// A point with a tooltip. Plain data.
#[derive(Debug, Clone)]
pub(crate) struct Dot {
    pub(crate) point: (f64, f64),
    pub(crate) text: String,
    pub(crate) shape: Shape,
}

/// A curve, and some points of it. Plain data.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) hue: Hue,
    pub(crate) weight: Weight,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) dots: Vec<Dot>,
}

/// A figure. Plain data, which each page with curves builds.
#[derive(Debug, Clone)]
pub(crate) struct Plot {
    /// Its content, for screen readers.
    pub(crate) description: String,
    pub(crate) across: Axis,
    pub(crate) up: Axis,
    /// In drawing order.
    pub(crate) lines: Vec<Line>,
    /// The meanings of the lines.
    pub(crate) legend: Vec<(Hue, Weight, String)>,
    /// The text below the plot.
    pub(crate) caption: String,
}

impl Plot {
    /// Draws it as a figure.
    pub(super) fn draw(&self, page: &mut HtmlPage) {
        page.element("figure", &[], |page| {
            self.draw_legend(page);
            let view_box = format!("0 0 {WIDTH} {HEIGHT}");
            let attributes: [super::page::Attribute<'_>; 4] = [
                ("xmlns", &"http://www.w3.org/2000/svg"),
                ("viewBox", &view_box),
                ("role", &"img"),
                ("aria-label", &self.description),
            ];
            // On a narrow screen the plot scrolls in its frame, so that its text stays readable.
            page.element("div", &[], |page| {
                page.element("svg", &attributes, |page| {
                    self.draw_across(page);
                    self.draw_up(page);
                    self.lines.iter().for_each(|line| self.draw_line(page, line));
                });
            });
            page.leaf("figcaption", &[], &self.caption);
        });
    }

    fn draw_legend(&self, page: &mut HtmlPage) {
        page.element("p", &[("class", &"legend")], |page| {
            for (hue, weight, name) in &self.legend {
                page.element("span", &[], |page| {
                    let size: [super::page::Attribute<'_>; 4] = [
                        ("class", &"sample"),
                        ("viewBox", &"0 0 30 8"),
                        ("width", &"30"),
                        ("height", &"8"),
                    ];
                    page.element("svg", &size, |page| {
                        let class = format!("line {} {}", weight.class(), hue.class());
                        page.empty("path", &[("class", &class), ("d", &"M1 4H29")]);
                    });
                    page.text(name);
                });
            }
        });
    }

    fn draw_across(&self, page: &mut HtmlPage) {
        let floor = HEIGHT - BOTTOM;
        for mark in self.across.marks() {
            let x = self.x(mark.value);
            let path = format!("M{x:.1} {TOP:.1}V{floor:.1}");
            page.empty("path", &[("class", &"grid"), ("d", &path)]);
            let y = floor + LABEL_GAP + 10.0;
            label(page, "mark middle", x, y, &mark.label);
        }
        label(page, "axis middle", LEFT.midpoint(WIDTH - RIGHT), HEIGHT - 8.0, self.across.name());
    }

    fn draw_up(&self, page: &mut HtmlPage) {
        for mark in self.up.marks() {
            let y = self.y(mark.value);
            let path = format!("M{LEFT:.1} {y:.1}H{:.1}", WIDTH - RIGHT);
            page.empty("path", &[("class", &"grid"), ("d", &path)]);
            label(page, "mark end", LEFT - LABEL_GAP, y + 4.0, &mark.label);
        }
        label(page, "axis", LABEL_GAP, 12.0, self.up.name());
    }

    fn draw_line(&self, page: &mut HtmlPage, line: &Line) {
        let class = format!("line {} {}", line.weight.class(), line.hue.class());
        let points: Vec<String> = line
            .points
            .iter()
            .map(|point| format!("{:.1},{:.1}", self.x(point.0), self.y(point.1)))
            .collect();
        page.empty("polyline", &[("class", &class), ("points", &points.join(" "))]);
        for dot in &line.dots {
            let (x, y) = (self.x(dot.point.0), self.y(dot.point.1));
            let (x, y) = (format!("{x:.1}"), format!("{y:.1}"));
            let shape = match dot.shape {
                Shape::Disc => "dot",
                Shape::Ring => "dot ring",
            };
            let class = format!("{shape} {}", line.hue.class());
            let place: [super::page::Attribute<'_>; 4] =
                [("class", &class), ("cx", &x), ("cy", &y), ("r", &"3.5")];
            page.element("circle", &place, |page| page.leaf("title", &[], &dot.text));
        }
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.across.place(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.up.place(value) * (HEIGHT - TOP - BOTTOM)
    }
}

fn label(page: &mut HtmlPage, class: &'static str, x: f64, y: f64, text: &str) {
    let (x, y) = (format!("{x:.1}"), format!("{y:.1}"));
    page.leaf("text", &[("class", &class), ("x", &x), ("y", &y)], text);
}
