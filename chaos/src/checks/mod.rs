//! Relations between runs that must hold, one file each. A new one is a file and a line in [`CHECKS`].

mod additive;
mod again;
mod batch;
mod capacity;
mod completion;
mod conservation;
mod declaration_order;
mod early_end;
pub mod exceptions;
mod instants;
mod island;
mod least_rtt;
mod names;
mod order;
mod prefix;
mod probes;
mod process;
mod scale;
mod shift;
mod silent_flow;
pub(crate) mod text;
mod traces;
mod transports;
mod window;

use crate::draw::Draw;
use crate::exit::Exit;
use crate::packets::Packet;
use crate::runner::Runner;
use dumbbell_sim::quantity::Measure;
use dumbbell_sim::scenario::ProbeSpec;
use dumbbell_sim::{Outcome, Scenario};
use dumbbell_units::spec::Field;
use exceptions::Note;
use std::cell::{OnceCell, RefCell};
use std::time::Instant;

/// The result of a check.
pub type Verdict = Result<(), Exit>;

/// A relation that must hold.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its name on the command line and in names of files.
    pub name: &'static str,
    /// The relation.
    pub about: &'static str,
    /// A search runs it on one in this many scenarios.
    pub one_of: u64,
    /// Runs the check.
    pub holds: fn(&Case<'_>) -> Verdict,
}

macro_rules! checks {
    ($( $name:literal, $one_of:literal, $holds:path, $about:literal; )+) => {
        /// Every check.
        pub const CHECKS: &[Check] =
            &[$( Check { name: $name, about: $about, one_of: $one_of, holds: $holds } ),+];
    };
}

checks! {
    "ends", 1, ends, "The run ends, and without a panic.";
    "again", 4, again::holds, "The same run gives the same bits.";
    "batch", 8, batch::holds, "A batch on two threads in any order gives what single runs give.";
    "text", 8, text::holds, "A scenario read from TOML or JSON is the one that was written.";
    "process", 4, process::holds, "Another process gives the same bits.";
    "probes", 1, probes::all, "Probes of everything change nothing but the number of events.";
    "probe", 2, probes::one, "A single probe changes nothing but the number of events.";
    "traces", 1, traces::holds, "Traces agree with what is counted.";
    "island", 3, island::holds, "A network beside that no packet crosses changes nothing.";
    "busy-island", 3, island::busy, "A network beside with a flow of its own changes no other row.";
    "names", 1, names::holds, "Names change nothing where nothing is random.";
    "window", 2, window::holds, "A window that ends earlier counts what a shorter run counts.";
    "additive", 3, additive::holds, "Two windows count what one over both counts.";
    "prefix", 3, prefix::holds, "A shorter run records the beginning of a longer one.";
    "early-end", 1, early_end::holds, "A run that ends with its transfers is a run of that duration.";
    "conservation", 1, conservation::holds, "What is sent is delivered, dropped or in flight, by every count.";
    "capacity", 1, capacity::holds, "Nothing is faster than its links.";
    "least-rtt", 1, least_rtt::holds, "No round trip is shorter than light and transmission take.";
    "order", 1, order::holds, "Packets leave a link that keeps order as they entered it.";
    "completion", 2, completion::holds, "Transfers complete where nothing is lost.";
    "shift", 4, shift::holds, "A scenario that is later as a whole has the same results later.";
    "silent-flow", 3, silent_flow::holds, "A flow more that sends nothing changes no other row.";
    "declaration-order", 4, declaration_order::holds, "The order of declarations changes nothing where no packets tie.";
    "transports", 8, transports::holds, "Flows over stacks of others lose nothing in the books, and give the same bits again.";
    "time-scale", 4, scale::time, "With all times twice as long and all rates halved, the packets are the same.";
    "size-scale", 4, scale::size, "With all sizes and rates doubled, the packets are the same.";
}

/// A scenario with its run, on which checks are run.
#[derive(Debug)]
pub struct Case<'a> {
    /// The scenario.
    pub scenario: Scenario,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the run.
    pub run: u64,
    /// Its outcome.
    pub outcome: Outcome,
    runner: &'a Runner,
    probed: OnceCell<Result<Probed, Exit>>,
    notes: RefCell<Vec<Note>>,
}

/// A scenario with probes of everything, and its outcome.
#[derive(Clone, Debug)]
pub struct Probed {
    /// The scenario.
    pub scenario: Scenario,
    /// Its outcome; recordings of the scenario's own probes come first.
    pub outcome: Outcome,
}

impl<'a> Case<'a> {
    /// Runs a scenario.
    pub fn new(scenario: Scenario, (seed, run): (u64, u64), runner: &'a Runner) -> Result<Self, Exit> {
        let outcome = runner.run(&scenario, seed, run)?;
        Ok(Case { scenario, seed, run, outcome, runner, probed: OnceCell::new(), notes: RefCell::default() })
    }

    /// Runs a variant with the same seed.
    pub fn run(&self, variant: &Scenario) -> Result<Outcome, Exit> {
        self.run_with(variant, (self.seed, self.run))
    }

    /// Runs a variant, which must be valid.
    pub fn run_with(&self, variant: &Scenario, (seed, run): (u64, u64)) -> Result<Outcome, Exit> {
        self.expect_valid(variant);
        self.runner.run(variant, seed, run)
    }

    /// Runs a variant whose transports are bound, which no text is.
    pub fn run_bound(&self, variant: &Scenario) -> Result<Outcome, Exit> {
        self.runner.run(variant, self.seed, self.run)
    }

