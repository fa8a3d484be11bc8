//! Checks the scenarios of a base seed, in blocks, and resumes where it stopped. Results of another build are
//! discarded.

#![allow(clippy::disallowed_methods, reason = "a search says how long it took and ends after a stated time")]

use crate::checks::exceptions::Note;
use crate::checks::{Check, Tried, try_checks};
use crate::exit::Exit;
use crate::generator;
use crate::minimize::{Budget, minimize};
use crate::runner::Runner;
use crate::violation;
use dumbbell_sim::Scenario;
use dumbbell_units::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Number of scenarios between two writes of the state.
const BLOCK: u64 = 100;
/// Maximum number of violations per check that are minimized and written to files; further ones are only counted.
const FILES: u64 = 5;

/// Options of a search.
#[derive(Clone, Debug)]
pub struct Options {
    /// Base seed of the scenarios, and seed of their runs.
    pub base: u64,
    /// Number of scenarios, counted from the first.
    pub count: u64,
    /// Time limit of this call.
    pub time: Option<Duration>,
    /// Number of threads.
    pub threads: usize,
    /// Directory of the state and of scenarios that break a check.
    pub output: PathBuf,
    /// Checks to run.
    pub checks: Vec<&'static Check>,
    /// Time limit of a run.
    pub limit: Duration,
    /// Budget for minimizing one violation.
    pub budget: Budget,
    /// Command of the worker process.
    pub worker: Option<PathBuf>,
    /// Identity of the program, engine included.
    pub build: String,
}

/// Number of scenarios on which a check was tried.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Count {
    /// Scenarios to which it applied.
    pub applied: u64,
    /// Scenarios to which it did not apply.
    pub skipped: u64,
    /// Scenarios that broke it.
    pub broken: u64,
    /// Time that it took. What several checks use counts for the first.
    #[serde(default)]
    pub seconds: f64,
    /// The scenario that took longest.
    #[serde(default)]
    pub slowest: Slowest,
}

/// The scenario on which a check took longest.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Slowest {
    /// Its number.
    pub number: u64,
    /// The time that it took.
    pub seconds: f64,
}

impl Count {
    fn add(&mut self, more: Count) {
        self.applied += more.applied;
        self.skipped += more.skipped;
        self.broken += more.broken;
        self.seconds += more.seconds;
        if more.slowest.seconds > self.slowest.seconds {
            self.slowest = more.slowest;
        }
    }
}

/// How often a check met an exception.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Excepted {
    /// Scenarios.
    pub scenarios: u64,
    /// Those with no other exception.
    pub alone: u64,
    /// Of these, those for which the relation does not hold. An exception without any is not needed.
    pub needed: u64,
}

impl Excepted {
    fn add(&mut self, more: Excepted) {
        self.scenarios += more.scenarios;
        self.alone += more.alone;
        self.needed += more.needed;
    }

    fn of(note: &Note) -> Self {
        Excepted { scenarios: 1, alone: u64::from(note.is_alone), needed: u64::from(note.is_needed) }
    }
}

/// A scenario that broke a check.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Violation {
    /// Name of the check.
    pub check: String,
    /// Number of the scenario.
    pub number: u64,
    /// The first difference.
    pub difference: String,
    /// File with the minimized scenario.
    pub file: Option<PathBuf>,
}

/// State of a search.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// Base seed.
    pub base: u64,
    /// Identity of the program that ran the checks.
    #[serde(default)]
    pub build: String,
    /// Number of the next scenario.
    pub next: u64,
    /// Numbers for which no valid scenario was found.
    pub without: u64,
    /// Values drawn that the parser rejected.
    pub refused: u64,
    /// Checks that took too long.
    #[serde(default)]
    pub too_long: u64,
    /// Runs of all checks.
    pub runs: u64,
    /// Packets sent in them.
    pub packets: u64,
    /// Time spent, in seconds.
    pub seconds: f64,
    /// How often each check was tried.
    pub checks: BTreeMap<String, Count>,
    /// Exceptions by check and name.
    #[serde(default)]
    pub exceptions: BTreeMap<String, BTreeMap<String, Excepted>>,
    /// Violations found.
    pub violations: Vec<Violation>,
}

impl State {
    /// The file of a base seed's state.
    pub fn path(output: &Path, base: u64) -> PathBuf {
        output.join(format!("state-{base}.json"))
    }

