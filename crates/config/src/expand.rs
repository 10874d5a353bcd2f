//! `${NAME}` and `${file:PATH}` in texts of the configuration.
//!
//! Owns their syntax: `$${` stands for a plain `${`, and what is put in is not looked at again. Never decides where a
//! text is used.

use std::borrow::Cow;
use std::path::Path;

use crate::limits::SECRET_SIZE_MAX;
use crate::outside::Outside;
use crate::secret::Secret;
use crate::wording::shown;

/// A text whose variables were put in. Plain data.
pub(super) struct Expanded {
    pub(crate) text: String,
    pub(crate) secrets: Vec<Secret>,
}

/// The text with its variables put in; `None` if it has none. Files are relative to `base`.
pub(super) fn expand(
    text: &str,
    base: &Path,
    outside: &dyn Outside,
) -> Result<Option<Expanded>, String> {
    if !text.contains("${") {
        return Ok(None);
    }
    let mut out = Expanded { text: String::with_capacity(text.len()), secrets: Vec::new() };
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            out.text.push_str(before);
            out.text.push_str("${");
            rest = after;
            continue;
        }
        out.text.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            return Err("`${` without a `}`; write `$${` for a plain `${`".to_owned());
        };
        out.text.push_str(&value(name, base, outside, &mut out.secrets)?);
        rest = after;
    }
    out.text.push_str(rest);
    Ok(Some(out))
}

fn value(
    name: &str,
    base: &Path,
    outside: &dyn Outside,
    secrets: &mut Vec<Secret>,
) -> Result<Cow<'static, str>, String> {
    if let Some(path) = name.strip_prefix("file:") {
        if path.is_empty() || path.contains('\0') {
            return Err("write the path of a file behind `file:`".to_owned());
        }
        let path = base.join(path);
        let text = outside.text(&path, SECRET_SIZE_MAX);
        let text = text.map_err(|why| format!("the file `{}`: {why}", path.display()))?;
        // Editors end a file with a line break, which is no part of the secret.
        let text =
            text.strip_suffix('\n').map_or(&*text, |text| text.strip_suffix('\r').unwrap_or(text));
        secrets.push(Secret { file: path, text: text.to_owned() });
        return Ok(Cow::Owned(text.to_owned()));
    }
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let begins = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    if !begins || !name.bytes().all(is_name) {
        let name = shown(name);
        return Err(format!("`${{{name}}}` is no variable; write `$${{` for a plain `${{`"));
    }
    outside.variable(name).map(Cow::Owned).ok_or_else(|| {
        format!("the variable `{name}` is not set; set it, or write `$${{` for a plain `${{`")
    })
}
