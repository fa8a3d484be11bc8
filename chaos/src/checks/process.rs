//! Another process gives the same bits.

use super::{Case, Verdict, same};
use crate::difference;
use crate::exit::Exit;
use crate::runner::digest;

pub fn holds(case: &Case<'_>) -> Verdict {
    let elsewhere = case.runner.digest_elsewhere(&case.scenario, case.seed, case.run);
    let elsewhere = elsewhere.ok_or(Exit::NotApplicable)??;
    same(difference::of_values("digest", &digest(&case.outcome), &elsewhere))
}
