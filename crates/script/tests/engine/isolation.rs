//! Functions that one run keeps in a module are useless for it and for others once another run is active.

use script::engine::{EngineSettings, PageOutput, Run, WaitReply};

use crate::stage::Stage;
use crate::waits::Step;

/// A module in which runs keep values.
fn stage() -> Stage {
    let mut stage = Stage::new();
    stage.state.provide("kept", "app/kept.lua", "return { t = {} }").unwrap();
    stage.state.adopt_modules().unwrap();
    stage
}

/// A run of `code`, which sleeps.
fn sleeper(stage: &mut Stage, code: &str) -> Run {
    let page = stage.load(code);
    match stage.start(&page) {
        Step::Waits(run, _) => run,
        Step::Failed(error) => panic!("it fails: {error}"),
        _ => panic!("it sleeps"),
    }
}

/// The output of a run that ends now.
fn ended(stage: &mut Stage, run: Run) -> String {
    match stage.resume(run) {
        Step::Done => String::from_utf8(stage.output.body.clone()).unwrap(),
        Step::Failed(error) => panic!("it fails: {error}"),
        _ => panic!("it ends"),
    }
}

const NOT_OWN: &str = "this coroutine belongs to another request";
const NOT_ANSWERED: &str = "this answer is sent, or not the one that is made here (a spawned process makes \
                            none): nothing can be added to it";

#[test]
fn a_coroutine_belongs_to_the_run_that_made_it() {
    let mut stage = stage();
    for make in
        ["coroutine.create(body)", "coroutine.wrap(function() return coroutine.create(body) end)()"]
    {
        stage.body(&format!(
            "local function body() while true do coroutine.yield() response:flush() end end
            local co = {make} coroutine.resume(co) require('kept').co = co require('kept').wrap = coroutine.wrap(body)"
        ));
        // It has the coroutine of the run before, whose secret is in the output while others run.
        let victim = sleeper(&mut stage, "_b:put('secret') sleep(1) _b:put('.')");
        let thief = "local kept = require('kept')
            local fine, why = coroutine.resume(kept.co)
            _b:put(tostring(fine), ' ', why, '; ',
                select(2, pcall(function() kept.wrap() end)), '; ',
                select(2, coroutine.wrap(function() return coroutine.resume(kept.co) end)()))";
        assert_eq!(
            stage.body(thief),
            format!("false {NOT_OWN}; test.page.html:4: {NOT_OWN}; {NOT_OWN}")
        );
        assert_eq!(ended(&mut stage, victim), "secret.");
        // The run that gets the victim's function is not its maker either.
        assert!(stage.body(thief).starts_with(&format!("false {NOT_OWN}")));
    }
}

#[test]
fn a_coroutine_of_a_module_is_no_run_s() {
    let mut stage = Stage::new();
    let text = "return { co = coroutine.create(function() coroutine.yield(1) end) }";
    stage.state.provide("kept", "app/kept.lua", text).unwrap();
    stage.state.adopt_modules().unwrap();
    stage
        .state
        .load_module("kept", "app/kept.lua", script::engine::Purpose::Required, &mut stage.desk)
        .unwrap();
    let code = "_b:put(select(2, coroutine.resume(require('kept').co)))";
    assert_eq!(stage.body(code), NOT_OWN);
}

#[test]
fn page_cannot_forge_reply_of_host() {
    let mut stage = stage();
    let mut waits = sleeper(
        &mut stage,
        "local co = coroutine.create(function() _b:put(tostring(sleep(1))) end)
        require('kept').co = co coroutine.resume(co)",
    );
    let forged = "_b:put(select(2, coroutine.resume(require('kept').co, nil, 'forged')))";
    assert_eq!(stage.body(forged), NOT_OWN);
    let reply = WaitReply::Texts(&[b"true"]);
    let mut output = PageOutput::default();
    let result = stage.state.resume(&mut waits, reply, &mut stage.desk, &mut output);
    assert!(matches!(result, script::engine::CallResult::Done));
    assert_eq!(output.body, b"true");
    // Nor can any run use it when its maker has ended.
    let waits = sleeper(
        &mut stage,
        "local co = coroutine.create(function() sleep(1) end)
        require('kept').co = co coroutine.resume(co)",
    );
    drop(waits);
    assert_eq!(stage.body(forged), NOT_OWN);
}

#[test]
fn the_output_is_not_to_be_found_in_the_response() {
    let mut stage = stage();
    let code = "response.status = 201 response.headers['X-A'] = 'b' response:cookie('c', 'd') response:write('x')
        local function look(value, depth)
            assert(type(value) ~= 'userdata' and type(value) ~= 'function', type(value))
            if type(value) == 'table' and depth < 5 then
                for key, member in next, value do look(key, depth + 1) look(member, depth + 1) end
            end
        end
        look(response, 0)
        assert(rawget(response, 1) == nil and response[1] == nil)";
    assert_eq!(stage.body(code), "x");
}

