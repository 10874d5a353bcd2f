//! Pages as text with tags, compiled to Lua text that prints them.
//!
//! Owns the grammar of tags. Never runs anything: of Lua it knows tokens, blocks and brackets, and
//! leaves the rest to Lua's compiler, whose lines are the lines of the page.
//!
//! | tag | meaning |
//! | --- | --- |
//! | `<% code %>` | runs; prints nothing by itself |
//! | `<%= value %>` | prints the value, escaped for the kind of page; `<%= a, b %>` prints both |
//! | `<%- value %>` | prints the value unescaped |
//! | `<%# comment %>` | nothing |
//! | `<%%` | the text `<%` |
//! | `%%>` within a tag | the characters `%>` |
//! | `-%>` | ends any tag, and removes the newline that follows directly |
//!
//! - Text outside of tags is printed unchanged, byte by byte, including line ends and white space,
//!   except for a byte order mark at the start.
//! - A tag ends at the first `%>`, even in a string or comment: write `%%>` there. `<%%>` is the
//!   text `<%` with a `>` after it; a tag without code is `<% %>`.
//! - The code of all tags is one Lua function, as if written in one piece with the text printed in
//!   between. A block may begin in one tag and end in another; strings, comments and values may not,
//!   and text is not allowed inside open brackets.
//! - `return` and `break` may be at the end of any tag, even if text follows.
//! - The names `__output`, `__escaped` and `__raw` are reserved.

mod code;
mod error;
mod escape;
mod lower;
mod named;
mod near;
mod nesting;
mod place;
mod split;
mod token;
mod write;

pub use error::{TemplateError, TemplateProblem};
pub use escape::Escape;
pub use lower::{Lowered, lower};
pub use named::{NamedCall, named};
pub use near::near_name;
