//! Lines: every part of a page stays in its line.

use script::template::{Escape, lower};

use super::body;

#[test]
fn code_keeps_its_lines() {
    assert_eq!(
        body("a\nb\n<% f()\n\ng() %>\n<%= x %>\n"),
        "__output:put(\"a\\nb\\n\"); \n\nf()\n\ng() __output:put(\"\\n\",\n__escaped(x),\"\\n\");"
    );
    assert_eq!(body("<% f() -%>\n<% g() -%>\r\n<% h() %>"), "f() \ng() \nh()");
    assert_eq!(
        body("<%# a\nb\n%><%= c\n%><%= d %>"),
        "\n\n__output:put(__escaped(c),\n__escaped(d));"
    );
    assert_eq!(body("<%= a,\n\n b %>"), "__output:put(__escaped(a),\n\n__escaped(b));");
    assert_eq!(
        body("a\r\n<%= f() %>"),
        "__output:put(\"a\\013\\n\"); \n__output:put(__escaped(f()));"
    );
}

#[test]
fn the_last_line_is_the_last_line() {
    for page in ["", "\n", "a\n\n", "<% f()\n%>", "<%\n\n%>\n", "<%#\n%>", "<% f() -- c\n\n%>\r\n"]
    {
        let lua = lower(page.as_bytes(), Escape::Markup).unwrap().lua;
        assert_eq!(lua.matches('\n').count(), page.matches('\n').count(), "{page:?}");
        assert!(lua.ends_with("end"));
    }
}
