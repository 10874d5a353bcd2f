//! Runs the body of a test in a separate process: the test binary is started again for that one test. For tests
//! that change what a whole process shares (signals, user).

use std::process::Command;

const MARK: &str = "VELODROME_SYS_TEST_CHILD";

/// In the first process: starts this binary again for `test` (its full name) and fails unless the body ran there
/// and passed. In the second: runs the body.
pub(crate) fn in_child(test: &str, body: impl FnOnce()) {
    if std::env::var(MARK).is_ok_and(|marked| marked == test) {
        return body();
    }
    let binary = std::env::current_exe().expect("a running program has a path");
    let output = Command::new(binary)
        .args([test, "--exact", "--nocapture"])
        .env(MARK, test)
        .output()
        .expect("the test binary starts again");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{test} in a child: {}\n{text}\n{errors}", output.status);
    assert!(text.contains("1 passed"), "no test is called {test}:\n{text}");
}
