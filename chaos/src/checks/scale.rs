//! The engine has no unit of its own: with every time multiplied by two and every rate halved, or with every size and
//! rate doubled, the same packets are at the same nodes, at times or with sizes that are twice those before.
//!
//! Rates are first rounded such that a byte takes whole nanoseconds. Other times are rounded, and averages of times add
//! such errors up. Where the slower run has an odd time, or the same packet at a time that differs by less than
//! [`ROUNDING`], the engine has rounded; both runs are compared up to that instant, and never in their last moments if
//! only one of them has packets there.

use super::exceptions::{Exception, without};
use super::{Case, Verdict, require};
use crate::dimensions::{Scale, with_whole_times};
use crate::exit::Exit;
use crate::packets::Packet;
use dumbbell_cc::algorithms::cubic::CubicRule;
use dumbbell_cc::{AlgorithmSpec, Growth, ReductionBase, SlowStartSpec, WindowValidation};
use dumbbell_net::impairment::jitter::{Distribution, Jitter};
use dumbbell_net::queues::dualpi2::SchedulerKind;
use dumbbell_net::queues::pie::DelayMeasure;
use dumbbell_net::{ImpairmentSpec, LinkSpec, QueueSpec, SourceSpec};
use dumbbell_sim::flows::FlowSpec;
use dumbbell_sim::{LinkOutcome, Scenario};
use dumbbell_tcp::config::DelayForm;
use dumbbell_tcp::rtt::TimerSpec;
use dumbbell_tcp::{DelayedAck, RecoverySpec, TcpParams};
use dumbbell_units::spec::{Field, Node};
use dumbbell_units::{Bytes, Limit, Time};
use serde_json::json;

const TIME: Scale = Scale { time: 1, size: 0 };
const SIZE: Scale = Scale { time: 0, size: 1 };

