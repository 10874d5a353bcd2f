//! RESP commands: more bytes do not change a command, limits hold, and a command that we write is read back.

use wire::resp::{CommandLimits, Parser, write_array, write_bulk};

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/resp"];

/// Commands of all kinds.
pub const SEEDS: &[&[u8]] = &[
    b"*3\r\n$7\r\nPUBLISH\r\n$1\r\na\r\n$4\r\nb\r\nc\r\n",
    b"PING\r\n*1\r\n$4\r\nPING\r\n",
    b"set a \"b \\\"c\\x41\\n\" 'd\\'e'\n",
    b"*0\r\n*-1\r\n\r\n",
    b"*2\r\n$3\r\nGET\r\n$0\r\n\r\n",
];

/// Pieces of commands.
pub const WORDS: &[&[u8]] = &[
    b"*",
    b"$",
    b"\r\n",
    b"*1\r\n",
    b"*2\r\n",
    b"$1\r\n",
    b"$-1\r\n",
    b"$0\r\n\r\n",
    b"\"",
    b"'",
    b"\\x4",
    b"\\\"",
    b"99999999999999999999",
    b"+1",
    b" ",
    b"SUBSCRIBE",
];

const LIMITS: CommandLimits = CommandLimits { arguments: 8, command: 300, line: 60 };

/// Checks the properties of this module for one input.
///
/// # Panics
/// When one is broken.
pub fn check(data: &[u8]) {
    let mut rest = data;
    while let Some((arguments, length)) = read(rest) {
        assert!(length > 0 && length <= rest.len());
        assert!(arguments.len() <= LIMITS.arguments);
        assert_eq!(
            read(&rest[..length]),
            Some((arguments.clone(), length)),
            "more bytes change nothing"
        );
        if rest[0] == b'*' {
            for cut in 0..length {
                assert_eq!(read(&rest[..cut]), None, "a part is no command");
            }
        }
        assert_written(&arguments);
        rest = &rest[length..];
    }
}

fn read(input: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    let mut parser = Parser::default();
    let command = parser.parse(input, &LIMITS).ok()??;
    let arguments = command.arguments_from(0).map(<[u8]>::to_vec).collect();
    Some((arguments, command.length))
}

fn assert_written(arguments: &[Vec<u8>]) {
    let mut written = Vec::new();
    write_array(&mut written, arguments.len());
    for argument in arguments {
        write_bulk(&mut written, argument);
    }
    let mut parser = Parser::default();
    let command = parser.parse(&written, &CommandLimits::default());
    let command = command.expect("it is a command").expect("it is whole");
    let read: Vec<Vec<u8>> = command.arguments_from(0).map(<[u8]>::to_vec).collect();
    assert_eq!((read.as_slice(), command.length), (arguments, written.len()));
}
