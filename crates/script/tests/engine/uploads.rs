//! `request.files`: how the host's values are presented, and a page's operations on files.

use script::engine::{Run, WaitReply};

use crate::stage::Stage;
use crate::waits::{Step, Wait};

/// The first wait of a page.
fn first_wait(stage: &mut Stage, code: &str) -> (Run, Wait) {
    let page = stage.load(code);
    match stage.start(&page) {
        Step::Waits(run, wait) => (run, wait),
        Step::Failed(error) => panic!("{error}"),
        _ => panic!("it waits"),
    }
}

/// The output of a page when its wait gets this reply.
fn printed(stage: &mut Stage, run: Run, reply: WaitReply<'_>) -> String {
    let step = stage.reply(run, reply);
    assert!(matches!(step, Step::Done));
    String::from_utf8(stage.output.body.clone()).unwrap()
}

#[test]
fn files_are_found_in_their_order_and_by_their_fields() {
    let mut stage = Stage::new();
    let code = "for i, f in ipairs(request.files) do _b:put(i, f.field, ':', f.name, ':', tostring(f.type), ':', f.size, ' ') end
        _b:put(request.files.photo.name, tostring(request.files.other), tostring(getmetatable(request.files[1])))";
    assert_eq!(stage.body(code), "1photo:a.jpg:image/jpeg:10 2photo:b:nil:0 bnilfalse");
}

#[test]
fn a_file_is_saved_and_what_became_of_it_is_told() {
    let mut stage = Stage::new();
    let code = "_b:put(tostring(select('#', request.files[2]:save('n'))), \
                tostring(request.files[2]:save('n')))";
    let (run, wait) = first_wait(&mut stage, code);
    let wish = |replaces| Wait::SaveFile { form: 7, number: 2, name: b"n".to_vec(), replaces };
    assert_eq!(wait, wish(0));
    let step = stage.resume(run);
    let Step::Waits(run, wait) = step else { panic!("it waits again") };
    assert_eq!(wait, wish(0));
    assert_eq!(printed(&mut stage, run, WaitReply::Nothing), "1true");

    let code = "_b:put(tostring(select(2, request.files.photo:save('n', { replace = true }))))";
    let (run, wait) = first_wait(&mut stage, code);
    assert_eq!(wait, wish(1));
    assert_eq!(printed(&mut stage, run, WaitReply::Texts(&[b"", b"no room"])), "no room");
}

#[test]
fn the_first_bytes_of_a_file_are_read() {
    let mut stage = Stage::new();
    for (argument, most) in [("", 1 << 20), ("5", 5), ("2^40", 1 << 20), ("0", 0)] {
        let code = format!("_b:put(request.files[1]:read({argument}))");
        let (run, wait) = first_wait(&mut stage, &code);
        assert_eq!(wait, Wait::ReadFile { form: 7, number: 1, most });
        assert_eq!(printed(&mut stage, run, WaitReply::Texts(&[b"by\0tes"])), "by\0tes");
    }
    let (run, _) = first_wait(&mut stage, "local _, why = request.files[1]:read() _b:put(why)");
    assert_eq!(printed(&mut stage, run, WaitReply::Texts(&[b"", b"gone"])), "gone");
}

#[test]
fn only_files_of_the_form_are_files() {
    let mut stage = Stage::new();
    for (code, told) in [
        ("request.files[1].save('n')", "save is called with a colon"),
        ("local f = request.files[1] f.read({}, 1)", "read is called with a colon"),
        ("request.files[1]:save()", "save takes a name, not nil"),
        ("request.files[1]:save(7)", "save takes a name, not 7"),
        ("request.files[1]:read(-1)", "read takes a number of bytes, not -1"),
        ("request.files[1]:read(0/0)", "read takes a number of bytes"),
        ("request.files[1]:read('x')", "read takes a number of bytes, not x"),
    ] {
        let error = stage.failure(code);
        assert!(error.message.contains(told) && error.line == 1, "{code}: {error}");
    }
}
