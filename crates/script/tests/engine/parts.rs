//! Pages made of parts: include, layout, block and content.

use script::engine::Handler;
use script::template::{Escape, lower};

use crate::stage::Stage;

/// Loads pages by name and text, as a server does; returns the last one.
pub(crate) fn site(stage: &mut Stage, pages: &[(&str, &str)]) -> Handler {
    let mut last = None;
    for (name, text) in pages {
        let extension = name.rsplit('.').next().unwrap();
        let lowered = lower(text.as_bytes(), Escape::of_extension(extension)).unwrap();
        let loaded = stage.state.load(0, name, &lowered.lua);
        // A part may be dropped: it is known by its name.
        last = Some(loaded.unwrap());
    }
    last.unwrap()
}

fn shown(pages: &[(&str, &str)]) -> String {
    let mut stage = Stage::new();
    let page = site(&mut stage, pages);
    stage.play(&page).unwrap().body
}

fn failed(pages: &[(&str, &str)]) -> String {
    let mut stage = Stage::new();
    let page = site(&mut stage, pages);
    stage.play(&page).unwrap_err().to_string()
}

#[test]
fn a_part_is_printed_where_it_is_included() {
    let row = ("_row.page.html", "<li><%= arguments.name %></li>");
    let list = "<ul><% for _, name in ipairs { 'a', '<b>' } do include('_row.html', { name = name }) end \
                %></ul>";
    assert_eq!(shown(&[row, ("list.page.html", list)]), "<ul><li>a</li><li>&lt;b&gt;</li></ul>");
    let value = "<ul><%- include('_row.html', { name = 'c' }) %></ul>";
    assert_eq!(shown(&[row, ("list.page.html", value)]), "<ul><li>c</li></ul>");
}

#[test]
fn names_are_of_the_page_that_says_them() {
    let pages = [
        ("_top.page.html", "top"),
        ("a/_near.page.html", "near, <% include('../_top.html') %>"),
        ("a/b/_far.page.html", "far"),
        (
            "a/index.page.html",
            "<% include('_near.html') include('/_top.html') include('b/_far.html') include('./_near.html') \
             %>",
        ),
    ];
    assert_eq!(shown(&pages), "near, toptopfarnear, top");
    let outside = failed(&[("a/x.page.html", "\n<% include('../../etc/passwd') %>")]);
    assert_eq!(outside, "a/x.page.html:2: '../../etc/passwd' leads out of the root");
    let missing = failed(&[("a/x.page.html", "<% include('no.html') %>")]);
    assert_eq!(
        missing,
        "a/x.page.html:1: there is no part 'a/no.html': it would be the file a/no.page.html"
    );
}

#[test]
fn a_layout_is_put_around_a_page() {
    let base = (
        "_base.page.html",
        "<title><% block('title', function() %>Site<% end) %></title><%- content() %>.",
    );
    let plain = "<% layout('_base.html') %>text";
    assert_eq!(shown(&[base, ("x.page.html", plain)]), "<title>Site</title>text.");
    let titled =
        "<% layout('_base.html') %>one <% block('title', function() %><%= 'A&B' %><% end) %>two";
    assert_eq!(shown(&[base, ("x.page.html", titled)]), "<title>A&amp;B</title>one two.");
    let middle = (
        "_middle.page.html",
        "<% layout('_base.html') %>(<%- content() %>)<% block('title', function() %>M<% end) %>",
    );
    let nested = "<% layout('_middle.html') %>x";
    assert_eq!(shown(&[base, middle, ("x.page.html", nested)]), "<title>M</title>(x).");
    let nearest = "<% layout('_middle.html') block('title', function() %>X<% end) %>x";
    assert_eq!(shown(&[base, middle, ("x.page.html", nearest)]), "<title>X</title>(x).");
}

#[test]
fn a_layout_is_not_kept_for_the_next_page() {
    let mut stage = Stage::new();
    let base = ("_base.page.html", "[<% block('b', function() %>none<% end) %><%- content() %>]");
    let with = site(
        &mut stage,
        &[base, ("w.page.html", "<% layout('_base.html') block('b', function() %>b<% end) %>w")],
    );
    let without = site(&mut stage, &[("o.page.html", "<% block('b', function() %>own<% end) %>")]);
    for _ in 0..3 {
        assert_eq!(stage.play(&with).unwrap().body, "[bw]");
        assert_eq!(stage.play(&without).unwrap().body, "own");
    }
}

