//! Impairments, one file each, and the registry that names them: losses other than queue drops, delays that vary,
//! reordering and duplication.
//!
//! They are in series, in the order in which the link lists them. The first one takes a packet when its transmission
//! ends, so lost packets use the capacity of the link; each further one takes it when the one before releases it. Their
//! delays add to the propagation delay of the link.
//!
//! A delayed packet may be overtaken by the packets behind it; such a link is not first in, first out beyond its
//! transmitter ([`ImpairmentSpec::keep_order`]). The fate of a packet is known when its transmission ends, before those
//! of the packets behind it. Behind an impairment that reorders, the others therefore still handle packets in the order
//! of sending, each at its own time: what depends on packets (bursts of losses, ordinals, a rate) follows that order.

use crate::changes::Outage;
use dumbbell_units::spec::Params;
use dumbbell_units::{Stream, Time, tagged};

mod correlated;
mod table;

/// A packet that reaches an impairment.
#[derive(Clone, Copy, Debug)]
pub struct Passing {
    /// When the impairment before releases it, or the end of its transmission.
    pub at: Time,
    /// Size on the wire, in bytes.
    pub size: u32,
    /// True if it carries data.
    pub is_data: bool,
    /// True if it is the copy that a duplication has made.
    pub is_copy: bool,
}

impl Passing {
    /// A packet of data.
    pub fn of_data(at: Time, size: u32) -> Self {
        Passing { at, size, is_data: true, is_copy: false }
    }
}

/// What an impairment does to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Pass,
    /// The packet is lost.
    Lose,
    /// It arrives this much later.
    Delay(Time),
    /// A copy of it follows, which the remaining impairments treat as a packet of its own.
    Duplicate,
}

impl Effect {
    /// Loss of the packet, if `is_lost`.
    #[inline]
    pub fn lose_if(is_lost: bool) -> Self {
        if is_lost { Effect::Lose } else { Effect::Pass }
    }
}