/// Rules with times that no parameter states, or that are not proportional to times.
const OF_TIMES: &[Exception] = &[
    Exception {
        name: "rack probes after 1 s without a sample",
        replace: |scenario| {
            of_tcp(scenario, |tcp| {
                if tcp.recovery.name() == "rack" {
                    replace_by(&mut tcp.recovery, RecoverySpec::named("sack"));
                }
            })
        },
    },
    Exception {
        name: "unused windows are reduced after 1 s or 300 s",
        replace: |scenario| of_tcp(scenario, |tcp| tcp.window.validation = WindowValidation::Restart),
    },
    Exception {
        name: "quick acknowledgements return after 200 ms or 1 s, and receivers measure in milliseconds",
        replace: |scenario| {
            of_tcp(scenario, |tcp| {
                if let DelayedAck::On(delayed) = &mut tcp.delayed_ack {
                    delayed.form = DelayForm::Plain;
                    (delayed.quick_again, delayed.quick_growing) = (false, false);
                }
            })
        },
    },
    Exception {
        name: "closed windows are probed within 60 s, and windows grow by milliseconds",
        replace: without_reading,
    },
    Exception {
        name: "linux falls back to a timeout of 3 s and gives up after 924.6 s",
        replace: |scenario| {
            of_tcp(scenario, |tcp| {
                if tcp.timer.name() == "linux" {
                    replace_by(&mut tcp.timer, TimerSpec::named("rfc6298"));
                }
            })
        },
    },
    Exception {
        name: "hystart has a cushion of 1 ms",
        replace: |scenario| {
            of_tcp(scenario, |tcp| {
                if tcp.window.slow_start.name() == "hystart" {
                    tcp.window.slow_start = SlowStartSpec::default();
                }
            })
        },
    },
    Exception {
        name: "cubic of linux updates after 1/32 s",
        replace: |scenario| {
            of_tcp(scenario, |tcp| {
                if let AlgorithmSpec::Cubic(cubic) = &mut tcp.congestion {
                    cubic.growth = CubicRule::Rfc;
                }
            })
        },
    },
    Exception {
        name: "bbr starts with a round-trip time of 1 ms and measures policers for 1 ms",
        replace: |scenario| {
            of_tcp(scenario, |tcp| {
                if ["bbr", "bbr3"].contains(&tcp.congestion.name()) {
                    replace_by(&mut tcp.congestion, AlgorithmSpec::named("reno"));
                }
            })
        },
    },
    Exception {
        name: "htcp grows by seconds",
        replace: |scenario| {
            of_tcp(scenario, |tcp| {
                if tcp.congestion.name() == "htcp" {
                    replace_by(&mut tcp.congestion, AlgorithmSpec::named("reno"));
                }
            })
        },
    },
    Exception {
        name: "tcplib has times in milliseconds",
        replace: |scenario| of_sources(scenario, &["tcplib"], "transfer"),
    },
    Exception {
        name: "media adapts by seconds",
        replace: |scenario| of_sources(scenario, &["media"], "cbr"),
    },
    Exception { name: "link models step in milliseconds", replace: without_models },
    Exception {
        name: "red averages over 1 s by default",
        replace: |scenario| {
            of_links(scenario, |link| {
                if let QueueSpec::Red(red) = &mut link.queue {
                    red.weight = red.weight.or(Some(0.002));
                }
            })
        },
    },
    Exception {
        name: "codel and cobalt round times between drops",
        replace: |scenario| {
            // Each time loses up to 1 ns, and these add up: one of a thousand drops may come a packet later. In a run of
            // eight intervals there are about 18 drops.
            let least = Time(scenario.duration.0.div_ceil(8));
            of_links(scenario, |link| {
                let interval = match &mut link.queue {
                    QueueSpec::CoDel(queue) => &mut queue.interval,
                    QueueSpec::FqCoDel(queue) => &mut queue.interval,
                    QueueSpec::Cobalt(queue) => &mut queue.interval,
                    _ => return,
                };
                // Errors of a nanosecond also matter for intervals of some.
                *interval = (*interval).max(least).max(Time(1_000_000));
            })
        },
    },
    Exception {
        name: "dualpi2 holds 250 ms by default",
        replace: |scenario| {
            of_links(scenario, |link| {
                if let QueueSpec::DualPi2(queue) = &mut link.queue {
                    queue.limit = queue.limit.or(Some(Limit::Packets(10_000)));
                }
            })
        },
    },
    Exception {
        name: "uniform jitter is the remainder of a number",
        replace: |scenario| {
            of_links(scenario, |link| {
                for jitter in
                    random_delays(link).filter(|jitter| jitter.distribution == Distribution::Uniform)
                {
                    jitter.distribution = Distribution::Normal;
                    round_to_table(jitter);
                }
            })
        },
    },
    Exception {
        name: "jitter of a table is rounded",
        replace: |scenario| of_links(scenario, |link| random_delays(link).for_each(round_to_table)),
    },
];

