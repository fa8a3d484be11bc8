//! Any link, and packets offered to it at any times. It never panics. Packets arrive in order, unless an impairment
//! reorders them, and no earlier than possible, each once unless it is dropped or copied. Its counters within a window
//! agree with its traced backlog, whether the end was known in advance or came early. It behaves identically when the
//! sequence is repeated.

#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use dumbbell_chaos::schema::value_of;
use dumbbell_fuzz::count_events;
use dumbbell_net::{BacklogChange, LinkStats};
use dumbbell_net::{DropReason, Link, LinkSpec, Offer, Packet, PacketKind};
use dumbbell_units::spec::{Field, Node};
use dumbbell_units::{Ecn, Interval, Stream, Time, Value};
use libfuzzer_sys::{Corpus, fuzz_target};
use std::sync::LazyLock;

/// Packets of one sequence, which repeats the input.
const PACKETS: usize = 1000;
/// Upper limit of times, so that a transmission can always be added: about nine years.
const END: u64 = 1 << 58;

/// The parser, the catalogue and this generator share the schema, so new parameters and impairments are covered without
/// a change.
static SCHEMA: LazyLock<Value> = LazyLock::new(LinkSpec::schema);

/// A table of `links` in a scenario.
#[derive(Debug)]
struct LinkTable(Value);

impl<'a> Arbitrary<'a> for LinkTable {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        value_of(&SCHEMA, &["l".to_owned()], u).map(LinkTable)
    }
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Gap {
    None,
    Nanoseconds(u8),
    Microseconds(u16),
    Milliseconds(u16),
    Seconds(u8),
}

impl Gap {
    fn time(self) -> Time {
        Time(match self {
            Gap::None => 0,
            Gap::Nanoseconds(n) => u64::from(n),
            Gap::Microseconds(n) => u64::from(n) * 1000,
            Gap::Milliseconds(n) => u64::from(n) * 1_000_000,
            Gap::Seconds(n) => u64::from(n) * 1_000_000_000,
        })
    }
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Entrance {
    gap: Gap,
    size: u16,
    is_data: bool,
    is_capable: bool,
    /// One of a few flows.
    flow: u8,
    /// Counts are settled before this packet, if the end is not known.
    settles: bool,
}

#[derive(Arbitrary, Debug)]
struct Input {
    link: LinkTable,
    stamps: bool,
    from: Gap,
    length: Gap,
    entrances: Vec<Entrance>,
}

fuzz_target!(|input: Input| -> Corpus {
    let Ok(spec) = LinkSpec::decode(&Node::root(&input.link.0)) else { return Corpus::Reject };
    let from = input.from.time();
    let window = Interval { from, until: from + input.length.time() };
    let known = drive(&spec, &input, window, End::Known);
    check_fates(&spec, &known);
    let traced = drive(&spec, &input, window, End::Traced);
    let early = drive(&spec, &input, window, End::Early);
    count_events(3 * PACKETS as u64);
    assert!(known.fates == traced.fates && known.fates == early.fates, "tracing and counting change nothing");
    assert_eq!(
        format!("{:?}", known.stats),
        format!("{:?}", traced.stats),
        "a trace changes what is counted"
    );
    assert_eq!(
        format!("{:?}", known.stats),
        format!("{:?}", early.stats),
        "an early end changes what is counted"
    );
    check_backlog(&traced, window);
    Corpus::Keep
});

/// When a link learns the end of the run.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Known,
    /// In advance, with a probe of its backlog.
    Traced,
    /// Only at the end of the window, which was not expected in its first half.
    Early,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Arrives(Time),
    Dropped(Time, DropReason),
}

struct Driven {
    /// Times at which packets were offered.
    entrances: Vec<Time>,
    /// Packets by number, in the order in which their fates were reported.
    fates: Vec<(u64, Fate)>,
    stats: LinkStats,
    backlog: Vec<BacklogChange>,
}

/// A scheduled link reports its departures and drops up to `now`.
fn take(link: &mut Link, now: Time, fates: &mut Vec<(u64, Fate)>) {
    let Link::Scheduled(link) = link else { return };
    while let Some(departed) = link.poll_departure(now) {
        fates.push((departed.token, Fate::Arrives(departed.arrives)));
    }
    while let Some(dropped) = link.poll_drop() {
        fates.push((dropped.token, Fate::Dropped(dropped.at, dropped.reason)));
    }
}

/// The counters of a link if the run ends at `end`.
fn ended_at(link: &Link, end: Time) -> LinkStats {
    let mut link = link.clone();
    link.end(end);
    *link.stats()
}

