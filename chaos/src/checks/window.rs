//! A window that ends at an instant counts what a run of that duration counts.

use super::{Case, Verdict, instants, same};
use crate::difference::{of_lists, of_values};
use dumbbell_sim::Outcome;

pub fn holds(case: &Case<'_>) -> Verdict {
    for at in instants::within_window(case, "window")? {
        let mut long = case.scenario.clone();
        long.measure_until = Some(at);
        let mut short = case.scenario.clone();
        (short.duration, short.measure_until) = (at, None);
        let difference = compare(&case.run(&long)?, &case.run(&short)?);
        same(difference.map(|difference| format!("window until {at}: {difference}")))?;
    }
    Ok(())
}

fn compare(long: &Outcome, short: &Outcome) -> Option<String> {
    let flows = long.flows.iter().zip(&short.flows).find_map(|(long, short)| {
        let path = |field: &str| format!("flows.{}.{field}", long.name);
        of_values(&path("bytes_delivered"), &long.bytes_delivered, &short.bytes_delivered)
            .or_else(|| of_values(&path("goodput_bps"), &long.goodput_bps, &short.goodput_bps))
            .or_else(|| of_values(&path("throughput_bps"), &long.throughput_bps, &short.throughput_bps))
    });
    flows.or_else(|| of_lists("links", &long.links, &short.links, |link| &link.name))
}