#[test]
fn unexpected_argument_of_template_is_refused() {
    let part = ("_part.page.html", "<% layout('_part.html') %>");
    let told = failed(&[part, ("x.page.html", "<% include('_part.html') %>")]);
    assert_eq!(told, "_part.page.html:1: a part has no layout: the page that includes it has");
    let told = failed(&[part, ("x.page.html", "<% content() %>")]);
    assert_eq!(told, "x.page.html:1: content() is for layouts: this page is none here");
    let told = failed(&[("x.page.html", "<% include('x.html') %>")]);
    assert!(told.contains("stack overflow"), "{told}");
}

#[test]
fn an_exit_within_a_block_has_what_was_printed_before_it() {
    let mut stage = Stage::new();
    let base = ("_base.page.html", "[<% block('b', function() %>none<% end) %><%- content() %>]");
    let page = "<% layout('_base.html') %>one <% block('a', function() %>two <% block('b', function() \
                %>three<% exit() end) end) %>four";
    let ends = site(&mut stage, &[base, ("e.page.html", page)]);
    let next = site(&mut stage, &[("n.page.html", "<% layout('_base.html') %>next")]);
    for _ in 0..2 {
        assert_eq!(stage.play(&ends).unwrap().body, "one two three");
        assert_eq!(stage.play(&next).unwrap().body, "[nonenext]");
    }
}

#[test]
fn a_block_that_fails_takes_nothing_with_it() {
    let base = ("_base.page.html", "<%- content() %>");
    let page = "<% layout('_base.html') %>before <% local fine, what = pcall(block, 'b', function() \
                %>lost<% error('no', 0) end) %><%= what %>";
    assert_eq!(shown(&[base, ("x.page.html", page)]), "before no");
}

#[test]
fn coroutines_of_a_page_print_into_it() {
    let page = "<% coroutine.wrap(function() include('_p.html') coroutine.yield() end)() %>!";
    assert_eq!(shown(&[("_p.page.html", "p"), ("x.page.html", page)]), "p!");
}

#[test]
fn sites_do_not_see_each_others_parts() {
    let mut stage = Stage::new();
    let load = |stage: &mut Stage, site: u16, name: &str, text: &str| {
        let lowered = lower(text.as_bytes(), Escape::Markup).unwrap();
        stage.state.load(site, name, &lowered.lua).unwrap()
    };
    let page = "<% include('_p.html') %>";
    let pages = [0, 1].map(|site| {
        load(&mut stage, site, "_p.page.html", &format!("part of {site}"));
        load(&mut stage, site, "x.page.html", page)
    });
    let alone = load(&mut stage, 2, "x.page.html", page);
    let bodies = pages.each_ref().map(|page| stage.play(page).unwrap().body);
    assert_eq!(bodies, ["part of 0", "part of 1"]);
    assert!(stage.play(&alone).unwrap_err().to_string().contains("there is no part"));
}

#[test]
fn a_part_that_was_withdrawn_is_not_there() {
    let mut stage = Stage::new();
    let page =
        site(&mut stage, &[("_p.page.html", "p"), ("x.page.html", "<% include('_p.html') %>")]);
    assert_eq!(stage.play(&page).unwrap().body, "p");
    stage.state.withdraw(0, "_p.page.html");
    assert!(stage.play(&page).unwrap_err().to_string().contains("there is no part '_p.html'"));
}

#[test]
fn a_part_that_never_was_good_is_said_to_be_broken() {
    let mut stage = Stage::new();
    let why = "a/_row.page.html:3: `do` is never closed";
    stage.state.refuse(0, "a/_row.page.html", why);
    let page = site(&mut stage, &[("a/x.page.html", "\n<% include('_row.html') %>")]);
    let told = stage.play(&page).unwrap_err().to_string();
    assert_eq!(told, format!("a/x.page.html:2: part 'a/_row.html' is broken: {why}"));
    let framed = site(&mut stage, &[("y.page.html", "<% layout('a/_row.html') %>")]);
    assert!(stage.play(&framed).unwrap_err().to_string().contains("is broken: a/_row.page.html:3"));
    // It is fixed, and works.
    site(&mut stage, &[("a/_row.page.html", "row")]);
    assert_eq!(stage.play(&page).unwrap().body, "\nrow");
    stage.state.refuse(0, "a/_row.page.html", why);
    stage.state.withdraw(0, "a/_row.page.html");
    assert!(stage.play(&page).unwrap_err().message.starts_with("there is no part"));
}

#[test]
fn a_part_that_includes_itself_is_told_in_one_line() {
    let mut stage = Stage::new();
    let page = site(&mut stage, &[("r.page.html", "x\n<% include('r.html') %>")]);
    let error = stage.play(&page).unwrap_err();
    assert!(error.message.contains("stack overflow"), "{error}");
    let way: Vec<_> = error.traceback.iter().map(|frame| (frame.line, frame.times > 20)).collect();
    assert!(way.len() <= 3 && way.contains(&(2, true)), "{:?}", error.traceback);
}