    /// The last state written by this build, or an empty one.
    pub fn load(output: &Path, base: u64, build: &str) -> std::io::Result<State> {
        let new = State { base, build: build.to_owned(), ..State::default() };
        match std::fs::read_to_string(State::path(output, base)) {
            Ok(text) => {
                let state: State = serde_json::from_str(&text)?;
                Ok(if state.build == build { state } else { new })
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(new),
            Err(error) => Err(error),
        }
    }

    /// Writes the state atomically.
    fn save(&self, output: &Path) -> std::io::Result<()> {
        let path = State::path(output, self.base);
        let part = path.with_extension("part");
        let mut file = std::fs::File::create(&part)?;
        file.write_all(serde_json::to_string_pretty(self)?.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(part, path)
    }

    fn add(&mut self, block: State) {
        self.without += block.without;
        self.refused += block.refused;
        self.too_long += block.too_long;
        self.runs += block.runs;
        self.packets += block.packets;
        for (name, count) in block.checks {
            self.checks.entry(name).or_default().add(count);
        }
        for (check, exceptions) in block.exceptions {
            let known = self.exceptions.entry(check).or_default();
            exceptions.into_iter().for_each(|(name, excepted)| known.entry(name).or_default().add(excepted));
        }
        self.violations.extend(block.violations);
        self.violations.sort_by(|one, other| (&one.check, one.number).cmp(&(&other.check, other.number)));
    }
}

/// Searches until all scenarios are checked, the time is over or `stop` is true. Calls `report` before the first block
/// and after each one.
pub fn search(
    options: &Options,
    stop: &AtomicBool,
    mut report: impl FnMut(&State),
) -> std::io::Result<State> {
    std::fs::create_dir_all(&options.output)?;
    let mut state = State::load(&options.output, options.base, &options.build)?;
    let mut runners: Vec<Runner> =
        (0..options.threads.max(1)).map(|_| Runner::new(options.limit, options.worker.clone())).collect();
    let begin = Instant::now();
    report(&state);
    while state.next < options.count
        && !stop.load(Ordering::Relaxed)
        && options.time.is_none_or(|time| begin.elapsed() < time)
    {
        let of_block = Instant::now();
        let end = (state.next + BLOCK).min(options.count);
        let next = AtomicU64::new(state.next);
        let written = |check: &Check| state.checks.get(check.name).map_or(0, |count| count.broken);
        let files = options.checks.iter().map(|check| (check.name, AtomicU64::new(written(check)))).collect();
        let block = Mutex::new(State::default());
        std::thread::scope(|scope| {
            for runner in &mut runners {
                let (next, files, block) = (&next, &files, &block);
                scope.spawn(move || {
                    let searcher = Searcher { options, runner, files };
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= end {
                            break;
                        }
                        let done = searcher.scenario(number);
                        block.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).add(done);
                    }
                });
            }
        });
        state.add(block.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()));
        state.next = end;
        state.seconds += of_block.elapsed().as_secs_f64();
        state.save(&options.output)?;
        report(&state);
    }
    Ok(state)
}

/// One thread of a search.
struct Searcher<'a> {
    options: &'a Options,
    runner: &'a Runner,
    /// Number of violations of each check so far.
    files: &'a BTreeMap<&'static str, AtomicU64>,
}

impl Searcher<'_> {
    /// Runs the checks on one scenario.
    fn scenario(&self, number: u64) -> State {
        let mut done = State::default();
        let drawn = generator::scenario(self.options.base, number);
        done.refused = drawn.refused as u64;
        let Some(value) = drawn.value else {
            done.without = 1;
            return done;
        };
        let Ok(scenario) = Scenario::from_value(&value) else {
            done.without = 1;
            return done;
        };
        let seed_and_run = (self.options.base, number);
        // The rarer checks alternate from scenario to scenario.
        let chosen = |(position, check): &(usize, &&'static Check)| {
            (number + *position as u64).is_multiple_of(check.one_of)
        };
        let checks = self.options.checks.iter().enumerate().filter(chosen).map(|(_, check)| *check);
        for Tried { check, verdict, notes, seconds } in
            try_checks(&scenario, seed_and_run, self.runner, checks)
        {
            for note in &notes {
                let exceptions = done.exceptions.entry(check.name.to_owned()).or_default();
                exceptions.entry(note.name.clone()).or_default().add(Excepted::of(note));
            }
            let count = done.checks.entry(check.name.to_owned()).or_default();
            count.seconds = seconds;
            count.slowest = Slowest { number, seconds };
            match verdict {
                Ok(()) => count.applied += 1,
                Err(Exit::NotApplicable) => count.skipped += 1,
                Err(Exit::TooLong) => {
                    count.skipped += 1;
                    done.too_long += 1;
                }
                Err(Exit::Broken(difference)) => {
                    count.applied += 1;
                    count.broken += 1;
                    done.violations.push(self.violation(number, &value, check, difference));
                }
            }
        }
        (done.runs, done.packets) = self.runner.take_counts();
        done
    }

    fn violation(&self, number: u64, value: &Value, check: &Check, difference: String) -> Violation {
        let before = self.files.get(check.name).map_or(0, |files| files.fetch_add(1, Ordering::Relaxed));
        let file = (before < FILES).then(|| self.write(number, value, check, &difference)).flatten();
        Violation { check: check.name.to_owned(), number, difference, file }
    }

    /// Minimizes a scenario and writes it to a file.
    fn write(&self, number: u64, value: &Value, check: &Check, difference: &str) -> Option<PathBuf> {
        let Options { base, output, budget, .. } = self.options;
        let seed_and_run = (*base, number);
        let mut last = difference.to_owned();
        let small = minimize(value, *budget, |candidate| {
            let differs = violation::difference(candidate, seed_and_run, check, self.runner);
            differs.map(|difference| last = difference).is_some()
        });
        let origin = format!("base seed {base}, scenario {number}");
        let file = output.join(format!("{}-{base}-{number}.toml", check.name));
        std::fs::write(&file, violation::written(&small, seed_and_run, &origin, check, &last)).ok()?;
        Some(file)
    }
}