/// Rules with sizes that no parameter states, and sizes that are rounded to bytes.
const OF_SIZES: &[Exception] = &[
    Exception {
        name: "receive windows of linux begin with 64 kB",
        replace: |scenario| {
            of_tcp(scenario, |tcp| {
                if let DelayedAck::On(delayed) = &mut tcp.delayed_ack {
                    delayed.quick_growing = false;
                }
            })
        },
    },
    Exception { name: "windows that grow begin with 64 kB", replace: without_reading },
    Exception {
        name: "the option of queueing times has 8 bytes",
        replace: |scenario| of_tcp(scenario, |tcp| tcp.aqt = false),
    },
    Exception {
        name: "a packet has at least one byte",
        replace: |scenario| {
            of_tcp(scenario, |tcp| tcp.headers.data = tcp.headers.data.max(Bytes(1)));
        },
    },
    Exception {
        name: "windows and thresholds are whole bytes",
        replace: |scenario| {
            of_tcp(scenario, |tcp| {
                tcp.window.extra_eighth = false;
                if tcp.window.growth == Growth::Whole {
                    tcp.window.growth = Growth::Real;
                }
                if tcp.window.reduction_base == ReductionBase::Pipe {
                    tcp.window.reduction_base = ReductionBase::Flight;
                }
                if tcp.congestion.name() == "nsvegas" {
                    replace_by(&mut tcp.congestion, AlgorithmSpec::named("reno"));
                }
            })
        },
    },
    Exception {
        name: "tcplib has sizes in bytes",
        replace: |scenario| of_sources(scenario, &["tcplib"], "transfer"),
    },
    Exception {
        name: "drawn sizes are whole bytes",
        replace: |scenario| scenario.flows.iter_mut().for_each(fix_sizes),
    },
    Exception {
        name: "frames and segments of video are whole bytes",
        replace: |scenario| {
            of_sources(scenario, &["video", "media"], "cbr");
            of_sources(scenario, &["streaming"], "transfer");
        },
    },
    Exception { name: "opportunities of link models have 1504 bytes", replace: without_models },
    Exception {
        name: "dualpi2 begins with a credit for 1500 bytes",
        replace: |scenario| {
            of_links(scenario, |link| {
                if let QueueSpec::DualPi2(queue) = &mut link.queue {
                    queue.scheduler = SchedulerKind::Wrr;
                }
            })
        },
    },
    Exception {
        name: "the second bucket of a shaper has 1514 bytes by default",
        replace: |scenario| {
            of_links(scenario, |link| {
                if let QueueSpec::TokenBucket(queue) = &mut link.queue
                    && queue.peak_rate.is_some()
                {
                    queue.peak_burst = queue.peak_burst.or(Some(Bytes(1514)));
                }
            })
        },
    },
    Exception {
        name: "pie measures rates over 16 KiB",
        replace: |scenario| {
            of_links(scenario, |link| match &mut link.queue {
                QueueSpec::Pie(pie) if pie.delay == DelayMeasure::Rate => pie.delay = DelayMeasure::Head,
                QueueSpec::FqPie(pie) if pie.delay == DelayMeasure::Rate => pie.delay = DelayMeasure::Head,
                _ => {}
            })
        },
    },
];

fn of_tcp(scenario: &mut Scenario, change: impl Fn(&mut TcpParams)) {
    scenario.flows.iter_mut().filter_map(|flow| flow.tcp.as_mut()).for_each(|tcp| change(&mut tcp.0));
}

fn of_links(scenario: &mut Scenario, change: impl Fn(&mut LinkSpec)) {
    scenario.links.iter_mut().for_each(change);
}

/// Impairments that delay each packet for another time.
fn random_delays(link: &mut LinkSpec) -> impl Iterator<Item = &mut Jitter> {
    link.impairments.iter_mut().filter_map(|impairment| match impairment {
        ImpairmentSpec::Jitter(jitter) if jitter.jitter > Time::ZERO => Some(jitter),
        _ => None,
    })
}

/// Entries of the tables of netem are in units of this part of the jitter.
const TABLE_SCALE: u64 = 8192;

/// Gives delays a deviation with which every entry of a table is a whole number of nanoseconds.
fn round_to_table(jitter: &mut Jitter) {
    jitter.jitter = Time((jitter.jitter.0 / TABLE_SCALE).max(1) * TABLE_SCALE);
}

fn without_reading(scenario: &mut Scenario) {
    of_tcp(scenario, |tcp| tcp.reading = None);
}

fn without_models(scenario: &mut Scenario) {
    of_links(scenario, |link| link.trace = None);
}

fn of_sources(scenario: &mut Scenario, names: &[&str], instead: &str) {
    for flow in scenario.flows.iter_mut().filter(|flow| names.contains(&flow.source.name())) {
        replace_by(&mut flow.source, SourceSpec::decode(&Node::root(&json!(instead))).ok());
    }
}

fn replace_by<T>(place: &mut T, other: Option<T>) {
    if let Some(other) = other {
        *place = other;
    }
}

/// Gives all transfers of a source the same size.
fn fix_sizes(flow: &mut FlowSpec) {
    let mut encoded = flow.source.encode();
    for member in ["sizes", "document"] {
        if encoded.get(member).is_some_and(|sizes| sizes.get("kind").is_some_and(|kind| kind != "fixed")) {
            encoded[member] = json!("fixed");
            replace_by(&mut flow.source, SourceSpec::decode(&Node::root(&encoded)).ok());
        }
    }
}

