//! Code: what is copied, what is changed, and in which order values are printed.

use super::body;

#[test]
fn blocks_reach_over_tags() {
    assert_eq!(
        body("<% for i = 1, 3 do %><li><%= i %></li><% end %>"),
        "for i = 1, 3 do __output:put(\"<li>\",__escaped(i),\"</li>\"); end"
    );
    assert_eq!(
        body("<% block('main', function() %>text<% end) %>"),
        "block('main', function() __output:put(\"text\"); end)"
    );
    assert_eq!(
        body(
            "<% repeat %>a<% until f() %><% if a then %>b<% elseif c then %>d<% else %>e<% end %>"
        ),
        "repeat __output:put(\"a\"); until f() if a then __output:put(\"b\"); elseif c then \
         __output:put(\"d\"); else __output:put(\"e\"); end"
    );
}

#[test]
fn adjacent_code_is_read_as_one_piece() {
    assert_eq!(body("<%a%><%= 5%>"), "a __output:put(__escaped(5));");
    assert_eq!(body("<% x = %><% 5 %>"), "x = 5");
    assert_eq!(body("<% t = { %><%# fields %><% 1 } %>"), "t = { 1 }");
}

#[test]
fn comments_cannot_hide_what_follows() {
    assert_eq!(body("<% a() -- b %>c"), "a() __output:put(\"c\");");
    assert_eq!(body("<%= a -- b %>c"), "__output:put(__escaped(a),\"c\");");
    assert_eq!(body("<%= f() -- b) %>"), "__output:put(__escaped(f()));");
    assert_eq!(body("<%= -- b\n a %>"), "\n__output:put(__escaped(a));");
    assert_eq!(body("<% a() -- b\nc() %>"), "a()  \nc()");
    assert_eq!(body("<% a()--[[ b\r\n ]]c() %>"), "a() \nc()");
    assert_eq!(body("<% a() --[==[ ]] ]=] ]==] b() %>"), "a()   b()");
    assert_eq!(body("<% a() --[=b %>"), "a()");
    assert_eq!(body("<%= a, -- b\n c -- d %>"), "__output:put(__escaped(a),\n__escaped(c));");
}

#[test]
fn comment_marker_in_string_is_text() {
    for code in [
        r#"x = "--""#,
        r#"x = '\'--'"#,
        r#"x = "\\" .. '--' "#,
        r"x = [[ -- ' ]] .. [=[ ]] -- ]=]",
        r#"x = a[b[1]] .. "--""#,
        "x = '\\\n--'",
        "x = '\\z \n --'",
        "x = '\\z\n\n--' .. [[\n--\n]]",
        "x = 0xE-1 + 1e-3 - -1 .. 3",
        "x = \"ä\\ä--\"",
    ] {
        assert_eq!(body(&format!("<% {code} %>")), code.trim_end(), "{code}");
    }
    assert_eq!(body("<% x = 1e--2\n %>"), "x = 1e--2");
    assert_eq!(body("<% x = 0xe--2\n %>"), "x = 0xe");
}

#[test]
fn line_ends_in_code_become_line_feeds() {
    assert_eq!(
        body("<% a()\r\nb()\r\n\r\nc = [[\r\n]] .. '\\\r\n' %>"),
        "a()\nb()\n\nc = [[\n]] .. '\\\n'"
    );
}

#[test]
fn return_and_break_may_stand_before_text() {
    let text = "__output:put(\"x\");";
    assert_eq!(body("<% return %>x"), format!("do return end {text}"));
    assert_eq!(body("<% return; %>x"), format!("do return; end {text}"));
    assert_eq!(body("<% return f(1) -- c %>x"), format!("do return f(1) end {text}"));
    assert_eq!(body("<% if a then return end %>x"), format!("if a then do return end end {text}"));
    assert_eq!(
        body("<% if a then return 1 elseif b then return 2 else return 3 end %>"),
        "if a then do return 1 end elseif b then do return 2 end else do return 3 end end"
    );
    assert_eq!(
        body("<% repeat return until a %>x"),
        format!("repeat do return end until a {text}")
    );
    assert_eq!(
        body("<% while a do break %>x<% end %>"),
        format!("while a do do break end {text} end")
    );
    assert_eq!(
        body("<% return f(function() return 1 end) %>x"),
        format!("do return f(function() do return 1 end end) end {text}")
    );
    assert_eq!(
        body("<% return f(function() %>x<% end) %>x"),
        format!("do return f(function() {text} end) end {text}")
    );
    assert_eq!(body("<% goto a %>x<% ::a:: %>x"), format!("goto a {text} ::a:: {text}"));
    assert_eq!(body("<% returned = breaks.x %>"), "returned = breaks.x");
}

#[test]
fn values_that_call_come_first_in_their_call() {
    // The call's own output must come after `a` and before `b`.
    for value in [
        "f()", "f'x'", "f[[x]]", "f{}", "o:m()", "(f)()", "t[1]()", "f()()", "1 + f(2)", "f?.(x)",
        "o:m?.(x)", "a?.b(x)", "f?.'x'",
    ] {
        assert_eq!(
            body(&format!("a<%= {value} %>b<%= {value}, {value} %>")),
            format!(
                "__output:put(\"a\"); __output:put(__escaped({value}),\"b\"); \
                 __output:put(__escaped({value})); __output:put(__escaped({value}));"
            )
        );
    }
    for value in [
        "a",
        "a.b[c].d",
        "(a or 'x') .. \"y\"",
        "-a + #b",
        "not (a)",
        "{ 1, (2) }",
        "function() end",
        "a?.b ?? (b)",
        "a ??.5",
        "a ? (b) : c",
    ] {
        assert_eq!(
            body(&format!("a<%= {value} %>b")),
            format!("__output:put(\"a\",__escaped({value}),\"b\");")
        );
    }
}

#[test]
fn values_are_divided_at_their_own_commas_only() {
    assert_eq!(
        body("<%= a[{1, 2}], (b), function(c, d) return c, d end %>"),
        "__output:put(__escaped(a[{1, 2}]),__escaped((b)),\
         __escaped(function(c, d) do return c, d end end));"
    );
    assert_eq!(body("<%= f(a, b) %>"), "__output:put(__escaped(f(a, b)));");
}
