//! Delivered packets per CPU second, compared with a bare loop over the same links.
//!
//! Every measurement runs in a separate process with its own CPU time and peak memory. Engine and bare loop alternate,
//! and their ratio is computed for each turn, so that other load on the machine affects both. CPU time covers building
//! and running the network, but not parsing the scenario. No time is asserted.

#![allow(clippy::disallowed_macros, reason = "a command-line tool prints to its user")]

mod bare;
mod cases;
mod measurement;
mod report;

use cases::{CASES, Case};
use measurement::{Contender, Measurement};
use report::Turns;
use std::process::ExitCode;

const USAGE: &str = "usage: dumbbell-benches [--case NAME]... [--seconds-per-case SECONDS] [--smoke] [--json]
  --case NAME               run this case, or all cases whose names begin with NAME; may be repeated
  --seconds-per-case SECONDS
                            CPU time per case, in seconds; at least three turns are run [default: 20]
  --smoke                   run one turn with two fifths of the packets, to check that the benchmarks work
  --json                    print one JSON object instead of the table";

/// Minimum number of turns per case, for a median and a spread.
const MIN_TURNS: usize = 3;
/// Share of the packets in a smoke run.
const SMOKE: f64 = 0.4;

#[derive(Debug, PartialEq)]
struct Options {
    cases: Vec<Case>,
    seconds_per_case: f64,
    is_smoke: bool,
    is_json: bool,
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options { cases: Vec::new(), seconds_per_case: 20.0, is_smoke: false, is_json: false };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--case" => options.cases.extend(cases::named(rest.next().map_or("", String::as_str))?),
            "--seconds-per-case" => {
                let given = rest.next().map_or("", String::as_str);
                let seconds =
                    given.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0);
                options.seconds_per_case = seconds.ok_or_else(|| {
                    format!("--seconds-per-case: \"{given}\" is not accepted; expected a number, at least 0")
                })?;
            }
            "--smoke" => options.is_smoke = true,
            "--json" => options.is_json = true,
            other => return Err(format!("{other} is not an option\n{USAGE}")),
        }
    }
    if options.cases.is_empty() {
        options.cases = CASES.to_vec();
    }
    Ok(options)
}

/// Runs engine and bare loop alternately until the time of the case is used up.
fn take_turns(case: &Case, options: &Options) -> Result<Turns, String> {
    let share = if options.is_smoke { SMOKE } else { 1.0 };
    let min = if options.is_smoke { 1 } else { MIN_TURNS };
    let mut turns = Turns::new(case.clone());
    loop {
        turns.engine.push(Measurement::in_new_process(case, Contender::Engine, share)?);
        turns.bare.push(Measurement::in_new_process(case, Contender::Bare, share)?);
        let is_over = options.is_smoke || turns.cpu_s() >= options.seconds_per_case;
        if turns.engine.len() >= min && is_over {
            return Ok(turns);
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let mut all = Vec::new();
    for case in &options.cases {
        if !options.is_json {
            eprintln!("{}: {}", case.name, case.summary());
        }
        all.push(take_turns(case, options)?);
    }
    if options.is_json {
        println!("{:#}", report::json(&all));
    } else {
        print!("{}", report::table(&all));
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let result = match arguments.split_first() {
        Some((first, of)) if first == measurement::CHILD => {
            Measurement::from_arguments(of).map(|measured| println!("{}", measured.to_json()))
        }
        _ => parse(&arguments).and_then(|options| run(&options)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn all_cases_are_measured_by_default() {
        let options = parsed("").expect("no options");
        assert_eq!(options.cases.len(), CASES.len());
        assert!(!options.is_smoke && !options.is_json);
    }

    #[test]
    fn cases_are_selected_by_prefix() {
        let options = parsed("--case c1 --case a --seconds-per-case 2.5").expect("options");
        let names: Vec<_> = options.cases.iter().map(|case| case.name).collect();
        assert_eq!(names, ["c100", "c1000", "a"]);
        assert_eq!(options.seconds_per_case, 2.5);
    }

    #[test]
    fn errors_name_invalid_arguments() {
        assert!(parsed("--case z").unwrap_err().contains("\"z\""));
        assert!(parsed("--case").is_err());
        assert!(parsed("--seconds-per-case -1").unwrap_err().contains("-1"));
        assert!(parsed("--quick").unwrap_err().contains("usage"));
    }
}
