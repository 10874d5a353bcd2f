//! Conditions of routes: what meets them, and what is told of those that are not met.

use config::route::RouteRequest;
use config::{ListenerAddress, RouteAction};
use wire::http::fields::FieldList;

use super::{errors, table};

/// Whether a request meets a condition.
fn meets(when: &str, fields: &[(&str, &str)], query: Option<&str>) -> bool {
    let table = table(&format!("[[route]]\npath = \"/\"\nwhen = {{ {when} }}\njson = 1\n"));
    let list = FieldList::of(fields);
    let fields = list.fields();
    let mut request = RouteRequest::new(None, "GET", "/", query);
    request.circumstances.fields = Some(&fields);
    matches!(table.find(&request).action, Ok(RouteAction::Json(_)))
}

#[test]
fn fields_and_parameters_are_compared() {
    // A condition that keeps requests out sees each of them, as pages do.
    let many = "a&".repeat(1000) + "v=1";
    for (when, fields, query, expected) in [
        ("header = { X-A = \"b\" }", &[("x-a", "b")][..], None, true),
        ("header = { X-A = \"b\" }", &[("x-a", "c"), ("X-A", "b")], None, true),
        ("header = { X-A = \"b\" }", &[("x-a", "B")], None, false),
        ("header = { X-A = \"b*\" }", &[("x-a", "bcd")], None, true),
        ("header = { X-A = true }", &[("x-a", "")], None, true),
        ("header = { X-A = true }", &[], None, false),
        ("header = { X-A = false }", &[], None, true),
        ("header = { X-A = false }", &[("x-a", "b")], None, false),
        ("query = { v = \"2\" }", &[], Some("a=1&v=2"), true),
        ("query = { v = \"a b\" }", &[], Some("v=a%20b"), true),
        ("query = { v = \"2\" }", &[], Some("v=22"), false),
        ("query = { v = true }", &[], Some("v"), true),
        ("query = { v = true }", &[], Some(&many), true),
        ("query = { v = false }", &[], None, true),
        ("query = { v = false }", &[], Some("v=1"), false),
        ("header = { X-A = true }, query = { v = true }", &[("x-a", "1")], None, false),
        ("header = { X-A = true }, query = { v = true }", &[("x-a", "1")], Some("v"), true),
    ] {
        assert_eq!(meets(when, fields, query), expected, "{when} {fields:?} {query:?}");
    }
}

#[test]
fn addresses_and_listeners_are_compared() {
    let text = "[[listener]]\naddress = \"127.0.0.1:81\"\n[[route]]\npath = \"/\"\nwhen = { address = \
                [\"10.0.0.0/8\"], listener = [\"127.0.0.1:81\"] }\njson = 1\n";
    let table = table(text);
    let listener: ListenerAddress = "127.0.0.1:81".parse().unwrap();
    let other: ListenerAddress = "127.0.0.1:82".parse().unwrap();
    for (address, listener, expected) in [
        (Some("10.1.2.3"), Some(&listener), true),
        (Some("::ffff:10.1.2.3"), Some(&listener), true),
        (Some("11.1.2.3"), Some(&listener), false),
        (None, Some(&listener), false),
        (Some("10.1.2.3"), Some(&other), false),
        (Some("10.1.2.3"), None, false),
    ] {
        let mut request = RouteRequest::new(None, "GET", "/", None);
        request.circumstances.address = address.map(|address| address.parse().unwrap());
        request.circumstances.listener = listener;
        let found = table.find(&request);
        let is_met = matches!(found.action, Ok(RouteAction::Json(_)));
        assert_eq!(is_met, expected, "{address:?} {listener:?}");
    }
}

#[test]
fn a_condition_that_is_not_met_is_explained_and_lets_others_be_asked() {
    let text = "[[route]]\npath = \"/\"\nmethods = [\"POST\"]\nwhen = { header = { X-Beta = \"yes\" } \
                }\njson = 1\n[[route]]\npath = \"/\"\njson = 2\n";
    let explained = table(text).explain(&RouteRequest::new(None, "GET", "/", None)).to_string();
    assert_eq!(
        explained,
        "no host is named: the default host\n\
         velodrome.toml:1:1 path `/` (json): the path fits, but it needs the header field `x-beta` as `yes`\n\
         velodrome.toml:6:1 path `/` (json): yes\n\
         result: 200, JSON of 1 bytes"
    );
}

#[test]
fn routes_behind_a_condition_are_reached_and_circles_through_one_are_not_certain() {
    let text = "[[route]]\npath = \"/a\"\nwhen = { query = { x = true } }\njson = 1\n\
        [[route]]\npath = \"/a\"\nredirect = { to = \"/b\" }\n\
        [[route]]\npath = \"/b\"\nwhen = { query = { x = true } }\njson = 1\n\
        [[route]]\npath = \"/b\"\nredirect = { to = \"/a?x\" }\n";
    assert_eq!(errors(text), "");
}

#[test]
fn wrong_conditions_are_refused_with_the_mend() {
    let route =
        |when: &str| errors(&format!("[[route]]\npath = \"/\"\nwhen = {{ {when} }}\njson = 1\n"));
    for (when, why) in [
        ("header = { \"a b\" = true }", "`a b` is not a field name"),
        ("header = { a = 1 }", "`a` must be a text, true or false, not a whole number"),
        ("address = [\"10.0.0.1/8\"]", "bits are set beyond the network; write \"10.0.0.0/8\""),
        ("address = []", "`address` is empty, so the route would never match"),
        ("country = [\"DEU\"]", "write the two letters of a country"),
        (
            "country = [\"DE\"]",
            "needs a file of networks; name it with `countries` at the top level",
        ),
        ("listener = [\"x\"]", "`listener` cannot be \"x\""),
        ("method = \"GET\"", "unknown key `method` in route.when; known are `header`, `query`"),
    ] {
        let told = route(when);
        assert!(told.contains(why), "{when}: {told}");
    }
}
