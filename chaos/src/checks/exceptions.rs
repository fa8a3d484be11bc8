//! Exceptions of a relation: named rules of the engine for which the relation need not hold. A scenario with such a rule
//! is checked without it, so that the relation applies to the rest.
//!
//! If there is only one of them, the scenario is also tried as it is, and a search counts how often the relation does not
//! hold then: an exception that is never needed should go.

use super::{Case, Verdict, applies_if, is_valid};
use crate::exit::Exit;
use crate::generator::{MOST_PACKETS, Work};
use dumbbell_net::LinkSpec;
use dumbbell_sim::Scenario;

/// A rule for which a relation need not hold.
pub struct Exception {
    /// Its name in reports.
    pub name: &'static str,
    /// Replaces the rule by another one where a scenario has it.
    pub replace: fn(&mut Scenario),
}

/// A check that met an exception.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Name of the exception.
    pub name: String,
    /// It was the only one.
    pub is_alone: bool,
    /// It was the only one, and the relation does not hold with it.
    pub is_needed: bool,
}

/// Checks a relation on a scenario without the rules that are excepted.
pub fn without(
    case: &Case<'_>,
    scenario: &Scenario,
    exceptions: &[Exception],
    relation: impl Fn(&Scenario) -> Verdict,
) -> Verdict {
    let mut rest = scenario.clone();
    let mut names = Vec::new();
    for exception in exceptions {
        let before = rest.clone();
        (exception.replace)(&mut rest);
        if rest != before {
            names.push(exception.name);
        }
    }
    if names.is_empty() {
        return relation(scenario);
    }
    // Sources that replace others may have no end, and quantities may be gone.
    let endless = rest.flows.iter().filter(|flow| !flow.source.is_finite()).map(|flow| flow.name.clone());
    let endless: Vec<String> = endless.collect();
    rest.stop_when_complete.retain(|name| !endless.contains(name));
    rest.probes.clear();
    // Sources that replace others may also send far more.
    applies_if(is_valid(&rest) && Work::of(&rest).packets(rest.duration.secs()) < MOST_PACKETS)?;
    let is_alone = names.len() == 1;
    let is_needed = is_alone && {
        let notes = case.notes.take();
        let differs = matches!(relation(scenario), Err(Exit::Broken(_)));
        case.notes.replace(notes);
        differs
    };
    for name in names {
        case.note(Note { name: name.to_owned(), is_alone, is_needed });
    }
    relation(&rest)
}

impl Case<'_> {
    /// Not applicable if the end of the run changes what happens before it. The trace of a link model ends with the run,
    /// and a link that decides at arrival loses packets that it will only have transmitted later.
    pub fn applies_to_shorter_runs(&self) -> Verdict {
        let is_cut = |link: &LinkSpec| link.trace.is_some() && !link.is_scheduled() && link.loses_packets();
        if !self.scenario.links.iter().any(is_cut) {
            return Ok(());
        }
        self.note_limit("link models end with the run");
        Err(Exit::NotApplicable)
    }

    /// Notes something that limits a check.
    pub fn note_limit(&self, name: impl Into<String>) {
        self.note(Note { name: name.into(), is_alone: false, is_needed: false });
    }
}
