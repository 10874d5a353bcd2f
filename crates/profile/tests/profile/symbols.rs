//! Goal: an address without a name takes no other names away. Method: a program that maps a file which is no program.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use profile::{Stack, SymbolNames};

/// Maps the file that is its argument, and waits.
const PROGRAM: &str = "import mmap, sys
file = open(sys.argv[1], 'rb')
mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
print('mapped', flush=True)
sys.stdin.read()";

#[test]
fn a_mapping_that_is_no_program_hides_no_names() {
    let file = std::env::temp_dir().join(format!("velodrome-profile-{}.db", std::process::id()));
    std::fs::write(&file, [0x5a; 8192]).unwrap();
    let mut program = Command::new("python3")
        .args(["-c", PROGRAM])
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(program.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", program.id())).unwrap();
    let begin_of = |is_wanted: &dyn Fn(&str) -> bool| {
        let line = maps.lines().find(|line| is_wanted(line)).unwrap();
        u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap()
    };
    let code = begin_of(&|line| line.contains(" r-xp ") && line.contains("python"));
    let data = begin_of(&|line| line.ends_with(&file.display().to_string()));
    let process = program.id();
    let stack = |user: Vec<u64>| Stack { process, user, ..Stack::default() };
    let mut stacks: Vec<Stack> =
        (0..256).map(|page| stack(vec![code + 64 + page * 4096])).collect();
    let named = |stacks: &[Stack]| {
        let names = SymbolNames::find(stacks.iter(), &[], &mut Vec::new());
        let frames = stacks.iter().flat_map(|stack| names.frames(stack));
        frames.filter(|frame| !frame.name.starts_with('[')).count()
    };
    let alone = named(&stacks);
    stacks.extend([stack(vec![data + 100]), stack(vec![data + 5000, code + 64])]);
    let beside = named(&stacks);
    drop(program.stdin.take());
    program.wait().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(alone > 0, "python3 has functions with names");
    assert!(beside >= alone, "{beside} of {alone} names");
}
