//! Searches for violated guarantees of the engine with random scenarios.

#![allow(clippy::disallowed_macros, reason = "a command-line tool speaks to its user")]

use clap::{Parser, Subcommand};
use dumbbell_chaos::checks::{CHECKS, Check, Tried, named, try_checks};
use dumbbell_chaos::exit::Exit;
use dumbbell_chaos::minimize::{Budget, minimize};
use dumbbell_chaos::runner::{Runner, WORKER, serve};
use dumbbell_chaos::search::{Excepted, Options, State, search};
use dumbbell_chaos::{generator, panics, violation};
use dumbbell_sim::Scenario;
use dumbbell_units::random::bytes_hash;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Searches for violated guarantees of the engine with random scenarios.
#[derive(Debug, Parser)]
#[command(name = "dumbbell-chaos")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Checks random scenarios; resumes where an earlier search of the same base seed stopped.
    Search(Search),
    /// Runs all checks on scenario files.
    Check(CheckFiles),
    /// Prints scenarios as lines of JSON with the seed and run of their search.
    Emit(Emit),
    /// Runs as the worker process.
    #[command(name = WORKER, hide = true)]
    Worker,
}

#[derive(Debug, clap::Args)]
struct Search {
    /// Base seed of the scenarios.
    #[arg(long, default_value_t = 1)]
    base: u64,
    /// Number of scenarios, counted from the first.
    #[arg(long)]
    count: Option<u64>,
    /// Time limit of this call, in hours.
    #[arg(long)]
    hours: Option<f64>,
    /// Threads; all cores if not given.
    #[arg(long)]
    threads: Option<usize>,
    /// Directory of the state and of findings.
    #[arg(long, default_value = "results/chaos")]
    output: PathBuf,
    /// Only these checks.
    #[arg(long, value_delimiter = ',', value_parser = check_named)]
    checks: Vec<&'static Check>,
    /// Time limit of a run, in seconds.
    #[arg(long, default_value_t = 20)]
    limit: u64,
    /// Time limit for minimizing a violation, in seconds.
    #[arg(long, default_value_t = 20)]
    minimize: u64,
    /// Also fail if a check never applied.
    #[arg(long)]
    strict: bool,
}

#[derive(Debug, clap::Args)]
struct CheckFiles {
    /// Scenario files in TOML.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Only this check.
    #[arg(long, value_parser = check_named)]
    check: Option<&'static Check>,
    /// Time limit of a run, in seconds.
    #[arg(long, default_value_t = 20)]
    limit: u64,
    /// Minimize scenarios that fail a check, and print them.
    #[arg(long)]
    minimize: bool,
}

#[derive(Debug, clap::Args)]
struct Emit {
    /// Base seed of the scenarios.
    #[arg(long, default_value_t = 1)]
    base: u64,
    /// Number of the first scenario.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Number of scenarios.
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// Add the summary of a run.
    #[arg(long)]
    summary: bool,
}

/// Number of scenarios in a search without a given number or time.
const COUNT: u64 = 10_000;
/// Maximum number of variants in minimization.
const TRIES: usize = 1_000;

fn check_named(name: &str) -> Result<&'static Check, String> {
    let known = || CHECKS.iter().map(|check| check.name).collect::<Vec<_>>().join(", ");
    named(name).ok_or_else(|| format!("unknown check; known: {}", known()))
}

fn main() -> ExitCode {
    panics::keep_places();
    let result = match Arguments::parse().command {
        Command::Search(search) => search_for(&search),
        Command::Check(files) => check(&files),
        Command::Emit(emit) => print_scenarios(&emit),
        Command::Worker => {
            // An interrupt ends the search, which then ends its workers.
            ctrlc::try_set_handler(|| {}).ok();
            serve(std::io::stdin().lock(), std::io::stdout().lock()).map(|()| ExitCode::SUCCESS)
        }
    };
    result.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::from(2)
    })
}

