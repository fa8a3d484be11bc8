//! `dumbbell-shell`: a program behind an emulated link. See [`dumbbell_testbed::shell`].

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use clap::Parser;
    use dumbbell_testbed::shell::options::Options;
    use dumbbell_testbed::shell::program::{WARDEN, keep_watch};
    use dumbbell_testbed::shell::session::{Failure, run, say};
    use std::ffi::OsString;

    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let code = match arguments.split_first() {
        Some((first, rest)) if first == WARDEN => keep_watch(rest),
        _ => run(&Options::parse()).unwrap_or_else(|Failure { text, code }| {
            say(&format!("error: {text}"));
            code
        }),
    };
    std::process::ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    // Namespaces and TUN devices are Linux's.
    std::process::ExitCode::from(3)
}
