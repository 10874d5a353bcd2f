//! Pages that are refused: at which place, and with which message.

use script::limits::NESTING_MAX;
use script::template::{Escape, TemplateProblem, lower};

use super::{body, refused};

#[test]
fn tags_have_to_end() {
    assert_eq!(refused("a\n  <% f()"), (2, 3, TemplateProblem::UnclosedTag));
    assert_eq!(refused("<% if a then\n <p> <%= b %>"), (2, 6, TemplateProblem::TagWithinCode));
    assert_eq!(body("<% x = '<%' %>"), "x = '<%'");
}

#[test]
fn value_tags_need_values() {
    assert_eq!(refused("<%=%>"), (1, 1, TemplateProblem::EmptyValue));
    assert_eq!(refused("a<%- %>"), (1, 2, TemplateProblem::EmptyValue));
    assert_eq!(refused("<%= -- comment %>"), (1, 1, TemplateProblem::EmptyValue));
    assert_eq!(refused("<%= a,, b %>"), (1, 6, TemplateProblem::EmptyValue));
    assert_eq!(refused("<%= a, %>"), (1, 6, TemplateProblem::EmptyValue));
    assert_eq!(refused("<%= , a %>"), (1, 1, TemplateProblem::EmptyValue));
    assert_eq!(refused("<%= a + %>"), (1, 7, TemplateProblem::UnfinishedCode));
    assert_eq!(refused("<%= a .. -- b %>"), (1, 7, TemplateProblem::UnfinishedCode));
    assert_eq!(refused("a <%= return 1 %>"), (1, 7, TemplateProblem::StatementAsValue));
    assert_eq!(refused("<%- a, break %>"), (1, 8, TemplateProblem::StatementAsValue));
    assert!(lower(b"<%= f(function() return 1 end) %>", Escape::Markup).is_ok());
}

#[test]
fn strings_and_comments_have_to_end_in_their_tag() {
    assert_eq!(refused("<% x = 'a%>' %>"), (1, 8, TemplateProblem::UnfinishedString));
    assert_eq!(refused("<% x = 'a\n' %>"), (1, 8, TemplateProblem::UnfinishedString));
    assert_eq!(refused("<% x = \"a\r\n\" %>"), (1, 8, TemplateProblem::UnfinishedString));
    assert_eq!(refused("<% x = 'a\\%>"), (1, 8, TemplateProblem::UnfinishedString));
    assert_eq!(refused("<% x = [=[ ]] %>"), (1, 8, TemplateProblem::UnfinishedLongBracket));
    assert_eq!(refused("<% --[[ %>text<% ]] %>"), (1, 4, TemplateProblem::UnfinishedLongBracket));
}

#[test]
fn control_bytes_are_for_text_only() {
    assert_eq!(refused("\0\r<% x = '\0' %>"), (1, 11, TemplateProblem::ControlByte));
    assert_eq!(refused("<% a()\rb() %>"), (1, 7, TemplateProblem::ControlByte));
    assert_eq!(refused("<% a()\r%>"), (1, 7, TemplateProblem::ControlByte));
}

#[test]
fn reserved_names_of_template_cannot_be_assigned() {
    assert_eq!(refused("<% local __output = 1 %>"), (1, 10, TemplateProblem::ReservedName));
    assert_eq!(refused("<%= __raw %>"), (1, 5, TemplateProblem::ReservedName));
    assert_eq!(body("<% __outputs = '__raw' %>"), "__outputs = '__raw'");
}