fn search_for(arguments: &Search) -> std::io::Result<ExitCode> {
    let program = std::env::current_exe()?;
    let build = format!("{:016x}", bytes_hash(&std::fs::read(&program)?));
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    // Handles interrupts even if the shell has disabled them: an explicit interrupt ends the search and keeps its
    // state.
    ctrlc::try_set_handler(move || flag.store(true, Ordering::Relaxed)).ok();
    let unlimited = if arguments.hours.is_some() { u64::MAX } else { COUNT };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = Options {
        base: arguments.base,
        count: arguments.count.unwrap_or(unlimited),
        time: arguments.hours.map(|hours| Duration::from_secs_f64(hours * 3600.0)),
        threads: arguments.threads.unwrap_or(cores),
        output: arguments.output.clone(),
        checks: if arguments.checks.is_empty() { CHECKS.iter().collect() } else { arguments.checks.clone() },
        limit: Duration::from_secs(arguments.limit),
        budget: Budget { tries: TRIES, time: Duration::from_secs(arguments.minimize) },
        worker: Some(program),
        build,
    };
    let bar = progress(&options);
    let state = search(&options, &stop, |state| {
        bar.set_position(state.next);
        bar.set_message(format!("{} violations", state.violations.len()));
    })?;
    bar.finish_and_clear();
    report(&state, &options);
    let never_applied = state.checks.values().any(|count| count.applied == 0);
    Ok(match stop.load(Ordering::Relaxed) {
        true => ExitCode::from(2),
        false if !state.violations.is_empty() || arguments.strict && never_applied => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

fn progress(options: &Options) -> ProgressBar {
    let bar =
        if options.count == u64::MAX { ProgressBar::new_spinner() } else { ProgressBar::new(options.count) };
    let style =
        ProgressStyle::with_template("{wide_bar} {pos}/{len} scenarios, {per_sec}, {eta} left, {msg}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

fn report(state: &State, options: &Options) {
    let State { next, runs, packets, seconds, refused, without, too_long, .. } = state;
    println!(
        "{next} scenarios of base seed {}, {runs} runs, {packets} packets in {seconds:.0} s",
        state.base
    );
    println!("{:.1} scenarios per second", *next as f64 / seconds.max(1e-9));
    println!(
        "{refused} values refused and removed, {without} numbers without a scenario, {too_long} checks too long"
    );
    println!(
        "{:<17} {:>9} {:>9} {:>9} {:>9}  {:>9} (scenario)",
        "check", "applied", "skipped", "broken", "seconds", "slowest"
    );
    for check in &options.checks {
        let count = state.checks.get(check.name).copied().unwrap_or_default();
        println!(
            "{:<17} {:>9} {:>9} {:>9} {:>9.1}  {:>9.1} ({})",
            check.name,
            count.applied,
            count.skipped,
            count.broken,
            count.seconds,
            count.slowest.seconds,
            count.slowest.number
        );
    }
    if !state.exceptions.is_empty() {
        println!("{:<17} {:>9} {:>9} {:>9}  exception", "check", "scenarios", "alone", "needed");
    }
    for (check, exceptions) in &state.exceptions {
        for (name, Excepted { scenarios, alone, needed }) in exceptions {
            println!("{check:<17} {scenarios:>9} {alone:>9} {needed:>9}  {name}");
        }
    }
    for violation in &state.violations {
        if let Some(file) = &violation.file {
            println!("{}: {}", file.display(), violation.difference);
        }
    }
    println!("state: {}", State::path(&options.output, state.base).display());
}

fn check(arguments: &CheckFiles) -> std::io::Result<ExitCode> {
    let runner = Runner::new(Duration::from_secs(arguments.limit), std::env::current_exe().ok());
    let mut is_broken = false;
    for file in &arguments.files {
        is_broken |= check_file(file, arguments, &runner)?;
    }
    Ok(if is_broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn check_file(file: &Path, arguments: &CheckFiles, runner: &Runner) -> std::io::Result<bool> {
    let text = std::fs::read_to_string(file)?;
    let refused = |error| std::io::Error::other(format!("{}: {error}", file.display()));
    let (value, seed_and_run) = violation::read(&text).map_err(refused)?;
    let scenario = Scenario::from_value(&value).map_err(refused)?;
    let chosen = |check: &&Check| arguments.check.is_none_or(|only| only.name == check.name);
    let mut is_broken = false;
    for Tried { check, verdict, .. } in
        try_checks(&scenario, seed_and_run, runner, CHECKS.iter().filter(chosen))
    {
        match verdict {
            Ok(()) => println!("{}: {:<17} holds", file.display(), check.name),
            Err(Exit::NotApplicable) => println!("{}: {:<17} does not apply", file.display(), check.name),
            Err(Exit::TooLong) => println!("{}: {:<17} takes too long", file.display(), check.name),
            Err(Exit::Broken(difference)) => {
                is_broken = true;
                println!("{}: {:<17} BROKEN: {difference}", file.display(), check.name);
                if arguments.minimize {
                    let budget = Budget { tries: TRIES, time: Duration::from_secs(60) };
                    let broken = |value: &_| violation::difference(value, seed_and_run, check, runner);
                    let small = minimize(&value, budget, |value| broken(value).is_some());
                    let difference = broken(&small).unwrap_or_default();
                    println!(
                        "{}",
                        violation::written(
                            &small,
                            seed_and_run,
                            &file.display().to_string(),
                            check,
                            &difference
                        )
                    );
                }
            }
        }
    }
    Ok(is_broken)
}

fn print_scenarios(arguments: &Emit) -> std::io::Result<ExitCode> {
    for number in arguments.from..arguments.from.saturating_add(arguments.count) {
        if let Some(value) = generator::scenario(arguments.base, number).value {
            let (seed, run) = (arguments.base, number);
            let mut line = json!({ "scenario": value, "seed": seed, "run": run });
            if arguments.summary {
                let scenario =
                    Scenario::from_value(&value).map_err(|error| std::io::Error::other(error.to_string()))?;
                line["summary"] = dumbbell_sim::run(&scenario, seed, run).summary();
            }
            println!("{line}");
        }
    }
    Ok(ExitCode::SUCCESS)
}
