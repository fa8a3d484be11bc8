//! A scenario in which everything happens later has the same results at later times.

use super::exceptions::{Exception, without};
use super::{Case, Verdict, applies_if, is_valid, nanoseconds, probe_of_everything, same};
use crate::difference;
use crate::exit::Exit;
use dumbbell_net::impairment::Bernoulli;
use dumbbell_net::{ImpairmentSpec, LinkSpec, QueueSpec};
use dumbbell_sim::flows::{FlowSpec, Start};
use dumbbell_sim::{Outcome, Scenario};
use dumbbell_tcp::config::DelayForm;
use dumbbell_tcp::rtt::TimerSpec;
use dumbbell_tcp::{DelayedAck, RecoverySpec};
use dumbbell_units::Time;

/// The least shift, in nanoseconds: a multiple of no period that a person would choose.
const LEAST: u64 = 1_000_000_000_039;
/// The longest shift, in nanoseconds.
const MOST: u64 = 1 << 50;

/// Rules that count from the beginning of the run, which is not shifted.
const EXCEPTIONS: &[Exception] = &[
    Exception {
        name: "two-state losses begin with the run",
        replace: |scenario| {
            let losses = scenario.links.iter_mut().flat_map(|link| &mut link.impairments);
            losses.for_each(|impairment| {
                if let ImpairmentSpec::TwoState(model) = impairment {
                    *impairment = ImpairmentSpec::Bernoulli(Bernoulli { probability: model.loss });
                }
            });
        },
    },
    Exception {
        name: "link models begin with the run",
        replace: |scenario| scenario.links.iter_mut().for_each(|link| link.trace = None),
    },
    Exception {
        name: "the first update of pie counts from the beginning of the run",
        replace: |scenario| {
            for link in &mut scenario.links {
                if let QueueSpec::Pie(pie) = &mut link.queue {
                    pie.first_update = None;
                }
            }
        },
    },
    Exception {
        name: "random starts are rounded to nanoseconds",
        replace: |scenario| {
            for flow in &mut scenario.flows {
                if let Start::Uniform(_, to) = flow.start {
                    flow.start = Start::At(to);
                }
            }
        },
    },
];

/// Everything later by a common multiple of all periods.
pub fn holds(case: &Case<'_>) -> Verdict {
    let Some(by) = shift(&case.scenario) else {
        case.note_limit("periods without a common multiple");
        return Err(Exit::NotApplicable);
    };
    without(case, &case.scenario, EXCEPTIONS, |scenario| compare(case, scenario, by))
}

fn compare(case: &Case<'_>, scenario: &Scenario, by: u64) -> Verdict {
    // The scenario's own probes may be periodic, and samples are taken from the beginning of a run on.
    let mut scenario = Scenario { probes: vec![probe_of_everything(scenario)], ..scenario.clone() };
    // A window from the beginning on has no opportunity at its first instant, where the later one has that of the period
    // before.
    if scenario.links.iter().any(|link| link.opportunities.is_some()) {
        scenario.measure_from = scenario.measure_from.max(Time(1));
        applies_if(is_valid(&scenario))?;
    }
    let later = shifted(&scenario, Time(by));
    // A model of a link may have too many steps in a longer run.
    applies_if(is_valid(&later))?;
    let now = case.run(&scenario)?;
    let mut later = case.run(&later)?;
    bring_back(&mut later, by)?;
    let difference = difference::of_rows(&now, &later)
        .or_else(|| difference::of_values("simulated_s", &now.simulated_s, &later.simulated_s))
        .or_else(|| difference::of_values("conservation", &now.conservation, &later.conservation))
        .or_else(|| difference::of_recordings(&now, &later));
    same(difference.map(|difference| format!("later by {}: {difference}", Time(by))))
}

/// By how much everything is shifted: a common multiple of all periods that are counted from the beginning of a run.
/// `None` if there is none.
fn shift(scenario: &Scenario) -> Option<u64> {
    let of_links = scenario.links.iter().flat_map(periods);
    let period = of_links.chain(scenario.flows.iter().flat_map(ticks)).try_fold(1, common_multiple)?;
    let by = LEAST.div_ceil(period).checked_mul(period)?;
    (by + scenario.duration.0 < MOST).then_some(by)
}