#[test]
fn a_response_is_of_use_to_its_run_only() {
    let mut stage = stage();
    stage.body("require('kept').response, require('kept').request = response, request");
    let uses = "local kept = require('kept')
        local uses = {
            function() kept.response:write('x') end, function() kept.response:flush() end,
            function() kept.response.status = 404 end, function() kept.response.headers.a = 'x' end,
            function() kept.headers.a = 'x' end, function() kept.response:cookie('a', 'b') end,
            function() kept.response:redirect('/x') end,
        }
        for _, use in ipairs(uses) do
            local fine, why = pcall(use)
            assert(not fine) _b:put((why:gsub('^[^ ]+ ', '')), ';')
        end";
    let keep =
        "local kept = require('kept') kept.response, kept.headers = response, response.headers";
    let refused = format!("{NOT_ANSWERED};").repeat(7);
    stage.body(keep);
    assert_eq!(stage.body(uses), refused);
    // The same while its run waits.
    let waits = sleeper(&mut stage, &format!("{keep} sleep(1) response:write('own')"));
    assert_eq!(stage.body(uses), refused);
    assert_eq!(ended(&mut stage, waits), "own");
    assert_eq!((stage.output.status, stage.fields().count()), (None, 0));
}

#[test]
fn a_session_is_of_use_to_its_run_only() {
    let mut stage = stage();
    let waits = sleeper(
        &mut stage,
        "require('kept').request = request sleep(1) _b:put(tostring(request.session.a))",
    );
    let uses = "local kept = require('kept').request
        for _, use in ipairs { function() kept.session = { a = 1 } end, function() kept.session.a = 1 end } do
            local fine, why = pcall(use)
            assert(not fine) _b:put((why:gsub('^[^ ]+ ', '')), ';')
        end";
    assert_eq!(stage.body(uses), "this request is not the one that is answered here;".repeat(2));
    assert_eq!(ended(&mut stage, waits), "nil");
}

#[test]
fn a_request_tells_nothing_of_another_one() {
    let mut stage = stage();
    stage.body("request.kept = request.path require('kept').request = request");
    let code = "local kept = require('kept').request
        local _, why = pcall(function() return kept.headers end)
        assert(rawget(kept, 'headers') == nil)
        _b:put(kept.path, ' ', (why:gsub('^[^ ]+ ', '')), ' ', request.headers.host)";
    let told = "/hello this request is not the one that is answered here example.org";
    assert_eq!(stage.body(code), told);
    assert_eq!(stage.body(code), told);
}

#[test]
fn a_function_that_prints_prints_into_no_other_page() {
    let mut stage = stage();
    stage.body("require('kept').print = function(text) _b:put(text) end _b:put('first')");
    let part = "return function(out) require('kept').part = function(text) out:put(text) end end";
    let _part = stage.state.load(0, "_part.page.html", part).unwrap();
    let includes = "return function(out) include('_part.html') out:put('second') end";
    let page = stage.state.load(0, "page.page.html", includes).unwrap();
    assert_eq!(stage.play(&page).unwrap().body, "second");
    // These have the coroutines of earlier runs, or new ones; the functions print into none of them.
    let victims: Vec<Run> =
        (0..3).map(|_| sleeper(&mut stage, "_b:put('own') sleep(1) _b:put('.')")).collect();
    assert_eq!(stage.body("require('kept').print('x') require('kept').part('y') _b:put('z')"), "z");
    for victim in victims {
        assert_eq!(ended(&mut stage, victim), "own.");
    }
}

#[test]
fn runs_that_take_turns_write_each_into_its_own_answer() {
    let mut stage = Stage::with(EngineSettings::default());
    let page = |letter: &str| {
        format!(
            "for i = 1, 1e6 do response:write('{letter}') end sleep(1) response:write('{letter}', '.')"
        )
    };
    let letters = ["a", "b", "c"];
    let pages = letters.map(|letter| stage.load(&page(letter)));
    let mut steps: Vec<_> = pages.iter().map(|page| Some(stage.start(page))).collect();
    let mut ended = 0;
    while ended < letters.len() {
        for (letter, step) in letters.iter().zip(&mut steps) {
            *step = match step.take() {
                Some(Step::Sliced(run) | Step::Waits(run, _)) => Some(stage.resume(run)),
                Some(Step::Done) => panic!("its output was looked at when it came"),
                Some(Step::Failed(error)) => panic!("it fails: {error}"),
                None => None,
            };
            if matches!(step, Some(Step::Done)) {
                *step = None;
                ended += 1;
                let body = String::from_utf8(stage.output.body.clone()).unwrap();
                assert!(body == letter.repeat(1_000_001) + ".", "{letter}: {} bytes", body.len());
            }
        }
    }
}
