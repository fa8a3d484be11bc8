//! The command as it is run.

use std::process::Command;

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let done =
        Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output().expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[test]
fn an_unknown_task_is_refused_with_the_known_ones() {
    for wrong in [&[][..], &["tidyy"], &["tidy", "licences"]] {
        let (status, out, err) = run(wrong);
        assert_eq!((status, out.as_str()), (Some(2), ""));
        assert!(err.contains("tidy|licences"), "{err}");
    }
}
