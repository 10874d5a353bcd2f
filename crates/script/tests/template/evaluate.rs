//! An interpreter for the Lua text of pages whose values are names and whose code are calls without arguments.
//!
//! Shares nothing with the code under test: it knows three statements, and panics at everything else.

/// An event of a page, and its line in the Lua text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Happening {
    pub(crate) event: Event,
    pub(crate) line: u32,
}

/// An event of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Text(String),
    Escaped(String),
    Raw(String),
    Statement(String),
}

/// The events of a page, in order; consecutive texts are merged.
pub(crate) fn evaluate(lua: &str) -> Vec<Happening> {
    let mut interpreter = Interpreter { rest: lua, line: 1, happened: Vec::new() };
    interpreter.expect("return function(__output, __escaped, __raw, request, response, arguments)");
    loop {
        interpreter.blanks();
        if interpreter.rest == "end" {
            return interpreter.happened;
        }
        if interpreter.takes("__output:put(") {
            interpreter.arguments();
            interpreter.expect(";");
        } else {
            let line = interpreter.line;
            let name = interpreter.name();
            interpreter.expect("()");
            interpreter.happens(Event::Statement(name), line);
        }
    }
}

struct Interpreter<'a> {
    rest: &'a str,
    line: u32,
    happened: Vec<Happening>,
}

impl Interpreter<'_> {
    /// The arguments of `put` and the bracket after them. Lua computes all before it prints any, which
    /// makes no difference for texts and names.
    fn arguments(&mut self) {
        for number in 1.. {
            assert!(number <= 32, "too many arguments");
            self.blanks();
            let line = self.line;
            if self.takes("\"") {
                let text = self.string();
                self.happens(Event::Text(text), line);
            } else if self.takes("__escaped(") {
                let name = self.bracketed_name();
                self.happens(Event::Escaped(name), line);
            } else {
                self.expect("__raw(");
                let name = self.bracketed_name();
                self.happens(Event::Raw(name), line);
            }
            if self.takes(")") {
                return;
            }
            self.expect(",");
        }
    }

    fn string(&mut self) -> String {
        let mut text = String::new();
        loop {
            match self.take() {
                '"' => return text,
                '\n' => panic!("a line break in a string"),
                '\\' => match self.take() {
                    'n' => text.push('\n'),
                    quoted @ ('"' | '\\') => text.push(quoted),
                    first => {
                        let digits: String =
                            [first, self.take(), self.take()].into_iter().collect();
                        text.push(char::from(digits.parse::<u8>().expect("three digits")));
                    }
                },
                character => text.push(character),
            }
        }
    }

    fn bracketed_name(&mut self) -> String {
        self.blanks();
        let name = self.name();
        self.blanks();
        self.expect(")");
        name
    }

    fn name(&mut self) -> String {
        let is_end = |character: char| !character.is_ascii_alphanumeric();
        let length = self.rest.find(is_end).unwrap_or(self.rest.len());
        assert!(length > 0, "no name in {:?}", self.rest);
        let (name, rest) = self.rest.split_at(length);
        self.rest = rest;
        name.to_owned()
    }

    fn blanks(&mut self) {
        while self.rest.starts_with([' ', '\t', '\n']) {
            self.take();
        }
    }

    fn take(&mut self) -> char {
        let mut characters = self.rest.chars();
        let first = characters.next().expect("more text");
        self.rest = characters.as_str();
        self.line += u32::from(first == '\n');
        first
    }

    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, text: &str) {
        assert!(self.takes(text), "no {text} in {:?}", self.rest);
    }

    fn happens(&mut self, event: Event, line: u32) {
        if let (Event::Text(more), Some(Happening { event: Event::Text(text), .. })) =
            (&event, self.happened.last_mut())
        {
            text.push_str(more);
            return;
        }
        self.happened.push(Happening { event, line });
    }
}