fn drive(spec: &LinkSpec, input: &Input, window: Interval, end: End) -> Driven {
    let open = Interval { until: Time::NEVER, ..window };
    let mut link =
        Link::new(spec, Stream::new(1, 0, "link:l"), if end == End::Early { open } else { window });
    if input.stamps {
        link.stamp_queueing();
    }
    match end {
        End::Known => {}
        End::Traced => link.records_mut().trace_backlog(),
        End::Early => link.expect_early_end(Time(window.from.0.midpoint(window.until.0))),
    }
    let mut at = Time::ZERO;
    let (mut entrances, mut fates) = (Vec::new(), Vec::new());
    let mut ended = None;
    for (number, entrance) in (0..).zip(input.entrances.iter().cycle().take(PACKETS)) {
        at = Time((at + entrance.gap.time()).0.min(END));
        if end == End::Early && at > window.until && ended.is_none() && matches!(link, Link::Scheduled(_)) {
            // A scheduled link is never ahead of the clock.
            ended = Some(ended_at(&link, window.until));
        }
        if entrance.settles {
            // The clock is never beyond the end of the run.
            link.settle(at.min(window.until));
        }
        let kind = if entrance.is_data { PacketKind::Data } else { PacketKind::Ack };
        let mut packet = Packet::of_size(u32::from(entrance.size).max(1), ());
        packet.kind = kind;
        packet.flow = u32::from(entrance.flow % 8);
        packet.ecn = if entrance.is_capable { Ecn::Ect0 } else { Ecn::NotEct };
        entrances.push(at);
        match &mut link {
            Link::Fifo(link) => match link.offer(at, &mut packet) {
                Offer::Arrives(arrival) => fates.push((number, Fate::Arrives(arrival))),
                Offer::ArrivesTwice => fates.push((number, Fate::Arrives(link.both_arrivals()[0]))),
                Offer::Dropped(reason) => fates.push((number, Fate::Dropped(at, reason))),
            },
            Link::Scheduled(link) => link.enqueue(at, number, &packet),
        }
        take(&mut link, at, &mut fates);
    }
    let last = if end == End::Early { window.until } else { window.until.max(at) };
    let stats = ended.unwrap_or_else(|| ended_at(&link, last));
    take(&mut link, Time(u64::MAX >> 1), &mut fates);
    Driven { entrances, fates, backlog: link.take_changes(Time::NEVER), stats }
}

/// Packets arrive in order, no earlier than the minimum delay after they were offered, and each has one fate.
fn check_fates(spec: &LinkSpec, driven: &Driven) {
    let mut last = Time::ZERO;
    let mut has_fate = vec![false; driven.entrances.len()];
    for &(number, fate) in &driven.fates {
        assert!(!std::mem::replace(&mut has_fate[number as usize], true), "packet {number} has two fates");
        let entered = driven.entrances[number as usize];
        match fate {
            Fate::Arrives(arrival) => {
                assert!(arrival >= last || !spec.keeps_order(), "{arrival} after {last}");
                assert!(arrival >= entered + spec.min_delay(), "{arrival} after {entered}");
                last = arrival;
            }
            Fate::Dropped(at, _) => assert!(at >= entered, "dropped before it entered"),
        }
    }
    assert!(has_fate.iter().all(|&has_fate| has_fate), "a packet vanished");
}

/// The backlog counters agree with the traced changes.
fn check_backlog(traced: &Driven, window: Interval) {
    let (mut waited, mut largest, mut before) = (0, 0, 0);
    let next =
        traced.backlog.iter().skip(1).map(|change| (change.at, change.waiting)).chain([(Time::NEVER, 0)]);
    for (change, (end, after)) in traced.backlog.iter().zip(next) {
        waited += u128::from(window.overlap(change.at, end).0) * change.waiting as u128;
        // The backlog at the beginning of the window counts, unless it changes at that very instant. Of packets that
        // depart simultaneously, the last one counts.
        let is_passing = change.waiting < before && end == change.at && after < change.waiting;
        if !is_passing && window.contains(change.at) || change.at < window.from && end > window.from {
            largest = largest.max(change.waiting);
        }
        before = change.waiting;
    }
    let stats = &traced.stats;
    assert_eq!(
        (stats.waited, stats.backlog_max),
        (waited, largest as u32),
        "{:?} in {window:?}",
        traced.backlog
    );
    assert!(stats.busy <= window.length().0, "{} ns busy in {window:?}", stats.busy);
    assert!(window.from > Time::ZERO || stats.drops() <= stats.packets);
}
