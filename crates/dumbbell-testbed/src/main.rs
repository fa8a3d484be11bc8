//! The binary of the testbed, root for as long as it runs and no longer. `dumbbell testbed` starts it.
//!
//! * `dumbbell-testbed run` reads `{ "scenario": {...}, "seed": 1, "run": 0, "congestion": { "FLOW": "NAME" },
//!   "pcap": "FILE" }` from standard input, runs the scenario in real time and writes its results to standard output as
//!   one JSON object. The file gets all packets; without it, none are written.
//! * `dumbbell-testbed doctor` writes a list of checks of the machine as JSON.
//!
//! Exit codes: 0, success; 1, something failed; 2, the scenario was rejected; 3, the machine lacks something. The reason
//! is one line on standard error. Nothing is left in the kernel when the process ends, however it ends.

#![allow(clippy::disallowed_macros, reason = "a program tells on its standard output")]

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod linux {
    use dumbbell_sim::Scenario;
    use dumbbell_testbed::doctor::{self, Check, Status};
    use dumbbell_testbed::error::RunError;
    use dumbbell_testbed::plan::Replacements;
    use dumbbell_testbed::run::{Request, run};
    use dumbbell_units::Value;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sys::prctl::set_pdeathsig;
    use nix::sys::signal::Signal;
    use std::io::{Read, Write, stdin, stdout};
    use std::os::fd::AsFd;
    use std::path::PathBuf;
    use std::process::ExitCode;

    /// Exit codes besides success.
    const FAILED: u8 = 1;
    const REFUSED: u8 = 2;
    const MISSING: u8 = 3;

    pub fn main() -> ExitCode {
        // Whoever waits for the results is gone then.
        let _ = set_pdeathsig(Signal::SIGKILL);
        if is_unread() {
            return ExitCode::from(FAILED);
        }
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match arguments[..] {
            ["run"] => match answer() {
                Ok(results) => print(&results),
                Err((code, reason)) => {
                    eprintln!("{reason}");
                    ExitCode::from(code)
                }
            },
            ["doctor"] => {
                let checks = doctor::checks();
                let code = print(&checks.iter().map(Check::json).collect());
                let is_missing = checks.iter().any(|check| check.status == Status::Missing);
                if is_missing { ExitCode::from(MISSING) } else { code }
            }
            _ => {
                eprintln!("usage: dumbbell-testbed run < REQUEST, or dumbbell-testbed doctor");
                ExitCode::from(REFUSED)
            }
        }
    }

    /// True if nobody can read the results: who started this process has died before its death became a signal.
    fn is_unread() -> bool {
        let output = stdout();
        let mut polled = [PollFd::new(output.as_fd(), PollFlags::empty())];
        poll(&mut polled, PollTimeout::ZERO).is_ok()
            && polled[0].revents().is_some_and(|events| events.contains(PollFlags::POLLERR))
    }

    fn print(value: &Value) -> ExitCode {
        match writeln!(stdout(), "{value}") {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(FAILED),
        }
    }

    /// Runs the request of standard input.
    fn answer() -> Result<Value, (u8, String)> {
        let mut text = String::new();
        stdin().read_to_string(&mut text).map_err(|error| (FAILED, format!("standard input: {error}")))?;
        let request = request(&text).map_err(|reason| (REFUSED, reason))?;
        match run(&request) {
            Ok(done) => Ok(done.json()),
            Err(RunError::Refused(error)) => Err((REFUSED, error.to_string())),
            Err(RunError::Missing(text)) => Err((MISSING, text)),
            Err(RunError::Failed(text)) => Err((FAILED, text)),
        }
    }

    fn request(text: &str) -> Result<Request, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("the request: {error}"))?;
        let scenario = Scenario::from_value(&value["scenario"]).map_err(|error| error.to_string())?;
        let number = |name: &str, default: u64| match &value[name] {
            Value::Null => Ok(default),
            other => {
                other.as_u64().ok_or(format!("{name}: {other} is not accepted; expected a whole number"))
            }
        };
        let (seed, run) = (number("seed", 1)?, number("run", 0)?);
        let mut replacements = Replacements::new();
        for (flow, name) in value["congestion"].as_object().into_iter().flatten() {
            let text =
                name.as_str().ok_or(format!("congestion.{flow}: {name} is not accepted; expected a name"))?;
            replacements.insert(flow.clone(), text.to_owned());
        }
        let pcap = match &value["pcap"] {
            Value::Null => None,
            Value::String(path) => Some(PathBuf::from(path)),
            other => return Err(format!("pcap: {other} is not accepted; expected the path of a file")),
        };
        Ok(Request { scenario, seed, run, replacements, pcap })
    }
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("the testbed cannot run: it needs Linux");
    ExitCode::from(3)
}
