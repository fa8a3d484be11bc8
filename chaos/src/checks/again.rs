//! The same scenario, seed and run give the same bits, including the number of events.

use super::{Case, Verdict, same};
use crate::difference;

pub fn holds(case: &Case<'_>) -> Verdict {
    same(difference::of_all(&case.outcome, &case.run(&case.scenario)?))
}