/// Periods of what a link does.
fn periods(link: &LinkSpec) -> Vec<u64> {
    let opportunities = link.opportunities.as_ref().and_then(|spec| spec.times.last());
    let update = match &link.queue {
        QueueSpec::DualPi2(queue) => Some(queue.update.0),
        QueueSpec::Pie(queue) => Some(queue.update.0),
        QueueSpec::FqPie(queue) => Some(queue.update.0),
        _ => None,
    };
    opportunities.map(|length| length.saturating_mul(1_000_000)).into_iter().chain(update).collect()
}

/// Periods of the clocks of a flow's hosts.
fn ticks(flow: &FlowSpec) -> Vec<u64> {
    let Some(tcp) = &flow.tcp else { return Vec::new() };
    let timer = match &tcp.0.timer {
        TimerSpec::Bsd(timer) => timer.tick,
        TimerSpec::Rfc6298(timer) if timer.whole_ticks => timer.granularity,
        TimerSpec::Linux(timer) if tcp.0.timestamps => timer.timestamp_unit,
        _ => Time::ZERO,
    };
    let delayed = match &tcp.0.delayed_ack {
        DelayedAck::On(delayed) if delayed.on_tick => delayed.timer,
        _ => Time::ZERO,
    };
    let reordering = match &tcp.0.recovery {
        RecoverySpec::Rack(rack) => rack.reo_timer_tick,
        _ => Time::ZERO,
    };
    let growth = match &tcp.0.congestion {
        dumbbell_cc::AlgorithmSpec::Cubic(cubic) => cubic.tick,
        _ => Time::ZERO,
    };
    // The wheel of Linux has units that grow with the wait: 512 ticks of 4 ms for two minutes.
    let wheel = match &tcp.0.timer {
        TimerSpec::Linux(timer) => {
            let ticks = timer.maximum.0.checked_div(timer.tick.0).unwrap_or(0);
            let levels = (0..8).take_while(|level| ticks >= 63 << (3 * level)).count();
            Time(timer.tick.0 << (3 * levels))
        }
        _ => Time::ZERO,
    };
    let receiver = match &tcp.0.delayed_ack {
        DelayedAck::On(delayed) if delayed.form == DelayForm::Linux => Time(4_000_000),
        _ => Time::ZERO,
    };
    [timer, delayed, reordering, growth, wheel, receiver]
        .into_iter()
        .map(|time| time.0)
        .filter(|&period| period > 0)
        .collect()
}

fn common_multiple(one: u64, other: u64) -> Option<u64> {
    let (mut divisor, mut rest) = (one, other);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (one / divisor).checked_mul(other).filter(|&multiple| multiple < MOST)
}

/// The scenario with everything later.
fn shifted(scenario: &Scenario, by: Time) -> Scenario {
    let mut later = scenario.clone();
    let shift = |time: &mut Time| *time += by;
    shift(&mut later.duration);
    shift(&mut later.measure_from);
    later.measure_until.iter_mut().for_each(shift);
    for link in &mut later.links {
        link.changes.iter_mut().for_each(|change| shift(&mut change.at));
        link.outages.iter_mut().flat_map(|outage| [&mut outage.from, &mut outage.until]).for_each(shift);
    }
    for flow in &mut later.flows {
        match &mut flow.start {
            Start::At(at) => shift(at),
            Start::Uniform(from, to) => [from, to].into_iter().for_each(shift),
        }
        flow.stop.iter_mut().for_each(shift);
        flow.reroutes.iter_mut().for_each(|reroute| shift(&mut reroute.at));
        for restart in &mut flow.restarts {
            shift(&mut restart.start);
            restart.stop.iter_mut().for_each(shift);
        }
    }
    later
}

/// Subtracts a shift from every time of an outcome.
fn bring_back(outcome: &mut Outcome, by: u64) -> Result<(), Exit> {
    let seconds = |seconds: f64| {
        let at = nanoseconds(seconds).ok_or(Exit::NotApplicable)?;
        let early = || Exit::Broken(format!("something happens at {seconds} s, before everything"));
        Ok(Time(at.checked_sub(by).ok_or_else(early)?).secs())
    };
    outcome.simulated_s = seconds(outcome.simulated_s)?;
    for flow in &mut outcome.flows {
        flow.start_s = seconds(flow.start_s)?;
    }
    for recording in &mut outcome.recordings {
        for time in &mut recording.times {
            *time = seconds(*time)?;
        }
        for event in &mut recording.events {
            event.at = event.at.since(Time(by));
            if let Some(sender) = &mut event.sender {
                sender.at = sender.at.since(Time(by));
            }
        }
        recording.transfers.iter_mut().for_each(|row| row.began = row.began.since(Time(by)));
    }
    Ok(())
}