/// Times twice as long, and rates halved.
pub fn time(case: &Case<'_>) -> Verdict {
    let scenario = with_whole_times(&without_probes(&case.scenario)).ok_or(Exit::NotApplicable)?;
    without(case, &scenario, OF_TIMES, |scenario| compare(case, scenario, TIME))
}

/// Sizes and rates doubled.
pub fn size(case: &Case<'_>) -> Verdict {
    without(case, &without_probes(&case.scenario), OF_SIZES, |scenario| compare(case, scenario, SIZE))
}

fn without_probes(scenario: &Scenario) -> Scenario {
    Scenario { probes: Vec::new(), ..scenario.clone() }
}

fn compare(case: &Case<'_>, scenario: &Scenario, scale: Scale) -> Verdict {
    let scaled = scale.of(scenario).map_err(|member| {
        case.note_limit(format!("{member} is limited"));
        Exit::NotApplicable
    })?;
    let (outcome, mut packets) = case.run_with_packets(scenario)?;
    let (against, mut others) = case.run_with_packets(&scaled)?;
    // At an instant, neither nodes nor flows have an order: packets that enter different links are handled apart. In which
    // order they entered the same link shows at its end.
    for packets in [&mut packets, &mut others] {
        packets.sort_by_key(|packet| (packet.at, packet.node, packet.flow, packet.is_reverse()));
    }
    let rounded = rounded(&packets, &others, scale, scenario.duration);
    if let Some(at) = rounded {
        case.note_limit("compared up to a rounded time");
        let (before, others) = (until(&packets, at, 0), until(&others, at, scale.time));
        return compare_packets(before, others, scale);
    }
    compare_packets(&packets, &others, scale)?;
    for (one, other) in outcome.links.iter().zip(&against.links) {
        let counts = |link: &LinkOutcome| (link.packets, link.drops(), link.marks, link.backlog_max_packets);
        require(counts(one) == counts(other), || {
            format!(
                "links.{}: {:?} against {:?} packets, drops and marks",
                one.name,
                counts(one),
                counts(other)
            )
        })?;
    }
    Ok(())
}

/// Errors of averages of times, in nanoseconds: those of a round-trip time add up to 8 ns, its variation counts four
/// times, and a timeout doubles up to six times.
const ROUNDING: u64 = 2_000;

/// The time in the faster run from which on rounding may matter.
fn rounded(packets: &[Packet], others: &[Packet], scale: Scale, end: Time) -> Option<u64> {
    let factor = 1 << scale.time;
    let odd = others.iter().find(|packet| packet.at % factor != 0).map(|packet| packet.at / factor);
    let is_close = |one: &Packet, other: &Packet| {
        let apart = (one.at * factor).abs_diff(other.at);
        apart > 0 && apart < ROUNDING
    };
    let close = packets.iter().zip(others).find(|(one, other)| one.at * factor != other.at);
    let close = close.filter(|(one, other)| scale.time > 0 && is_close(one, other));
    let close = close.map(|(one, other)| one.at.min(other.at / factor));
    // A packet of the last moments of one run may come after the end of the other one.
    let is_cut = scale.time > 0 && packets.len() != others.len();
    let last = is_cut.then(|| end.0.saturating_sub(ROUNDING));
    odd.into_iter().chain(close).chain(last).min()
}

/// The packets before a time of the faster run.
fn until(packets: &[Packet], end: u64, time: i32) -> &[Packet] {
    &packets[..packets.partition_point(|packet| packet.at >> time < end)]
}

fn compare_packets(packets: &[Packet], others: &[Packet], scale: Scale) -> Verdict {
    for (number, (one, other)) in packets.iter().zip(others).enumerate() {
        let (one, other) = (one.carried(1, 1), other.carried(1 << scale.time, 1 << scale.size));
        require(one == other, || format!("packet {number}: {one:?} against {other:?}"))?;
    }
    require(packets.len() == others.len(), || format!("{} packets against {}", packets.len(), others.len()))
}
