//! Pages as text with tags, lowered to Lua text that prints them.
//!
//! Owns the grammar of tags. Never runs anything: it knows of Lua what tokens, blocks and brackets are, and
//! leaves the rest to Lua's compiler, whose lines are the lines of the page.
//!
//! | tag | meaning |
//! | --- | --- |
//! | `<% code %>` | runs; prints nothing by itself |
//! | `<%= value %>` | prints the value, escaped as the kind of page asks; `<%= a, b %>` prints both |
//! | `<%- value %>` | prints the value as it is |
//! | `<%# comment %>` | nothing |
//! | `<%%` | the text `<%` |
//! | `%%>` within a tag | the characters `%>` |
//! | `-%>` | ends any tag, and takes away the newline that follows at once |
//!
//! - Text outside of tags comes out unchanged, byte by byte, also line ends and white space. A byte order
//!   mark at the start is no part of it.
//! - A tag ends at the first `%>`, whatever that stands in: a string or comment with `%>` in it writes
//!   `%%>`. `<%%>` is the text `<%` with a `>` after it; a tag without code is `<% %>`.
//! - The code of all tags is one Lua function, as if written in one piece with the text printed in between;
//!   a block may begin in one tag and end in another. A string, a comment and a value may not; nor can
//!   text stand within brackets that are open.
//! - `return` and `break` may stand at the end of any tag, though text follows.
//! - The names `__output`, `__escaped` and `__raw` are taken.

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

pub use error::{Problem, TemplateError};
pub use escape::Escape;
pub use lower::{Lowered, lower};
pub use named::{Named, named};
pub use near::near_name;