/// A contradicting parameter: its name and the accepted values.
pub type Contradiction = (&'static str, String);

/// Parameters of an impairment.
pub trait Impair: Params {
    /// State between packets.
    type State;

    /// The state at the start of a run.
    fn start(&self) -> Self::State;

    /// Decides about a packet. Calls are in the order of sending, and so are the times unless an impairment before this
    /// one reorders. A state that depends on time must not go back.
    fn act(state: &mut Self::State, passing: &Passing, random: &mut Stream) -> Effect;

    /// True if packets leave in the order of sending, given whether they enter in that order.
    fn keeps_order(&self, enter_in_order: bool) -> bool {
        enter_in_order
    }

    /// The parameter that contradicts another one, if any.
    fn contradiction(&self) -> Option<Contradiction> {
        None
    }
}

macro_rules! registry {
    ( $( $(#[doc = $about:literal])+ $name:literal => $module:ident::$Spec:ident, )+ ) => {
        $( #[doc = concat!("The impairment `", $name, "`.")] pub mod $module; )+
        $( pub use $module::$Spec; )+

        tagged! {
            /// An impairment with its parameters.
            pub enum ImpairmentSpec by "kind" {
                $( $(#[doc = $about])+ $Spec($module::$Spec) = $name, )+
            }
        }

        impl ImpairmentSpec {
            /// See [`Impair::keeps_order`].
            fn keeps_order(&self, enter_in_order: bool) -> bool {
                match self { $( ImpairmentSpec::$Spec(params) => params.keeps_order(enter_in_order), )+ }
            }

            /// See [`Impair::contradiction`].
            pub fn contradiction(&self) -> Option<Contradiction> {
                match self { $( ImpairmentSpec::$Spec(params) => params.contradiction(), )+ }
            }

            fn start(&self) -> Impairment {
                match self { $( ImpairmentSpec::$Spec(params) => Impairment::$Spec(params.start()), )+ }
            }
        }

        /// The state of one impairment of one link.
        #[derive(Clone, Debug)]
        enum Impairment {
            $( $Spec(<$module::$Spec as Impair>::State), )+
        }

        impl Impairment {
            #[inline]
            fn act(&mut self, passing: &Passing, random: &mut Stream) -> Effect {
                match self { $( Impairment::$Spec(state) => $module::$Spec::act(state, passing, random), )+ }
            }
        }
    };
}

registry! {
    /// Loses specified data packets.
    "forced" => forced::Forced,
    /// Loses every packet with the same probability.
    "bernoulli" => bernoulli::Bernoulli,
    /// Loses packets in bad periods.
    "twostate" => twostate::TwoState,
    /// Loses packets at random, with draws that follow each other as in netem.
    "corrloss" => corrloss::CorrelatedLoss,
    /// Loses packets by the model of Gilbert and Elliott, whose state changes with packets.
    "gilbert" => gilbert::Gilbert,
    /// Loses packets by a Markov chain of four states: bursts with gaps in them, and isolated losses.
    "markov" => markov::Markov,
    /// Delays every packet by a random time, and reorders packets that way.
    "jitter" => jitter::Jitter,
    /// Delays packets except for some, which overtake those before them.
    "reorder" => reorder::Reorder,
    /// Delays packets until slots in which they leave together.
    "slot" => slot::Slot,
    /// Delivers some packets twice.
    "duplicate" => duplicate::Duplicate,
}

impl ImpairmentSpec {
    /// True if packets leave these impairments, in series, in the order of sending, and each at most once.
    pub fn keep_order(specs: &[ImpairmentSpec]) -> bool {
        let make_copies = specs.iter().any(|spec| matches!(spec, ImpairmentSpec::Duplicate(_)));
        !make_copies && specs.iter().fold(true, |are_in_order, spec| spec.keeps_order(are_in_order))
    }

    /// True if at most one of these impairments makes copies, so that a packet arrives at most twice.
    pub fn duplicate_at_most_once(specs: &[ImpairmentSpec]) -> bool {
        specs.iter().filter(|spec| matches!(spec, ImpairmentSpec::Duplicate(_))).count() <= 1
    }
}

/// What remains of a packet after the impairments of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Delay of the packet beyond propagation; `None` if it is lost.
    pub first: Option<Time>,
    /// That of its copy, if both arrive. If only the copy does, it takes the place of the packet.
    pub second: Option<Time>,
}

impl Passed {
    /// Arrives without delay.
    pub const UNHARMED: Passed = Passed { first: Some(Time::ZERO), second: None };
}

/// The impairments of one link.
#[derive(Clone, Debug)]
pub struct Impairments {
    each: Vec<Impairment>,
    /// Intervals in which all packets are lost, in order and disjoint.
    outages: Vec<(Time, Time)>,
    random: Stream,
    data_seen: u64,
}

impl Impairments {
    /// Their states at the start of a run; `None` if there are none.
    pub fn new(specs: &[ImpairmentSpec], outages: &[Outage], random: Stream) -> Option<Self> {
        let impairments = Impairments::possibly_none(specs, outages, random);
        (!impairments.each.is_empty() || !impairments.outages.is_empty()).then_some(impairments)
    }

    /// Their states at the start of a run; without any, packets are only counted.
    pub fn possibly_none(specs: &[ImpairmentSpec], outages: &[Outage], random: Stream) -> Self {
        let each = specs.iter().map(ImpairmentSpec::start).collect();
        Impairments { each, outages: Outage::losing(outages), random, data_seen: 0 }
    }

    /// What remains of a packet. Its transmission ends at `at`, no earlier than that of the previous packet.
    pub fn pass(&mut self, at: Time, size: u32, is_data: bool) -> Passed {
        self.data_seen += u64::from(is_data);
        let next = self.outages.partition_point(|&(_, until)| until <= at);
        if self.outages.get(next).is_some_and(|&(from, _)| from <= at) {
            return Passed { first: None, second: None };
        }
        let (first, copy) = self.run(Passing { at, size, is_data, is_copy: false }, 0);
        let second = copy.and_then(|(copy, next)| self.run(copy, next).0);
        let delay = |released: Option<Time>| released.map(|released| released.since(at));
        match first {
            None => Passed { first: delay(second), second: None },
            first => Passed { first: delay(first), second: delay(second) },
        }
    }

    /// Takes a packet through the impairments from one on. Returns when the last one releases it, unless it is lost, and
    /// its copy with the impairment that takes it next, if there is one.
    fn run(&mut self, mut packet: Passing, from: usize) -> (Option<Time>, Option<(Passing, usize)>) {
        let mut copy = None;
        for (number, impairment) in self.each.iter_mut().enumerate().skip(from) {
            match impairment.act(&packet, &mut self.random) {
                Effect::Pass => {}
                Effect::Lose => return (None, copy),
                Effect::Delay(delay) => packet.at += delay,
                Effect::Duplicate => copy = Some((Passing { is_copy: true, ..packet }, number + 1)),
            }
        }
        (Some(packet.at), copy)
    }

    /// Number of data packets so far, which is the ordinal of the last one, counted from 1 as for forced losses.
    pub fn data_seen(&self) -> u64 {
        self.data_seen
    }
}

/// Sends packets of 1500 bytes at `gap` nanoseconds through an impairment, and returns what it does to each.
#[cfg(test)]
pub(crate) fn effects<S: Impair>(params: &S, gap: u64, count: u64) -> Vec<Effect> {
    let (mut state, mut random) = (params.start(), Stream::new(1, 0, "link:w"));
    (0..count).map(|k| S::act(&mut state, &Passing::of_data(Time(k * gap), 1500), &mut random)).collect()
}

/// Fraction of packets that an impairment loses.
#[cfg(test)]
pub(crate) fn loss_of<S: Impair>(params: &S, count: u64) -> f64 {
    effects(params, 1_000_000, count).iter().filter(|&&effect| effect == Effect::Lose).count() as f64
        / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Rate;

    #[test]
    fn a_lost_packet_is_replaced_by_its_copy() {
        // Every packet is doubled, then half of the packets are lost: a quarter arrives twice, a quarter not at all.
        let specs = [
            ImpairmentSpec::Duplicate(Duplicate { probability: 1.0, ..Duplicate::default() }),
            ImpairmentSpec::Bernoulli(Bernoulli { probability: 0.5 }),
        ];
        let mut link = Impairments::new(&specs, &[], Stream::new(1, 0, "link:w")).unwrap();
        let passed: Vec<_> = (0..40_000).map(|k| link.pass(Time(k), 1500, true)).collect();
        let share = |of: fn(&Passed) -> bool| passed.iter().filter(|p| of(p)).count() as f64 / 40_000.0;
        assert!((share(|passed| passed.second.is_some()) - 0.25).abs() < 0.01);
        assert!((share(|passed| passed.first.is_none()) - 0.25).abs() < 0.01);
        assert!(passed.iter().all(|passed| passed.first.is_some() || passed.second.is_none()));
        // Of duplication before and after loss, only the first makes copies with fates of their own.
        let reversed: Vec<_> = specs.iter().rev().cloned().collect();
        let mut link = Impairments::new(&reversed, &[], Stream::new(1, 0, "link:w")).unwrap();
        assert!(
            (0..1000)
                .map(|k| link.pass(Time(k), 1500, true))
                .all(|p| p.first.is_some() == p.second.is_some())
        );
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn an_impairment_takes_a_packet_when_the_one_before_releases_it() {
        let delay = Time(2 * MS);
        // 1500 bytes at 8 Mbit/s take 1.5 ms.
        let slow = Jitter { delay, jitter: Time::ZERO, rate: Some(Rate(8_000_000)), ..Jitter::default() };
        let pass = |second: Jitter| {
            let specs = [ImpairmentSpec::Jitter(slow.clone()), ImpairmentSpec::Jitter(second)];
            let mut link = Impairments::new(&specs, &[], Stream::new(1, 0, "link:w")).unwrap();
            [0, 0, 0].map(|at| link.pass(Time(at), 1500, true).first.map(|delay| delay.0 as f64 / MS as f64))
        };
        // The first releases packets at 3.5, 5 and 6.5 ms; the second at 3.5 + 2 + 1.5 ms and 1.5 ms after each other.
        assert_eq!(pass(slow.clone()), [Some(7.0), Some(8.5), Some(10.0)]);
        // The second still has the first packet, until 7 ms, when it gets the others at 5 and 6.5 ms.
        assert_eq!(pass(Jitter { limit: 1, ..slow.clone() }), [Some(7.0), None, None]);
        // Without a rate, it releases the first one at 5.5 ms, which is between the others.
        let quick = Jitter { rate: None, limit: 1, ..slow.clone() };
        assert_eq!(pass(quick), [Some(5.5), None, Some(8.5)]);
    }

    #[test]
    fn a_state_that_depends_on_time_does_not_go_back_with_packets_out_of_order() {
        // Good until 10 ms, then bad for ever, which loses everything.
        let bad =
            TwoState { good: Time(10 * MS), bad: Time::NEVER, loss: 1.0, change: 1.0, ..TwoState::default() };
        let sparing = Reorder { delay: Time(20 * MS), probability: 1.0, gap: 2, ..Reorder::default() };
        let specs = [ImpairmentSpec::Reorder(sparing), ImpairmentSpec::TwoState(bad)];
        let mut link = Impairments::new(&specs, &[], Stream::new(1, 0, "link:w")).unwrap();
        // The second one overtakes the first: it is in time, but handled after it.
        assert_eq!([0, 0].map(|at| link.pass(Time(at), 1500, true).first), [None, None]);
    }

    #[test]
    fn a_copy_continues_where_it_was_made() {
        let constant = |ms: u64| {
            let delay = Time(ms * MS);
            ImpairmentSpec::Jitter(Jitter { delay, jitter: Time::ZERO, ..Jitter::default() })
        };
        let twice = ImpairmentSpec::Duplicate(Duplicate { probability: 1.0, ..Duplicate::default() });
        let specs = [constant(2), twice, constant(5)];
        let mut link = Impairments::new(&specs, &[], Stream::new(1, 0, "link:w")).unwrap();
        let passed = link.pass(Time::ZERO, 1500, true);
        assert_eq!(passed, Passed { first: Some(Time(7 * MS)), second: Some(Time(7 * MS)) });
        assert!(!ImpairmentSpec::duplicate_at_most_once(&[specs[1].clone(), specs[1].clone()]));
    }

    #[test]
    fn a_copy_has_no_ordinal_for_forced_losses() {
        let specs = [
            ImpairmentSpec::Duplicate(Duplicate { probability: 1.0, ..Duplicate::default() }),
            ImpairmentSpec::Forced(Forced { packets: vec![2] }),
        ];
        let mut link = Impairments::new(&specs, &[], Stream::new(1, 0, "link:w")).unwrap();
        // The copy of the second packet takes its place.
        let arrive_twice = [0, 1, 2].map(|at| link.pass(Time(at), 1500, true).second.is_some());
        assert_eq!(arrive_twice, [true, false, true]);
    }

    #[test]
    fn an_outage_loses_what_ends_within_it() {
        let outage = Outage { from: Time(10), until: Time(20), ..Outage::default() };
        let mut link = Impairments::new(&[], &[outage], Stream::new(1, 0, "link:w")).unwrap();
        let arrives: Vec<bool> =
            [0, 9, 10, 19, 20].map(|at| link.pass(Time(at), 1500, true).first.is_some()).to_vec();
        assert_eq!((arrives, link.data_seen()), (vec![true, true, false, false, true], 5));
    }
}
