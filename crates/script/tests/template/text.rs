//! Text, tags and their ends.

use script::limits::{LITERAL_BYTES_MAX, PAGE_BYTES_MAX, SOURCE_SIZE};
use script::template::{Escape, TemplateProblem, lower};

use super::{body, printed};

#[test]
fn text_comes_out_unchanged() {
    for text in [
        "",
        " ",
        "\n",
        "\r\n\r\n",
        "\r",
        "\n\r",
        "plain",
        "\"quoted\" 'single' \\n \\\\ \\",
        "]] ]==] --[[ -- %> < % <",
        "\0\x01\x1a\x1b\t\x0b\x7f\u{80}\u{2028}é€🚴",
        "\x01123",
        "if x then end return",
    ] {
        assert_eq!(printed(text), text, "{text:?}");
    }
}

#[test]
fn values_stand_in_the_text() {
    assert_eq!(printed("<p><%= name %> and <%- other %></p>"), "<p>{name} and [other]</p>");
    assert_eq!(printed("<%=a%><%-b%>"), "{a}[b]");
    assert_eq!(printed("<%= a, b,c %>.<%- d, e %>"), "{a}{b}{c}.[d][e]");
}

#[test]
fn plain_pages_escape_nothing() {
    let lua = lower(b"<%= a %>", Escape::Plain).unwrap().lua;
    assert!(lua.contains("__output:put(__raw(a));"), "{lua}");
    let lua = lower(b"<%= a %>", Escape::Markup).unwrap().lua;
    assert!(lua.contains("__output:put(__escaped(a));"), "{lua}");
}

#[test]
fn literal_tags_and_comments() {
    assert_eq!(printed("<%% x %>"), "<% x %>");
    assert_eq!(printed("a<%%>b"), "a<%>b");
    assert_eq!(printed("a<%# c ' [[ ( \0 \r %>b"), "ab");
    assert_eq!(printed("a<%# <% %>b"), "ab");
    assert_eq!(body("<% x = '%%>' %>"), "x = '%>'");
    assert_eq!(body("<%= [[%%>%%>]] %>"), "__output:put(__escaped([[%>%>]]));");
    assert_eq!(body("<% x = 5 %% 3 %>"), "x = 5 %% 3");
}

#[test]
fn tags_without_code_do_nothing() {
    assert_eq!(printed("<% %>a<%  \n %>b<% -- nothing %>"), "ab");
    assert_eq!(body("<% %><%#%><%\r\n%>"), "");
    assert_eq!(body("<% --[[ long ]] %>"), "");
}

#[test]
fn a_trimming_end_takes_the_line_end_after_it() {
    assert_eq!(printed("<% f() -%>\na"), "a");
    assert_eq!(printed("<% f() -%>\r\n\na"), "\na");
    assert_eq!(printed("<%= a -%>\nb"), "{a}b");
    assert_eq!(printed("<%# c -%>\nb"), "b");
    assert_eq!(printed("<% f() -%> \na"), " \na");
    assert_eq!(printed("<% f() %>\na"), "\na");
}

#[test]
fn a_byte_order_mark_at_the_start_is_dropped() {
    assert_eq!(printed("\u{FEFF}a\u{FEFF}"), "a\u{FEFF}");
    assert_eq!(printed("\u{FEFF}<%= a %>"), "{a}");
}

#[test]
fn long_text_is_divided_among_literals() {
    let short = "x".repeat(LITERAL_BYTES_MAX);
    assert_eq!(body(&short), format!("__output:put(\"{short}\");"));
    let text = format!("{short}é\n{}", "yz".repeat(40 * LITERAL_BYTES_MAX / 3));
    assert!(body(&text).starts_with(&format!("__output:put(\"{short}\",\"é\\n")));
    assert_eq!(printed(&text), text);
}

#[test]
fn many_values_are_divided_among_calls() {
    let page = "<%= a %>-".repeat(1_000);
    assert_eq!(printed(&page), "{a}-".repeat(1_000));
    assert_eq!(body(&"<%= a %>".repeat(32)).matches(":put(").count(), 1);
    assert_eq!(body(&"<%= a %>".repeat(33)).matches(":put(").count(), 2);
}

#[test]
fn the_size_of_a_page_is_bounded() {
    let page = "é".repeat(PAGE_BYTES_MAX / 2);
    assert!(lower(page.as_bytes(), Escape::Markup).is_ok());
    let error = lower(format!("{page}\n").as_bytes(), Escape::Markup).unwrap_err();
    assert_eq!(error.what, TemplateProblem::PageTooLong);
    assert_eq!(error.column, u32::try_from(PAGE_BYTES_MAX / 2 + 1).unwrap());
    // The translation of the largest page fits, even if each byte becomes four.
    for byte in ["\u{1}", "\n", "\"", "<%%"] {
        let page = byte.repeat(PAGE_BYTES_MAX / byte.len());
        let lua = lower(page.as_bytes(), Escape::Markup).unwrap().lua;
        assert!(lua.len() <= SOURCE_SIZE, "{byte:?}: {} bytes", lua.len());
    }
}

#[test]
fn pages_that_are_not_text_are_refused_at_their_first_bad_byte() {
    let error = lower(b"ab\n\xc3\xa9 \xff<% %>", Escape::Markup).unwrap_err();
    assert_eq!((error.line, error.column, error.what), (2, 3, TemplateProblem::NotUtf8));
}