    /// Runs a variant, and returns also its packets at all nodes, in order of time.
    pub fn run_with_packets(&self, variant: &Scenario) -> Result<(Outcome, Vec<Packet>), Exit> {
        self.expect_valid(variant);
        self.runner.run_with_packets(variant, self.seed, self.run)
    }

    /// Asserts in some of the scenarios that a variant is valid: to read it takes longer than most runs.
    fn expect_valid(&self, variant: &Scenario) {
        debug_assert!(!self.run.is_multiple_of(16) || is_valid(variant), "{}", variant.to_json());
    }

    /// Notes an exception that a check has met.
    fn note(&self, note: Note) {
        self.notes.borrow_mut().push(note);
    }

    /// The scenario with probes of everything; it is run once for all checks.
    pub fn probed(&self) -> Result<&Probed, Exit> {
        let run = || {
            let mut scenario = self.scenario.clone();
            let probe = probe_of_everything(&scenario);
            scenario.probes.push(probe);
            let outcome = self.run(&scenario)?;
            Ok(Probed { scenario, outcome })
        };
        self.probed.get_or_init(run).as_ref().map_err(Exit::clone)
    }

    /// Random choices of a check; they depend on seed, run and name, but not on the scenario.
    pub fn draw(&self, name: &str) -> Draw {
        Draw::new(self.seed, self.run, name)
    }

    /// End of the run, in nanoseconds; not applicable if `f64` seconds cannot represent it.
    pub fn end(&self) -> Result<u64, Exit> {
        nanoseconds(self.outcome.simulated_s).ok_or(Exit::NotApplicable)
    }
}

impl Probed {
    /// The recording of a measure of a flow or link by the probe of everything.
    pub fn recording(&self, measure: Measure, name: &str) -> Option<&dumbbell_sim::trace::Recording> {
        self.outcome
            .recordings
            .iter()
            .rev()
            .find(|recording| recording.quantity.is(measure) && recording.name == name)
    }
}

/// True if the parser accepts a variant and reads it as it is.
fn is_valid(scenario: &Scenario) -> bool {
    Scenario::from_value(&scenario.encode()).is_ok_and(|read| read == *scenario)
}

fn probe_of_everything(scenario: &Scenario) -> ProbeSpec {
    let (flows, links) = (vec!["*".to_owned()], vec!["*".to_owned()]);
    ProbeSpec { flows, links, quantities: scenario.quantities(), period: None }
}

/// Whole nanoseconds of a time in seconds; `None` if `f64` cannot represent them.
pub fn nanoseconds(seconds: f64) -> Option<u64> {
    let nanoseconds = (seconds * 1e9).round();
    (nanoseconds < (1_u64 << 51) as f64).then_some(nanoseconds as u64)
}

/// Broken if there is a difference.
fn same(difference: Option<String>) -> Verdict {
    difference.map_or(Ok(()), |difference| Err(Exit::Broken(difference)))
}

/// Broken unless the condition holds.
fn require(condition: bool, difference: impl FnOnce() -> String) -> Verdict {
    if condition { Ok(()) } else { Err(Exit::Broken(difference())) }
}

/// Not applicable unless the condition holds.
fn applies_if(condition: bool) -> Verdict {
    if condition { Ok(()) } else { Err(Exit::NotApplicable) }
}

/// The run of a case has ended if the case exists.
fn ends(_case: &Case<'_>) -> Verdict {
    Ok(())
}

/// The check with a name.
pub fn named(name: &str) -> Option<&'static Check> {
    CHECKS.iter().find(|check| check.name == name)
}

/// A check that was tried on a scenario.
#[derive(Debug)]
pub struct Tried<'c> {
    /// The check.
    pub check: &'c Check,
    /// Its result.
    pub verdict: Verdict,
    /// The exceptions that it has met.
    pub notes: Vec<Note>,
    /// The time that it took.
    pub seconds: f64,
}

/// Measures the time between two calls.
struct Lap(Instant);

#[allow(clippy::disallowed_methods, reason = "a search says how long its checks took")]
impl Lap {
    fn start() -> Self {
        Lap(Instant::now())
    }

    fn seconds(&mut self) -> f64 {
        std::mem::replace(&mut self.0, Instant::now()).elapsed().as_secs_f64()
    }
}

/// Runs checks on a scenario. A run that does not end or panics breaks only the check `ends`.
pub fn try_checks<'c>(
    scenario: &Scenario,
    seed_and_run: (u64, u64),
    runner: &Runner,
    checks: impl Iterator<Item = &'c Check>,
) -> Vec<Tried<'c>> {
    let mut lap = Lap::start();
    let case = match Case::new(scenario.clone(), seed_and_run, runner) {
        Ok(case) => case,
        Err(exit) => {
            let mut of = |check: &'c Check| {
                let exit = if check.name == "ends" { exit.clone() } else { Exit::NotApplicable };
                Tried { check, verdict: Err(exit), notes: Vec::new(), seconds: lap.seconds() }
            };
            return checks.map(&mut of).collect();
        }
    };
    let tried = |check: &'c Check| {
        let verdict = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (check.holds)(&case)));
        let panicked = |panic: Box<dyn std::any::Any + Send>| {
            Err(Exit::Broken(format!("a panic of the check: {}", crate::panics::message(&*panic))))
        };
        let verdict = verdict.unwrap_or_else(panicked);
        Tried { check, verdict, notes: case.notes.take(), seconds: lap.seconds() }
    };
    checks.map(tried).collect()
}
