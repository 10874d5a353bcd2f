//! Header fields with several values, and names in different spellings.

use crate::stage::Stage;

/// The fields that a page sets, by name; those of one name in the order in which they are sent.
fn fields(code: &str) -> Vec<(String, String)> {
    let mut stage = Stage::new();
    stage.body(code);
    let fields = stage.fields();
    let mut fields: Vec<_> =
        fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    fields.sort_by(|(one, _), (other, _)| one.cmp(other));
    fields
}

fn field(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn a_list_of_values_is_a_field_for_each() {
    let code = "response.headers.Link = { '</b>', '</a>' }
        response.headers.Vary = { 'Accept' }
        response.headers['X-Laps'] = { 2, 3.5 }";
    let expected = [
        field("Link", "</b>"),
        field("Link", "</a>"),
        field("Vary", "Accept"),
        field("X-Laps", "2"),
        field("X-Laps", "3.5"),
    ];
    assert_eq!(fields(code), expected);
    // A list is replaced and removed as a whole.
    let code = "response.headers.A = { 'one', 'two' } response.headers.A = 'three'
        response.headers.B = 'one' response.headers.B = { 'two', 'three' }
        response.headers.C = { 'one', 'two' } response.headers.C = nil";
    assert_eq!(fields(code), [field("A", "three"), field("B", "two"), field("B", "three")]);
}

#[test]
fn later_change_of_list_does_not_change_fields() {
    let code = "local links = { 'one' }
        response.headers.Link = links
        links[1], links[2] = 'two', 'a\\nb'
        response.headers.Link[1] = 'three'
        assert(response.headers.Link[1] == 'one' and #response.headers.Link == 1)";
    assert_eq!(fields(code), [field("Link", "one")]);
}

#[test]
fn a_name_that_is_spelt_in_another_way_is_the_same_field() {
    let code =
        "response.headers['Content-Type'] = 'text/a' response.headers['content-type'] = 'text/b'
        response.headers.LOCATION = '/a' response:redirect('/b')
        response.headers.Vary = 'A' response.headers.VARY = nil
        assert(response.headers['CONTENT-TYPE'] == 'text/b' and response.headers.Vary == nil)
        assert(response.headers[1] == nil and response.headers.x == nil)
        response.headers[1] = nil";
    assert_eq!(fields(code), [field("Location", "/b"), field("content-type", "text/b")]);
}

#[test]
fn invalid_field_values_are_error_with_line() {
    let mut stage = Stage::new();
    let one_line = "the value of 'X' must be a string of one line without control characters, or a list of \
                    them";
    for (assignment, what) in [
        ("X = {}", "the list of values of 'X' is empty: nil takes the field away"),
        ("X = { 'a', 'b\\r\\nevil: c' }", one_line),
        ("X = { 'a', {} }", one_line),
        ("X = { true }", one_line),
        ("X = { 'a', x = 'b' }", "the values of 'X' are a list: there is one at 'x'"),
        ("X = { x = 'b' }", "the values of 'X' are a list: there is one at 'x'"),
        ("Location = { '/a', '/b' }", "'Location' has one value, not 2"),
        ("['content-type'] = { 'a', 'b' }", "'content-type' has one value, not 2"),
        ("['a b'] = { 'a' }", "not a field name: a b"),
    ] {
        let target = if assignment.starts_with('[') { "" } else { "." };
        let error = stage.failure(&format!("\nresponse.headers{target}{assignment}"));
        assert_eq!(error.to_string(), format!("test.page.html:2: {what}"), "{assignment}");
    }
}

#[test]
fn all_values_of_a_name_are_there_in_their_order() {
    let mut stage = Stage::new();
    let code = "local lists = request.query_lists
        assert(request.query.name == 'Grace & <co>' and lists == request.query_lists)
        assert(#lists.name == 2 and #lists.page == 1 and lists.none == nil)
        _b:put(lists.name[1], ', ', lists.name[2], ', ', lists.page[1], ', ', request.form_lists.agreed[1])";
    assert_eq!(stage.body(code), "Ada, Grace & <co>, 2, yes");
}

#[test]
fn a_target_goes_out_as_a_uri() {
    let mut stage = Stage::new();
    for (target, sent) in [
        ("/a?b=c&d=%20#e", "/a?b=c&d=%20#e"),
        ("/~a;b,(c)!'*+$@:[]", "/~a;b,(c)!'*+$@:[]"),
        ("é x\"<>^`{|}", "%C3%A9%20x%22%3C%3E%5E%60%7B%7C%7D"),
        ("/a?b\\c", "/a?b%5Cc"),
        ("  /a b  ", "/a%20b"),
    ] {
        for (status, number) in [("", 302), (", 303", 303), (", 308", 308)] {
            stage.body(&format!("response:redirect([==[{target}]==]{status})"));
            let fields: Vec<_> = stage.fields().collect();
            assert_eq!(fields, [("Location", sent)]);
            assert_eq!(stage.output.status, Some(number), "{target}");
        }
    }
}

#[test]
fn a_field_is_taken_away_however_it_is_spelt() {
    let mut stage = Stage::new();
    let code =
        "local f = response.headers f['X-A'] = 1 f['x-a'] = nil f['x-b'] = 2 f['X-B'] = 'a\\tb'";
    stage.body(code);
    let fields: Vec<_> = stage.fields().collect();
    assert_eq!(fields, [("X-B", "a\tb")]);
}

#[test]
fn a_value_is_the_bytes_that_the_page_set() {
    let mut stage = Stage::new();
    stage.body("response.headers['Content-Disposition'] = 'attachment; filename=\"caf\\233\"'");
    let fields: Vec<_> = stage.output.fields().collect();
    assert_eq!(fields, [("Content-Disposition", &b"attachment; filename=\"caf\xe9\""[..])]);
}

#[test]
fn values_are_packed_with_their_number() {
    let mut stage = Stage::new();
    let code =
        "local t = table.pack('a', nil, nil) _b:put(t.n, t[1], tostring(t[2]), table.pack().n)";
    assert_eq!(stage.body(code), "3anil0");
}

#[test]
fn a_redirect_stays_on_its_site() {
    let mut stage = Stage::new();
    let location = |stage: &Stage| {
        stage.fields().find(|(name, _)| *name == "Location").map(|(_, value)| value.to_owned())
    };
    for target in [
        "/there",
        "there?a=b:c",
        "/a//b",
        "?x",
        "#x",
        "./a:b",
        "http://example.org/x",
        "HTTPS://Example.org",
    ] {
        stage.body(&format!("response:redirect([==[{target}]==])"));
        assert_eq!(location(&stage).as_deref(), Some(target));
    }
    for target in [
        "//other.org",
        "/\\other.org",
        "\\\\other.org",
        "\\/other.org",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "http:other.org",
        "http://other.org/",
        "https://example.org.other.org/",
        "http://example.org@other.org/",
        "http://example.org:8080/",
        "a:b",
        "/a\\b",
        " //other.org",
        "http://example.org\\@other.org/",
        "http://example.org%5C@other.org/",
        "http:///example.org/",
        "http://user@example.org/",
    ] {
        let error = stage.failure(&format!("response:redirect([==[{target}]==])"));
        assert!(error.message.starts_with("redirect stays on this site"), "{target}: {error}");
        for way in ["Location = TARGET", "LOCATION = TARGET", "location = { TARGET }"] {
            let code = way.replace("TARGET", &format!("[==[{target}]==]"));
            let error = stage.failure(&format!("response.headers.{code}"));
            let name = code.split(' ').next().unwrap();
            let begin = format!("{name} stays on this site");
            assert!(error.message.starts_with(&begin), "{target}: {error}");
        }
    }
    for target in ["http://other.org/a", "https://other.org", "HTTPS://[::1]:8080/x"] {
        stage.body(&format!("response:redirect_external([==[{target}]==], 303)"));
        assert_eq!(location(&stage).as_deref(), Some(target));
    }
    for target in [
        "/there",
        "//other.org",
        "javascript:x",
        "ftp://other.org",
        "https://",
        "https:///x",
        "http:x",
    ] {
        let error = stage.failure(&format!("response:redirect_external([==[{target}]==])"));
        assert!(error.message.starts_with("redirect_external takes a URL"), "{target}: {error}");
    }
    let error = stage.failure("response:redirect('/a', '303')");
    assert_eq!(error.message, "redirect takes its status as a number, not the string '303'");
}
