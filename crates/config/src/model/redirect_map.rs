//! Redirects from a file: `map = "redirects.csv"`, with the paths of one site's past, one in a row.
//!
//! Owns the form of a row, its checks, and the lookup, which takes the same time for any number of rows. Never reads
//! the file: [`Outside`](crate::Outside) does, when the configuration is read.

use std::path::PathBuf;
use std::sync::Arc;

use ahash::HashMap;
use wire::http::target::resolve;

use crate::limits::{MAP_PROBLEMS_MAX, MAP_ROWS_MAX};
use crate::problem::TextPosition;
use crate::request_path;
use crate::separated::{Row, rows};
use crate::target::TargetTemplate;
use crate::wording::shown;

/// The `map` of a route.
#[derive(Debug, Clone, PartialEq)]
pub struct MapRule {
    /// The file.
    pub file: PathBuf,
    /// Where the route names it.
    pub place: TextPosition,
    /// Its rows; empty until the file was read.
    pub rows: Arc<RedirectMap>,
}

/// Where each path leads.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RedirectMap {
    /// By path, or by path, `?` and query.
    rows: HashMap<Box<str>, MapRow>,
    /// Whether any row has a query.
    queries: Queries,
}

/// Whether rows name queries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Queries {
    #[default]
    None,
    Some,
}

/// One redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapRow {
    /// The value of Location: visible ASCII.
    pub to: Box<str>,
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
}

/// 302, as for `redirect`: caches do not keep it, so a mistake can be fixed.
const STATUS: u16 = 302;

impl RedirectMap {
    /// The row for a path, first with its query; both as requested, the path decoded.
    pub fn find(&self, path: &str, query: Option<&str>) -> Option<&MapRow> {
        if let (Queries::Some, Some(query)) = (self.queries, query)
            && let Some(row) = self.rows.get(format!("{path}?{query}").as_str())
        {
            return Some(row);
        }
        self.rows.get(path)
    }

    /// Reads the text of the file.
    ///
    /// # Errors
    /// Each mistake in the file, with its line.
    pub(crate) fn parse(text: &str) -> Result<Self, Vec<String>> {
        let mut map = Self::default();
        let mut problems = Vec::new();
        for row in rows(text) {
            let told = match row {
                Ok(row) if is_heading(&row) => Ok(()),
                Ok(row) => {
                    let line = row.line;
                    map.add(&row).map_err(|why| format!("line {line}: {why}"))
                }
                Err(line) => Err(format!("line {line}: the quotes of this row do not match")),
            };
            problems.extend(told.err());
            if problems.len() == MAP_PROBLEMS_MAX {
                problems.push("and perhaps more".to_owned());
                break;
            }
        }
        if problems.is_empty() { Ok(map) } else { Err(problems) }
    }

    fn add(&mut self, row: &Row<'_>) -> Result<(), String> {
        let (from, to, status) = match row.fields.as_slice() {
            [from, to] => (from, to, STATUS),
            [from, to, status] => (from, to, read_status(status)?),
            _ => return Err("write `from,to` or `from,to,status`".to_owned()),
        };
        let key = key(from).map_err(|why| format!("`{}`: {why}", shown(from)))?;
        // There are no variables in a row.
        let target = TargetTemplate::redirect(&to.replace('$', "$$"), 0);
        let target = target.map_err(|why| format!("`{}`: {why}", shown(to)))?;
        let to = target.constant().unwrap_or_default();
        if to == &**from || to == key {
            return Err(format!("`{}` leads to itself", shown(from)));
        }
        if self.rows.len() == MAP_ROWS_MAX {
            return Err(format!("there are more than {MAP_ROWS_MAX} rows"));
        }
        if key.contains('?') {
            self.queries = Queries::Some;
        }
        let row = MapRow { to: to.into(), status };
        match self.rows.insert(key.into(), row) {
            None => Ok(()),
            Some(_) => Err(format!("`{}` is there twice", shown(from))),
        }
    }
}

/// The first line may name the columns.
fn is_heading(row: &Row<'_>) -> bool {
    row.line == 1 && row.fields.first().is_some_and(|first| first.eq_ignore_ascii_case("from"))
}

fn read_status(text: &str) -> Result<u16, String> {
    text.parse()
        .ok()
        .filter(|status| matches!(status, 301 | 302 | 303 | 307 | 308))
        .ok_or_else(|| format!("the status `{}` is not 301, 302, 303, 307 or 308", shown(text)))
}

/// A path as requests are compared with it. It may be written with escapes, as a browser shows it.
fn key(from: &str) -> Result<String, String> {
    let (path, query) = match from.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (from, None),
    };
    let mut scratch = Vec::new();
    let decoded = if path.contains('%') {
        resolve(path.as_bytes(), &mut scratch).map_err(|error| format!("the {error}"))?
    } else {
        path
    };
    request_path::check(decoded).map_err(str::to_owned)?;
    let Some(query) = query else { return Ok(decoded.to_owned()) };
    if query.is_empty() || !query.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("write the query as clients send it, with escapes".to_owned());
    }
    Ok(format!("{decoded}?{query}"))
}