#[test]
fn blocks_and_brackets_are_balanced() {
    let nothing = |closer| TemplateProblem::NothingToClose { closer };
    let never = |opener| TemplateProblem::NeverClosed { opener };
    assert_eq!(refused("a\n<% end %>"), (2, 4, nothing("end")));
    assert_eq!(refused("<% end return function() %>"), (1, 4, nothing("end")));
    assert_eq!(refused("<% f()) %>"), (1, 7, nothing(")")));
    assert_eq!(refused("<% else %>"), (1, 4, nothing("else")));
    assert_eq!(refused("<%\nif a then %>b"), (2, 1, never("if")));
    assert_eq!(refused("<% for a in b do -- end %>"), (1, 15, never("do")));
    assert_eq!(refused("<% f( %>"), (1, 5, never("(")));
    assert_eq!(
        refused("<% f(\n end %>"),
        (2, 2, TemplateProblem::Mismatched { closer: "end", opener: "(", opened_on: 1 })
    );
    assert_eq!(
        refused("<% if a then\nuntil b %>"),
        (2, 1, TemplateProblem::Mismatched { closer: "until", opener: "if", opened_on: 1 })
    );
    assert_eq!(
        refused("<% while a do\n elseif b then end %>"),
        (2, 2, TemplateProblem::Mismatched { closer: "elseif", opener: "do", opened_on: 1 })
    );
    assert_eq!(
        refused("<% f(return) %>"),
        (1, 12, TemplateProblem::Mismatched { closer: ")", opener: "return", opened_on: 1 })
    );
}

#[test]
fn a_value_is_balanced_by_itself() {
    let nothing = |closer| TemplateProblem::NothingToClose { closer };
    assert_eq!(refused("<%= a) .. (b %>"), (1, 6, nothing(")")));
    assert_eq!(refused("<% if a then %><%= b end %>"), (1, 22, nothing("end")));
    assert_eq!(
        refused("<%= f(function() %>x<% end) %>"),
        (1, 6, TemplateProblem::NeverClosed { opener: "(" })
    );
}

#[test]
fn printing_stands_between_statements() {
    let within = |opener| TemplateProblem::PrintedWithin { opener, opened_on: 1 };
    assert_eq!(refused("<% f(a, %>x<% b) %>"), (1, 11, within("(")));
    assert_eq!(refused("<% t = { %>\n<% } %>"), (1, 12, within("{")));
    assert_eq!(refused("<% t[ %><%= a %><% ] %>"), (1, 9, within("[")));
    assert_eq!(refused("<% f(function() g( %>x"), (1, 22, within("(")));
    for (code, column) in [
        ("x =", 6),
        ("x = a +", 10),
        ("x = a ..", 10),
        ("x = not", 8),
        ("f, ", 5),
        ("x = a ??", 10),
        ("x = a?.", 9),
    ] {
        let expected = (1, column, TemplateProblem::UnfinishedCode);
        assert_eq!(refused(&format!("<% {code} -- c %>x<% 5 %>")), expected, "{code}");
        assert_eq!(refused(&format!("<% {code} %><%= x %>")), expected, "{code}");
    }
    for code in [
        "while",
        "for a in",
        "if",
        "repeat until",
        "if a then elseif",
        "x = !",
        "x = a ?",
        "x = a &&",
    ] {
        assert_eq!(refused(&format!("<% {code} %>x")).2, TemplateProblem::UnfinishedCode, "{code}");
    }
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("<% x = {}{} %>", "(".repeat(depth), ")".repeat(depth));
    assert!(lower(nested(NESTING_MAX).as_bytes(), Escape::Markup).is_ok());
    let column = u32::try_from(8 + NESTING_MAX).unwrap();
    assert_eq!(refused(&nested(NESTING_MAX + 1)), (1, column, TemplateProblem::NestedTooDeep));
}

#[test]
fn an_error_is_one_line_with_place_and_mend() {
    let text = |source: &str| lower(source.as_bytes(), Escape::Markup).unwrap_err().to_string();
    assert_eq!(text("a\n<% b"), "2:1: the tag is not closed: add `%>`");
    assert_eq!(text("<% repeat %>"), "1:4: `repeat` is never closed: add `until`");
    assert_eq!(text("<% if %>"), "1:4: `if` is never closed: add `end`");
    assert_eq!(
        text("<% f(\n end %>"),
        "2:2: `end` does not close the `(` of line 1: close that first"
    );
}
