//! Links whose impairments are in series keep packets in order exactly if they say so.

use dumbbell_net::impairment::jitter::Distribution;
use dumbbell_net::impairment::{Duplicate, Jitter, Reorder};
use dumbbell_net::{ImpairmentSpec, LinkSpec, Offer, Packet};
use dumbbell_net::{Link, LinkChange};
use dumbbell_units::spec::{Field, Node};
use dumbbell_units::{Interval, Rate, Stream, Time};

const ALWAYS: Interval = Interval { from: Time::ZERO, until: Time::NEVER };
const MS: u64 = 1_000_000;

/// Delays between 1 and 20 ms that vary by at least as much as 1 ms.
fn jitter(random: &mut Stream) -> Jitter {
    let mut time = |most: f64| Time((random.uniform() * most) as u64 * MS + MS);
    let (delay, jitter) = (time(19.0), time(9.0));
    let distribution = [Distribution::Uniform, Distribution::Pareto][usize::from(random.chance(0.5))];
    Jitter { delay, jitter, distribution, ..Jitter::default() }
}

/// Every registered impairment, some with parameters drawn at random, and every kind of jitter.
fn menu(random: &mut Stream) -> Vec<ImpairmentSpec> {
    let registered = ImpairmentSpec::NAMES.iter().map(|&name| {
        match ImpairmentSpec::decode(&Node::root(&name.into())).expect(name) {
            ImpairmentSpec::Reorder(spec) => ImpairmentSpec::Reorder(Reorder { probability: 0.2, ..spec }),
            ImpairmentSpec::Duplicate(spec) => {
                ImpairmentSpec::Duplicate(Duplicate { probability: 0.2, ..spec })
            }
            other => other,
        }
    });
    let mut menu: Vec<ImpairmentSpec> = registered.collect();
    let rate = Rate(20_000_000 + (random.uniform() * 30e6) as u64);
    menu.push(ImpairmentSpec::Jitter(jitter(random)));
    menu.push(ImpairmentSpec::Jitter(Jitter { jitter: Time::ZERO, ..jitter(random) }));
    menu.push(ImpairmentSpec::Jitter(Jitter { rate: Some(rate), ..jitter(random) }));
    menu.push(ImpairmentSpec::Jitter(Jitter { rate: Some(rate), limit: 20, ..jitter(random) }));
    menu
}

/// All chains of up to three impairments of a menu that a link accepts.
fn chains(menu: &[ImpairmentSpec]) -> Vec<Vec<ImpairmentSpec>> {
    let mut chains = vec![Vec::new()];
    let mut longest = 0;
    for _ in 0..3 {
        let longer: Vec<Vec<ImpairmentSpec>> = chains[longest..]
            .iter()
            .flat_map(|chain| menu.iter().map(|spec| [chain.as_slice(), std::slice::from_ref(spec)].concat()))
            .collect();
        longest = chains.len();
        chains.extend(longer);
    }
    chains.retain(|chain| ImpairmentSpec::duplicate_at_most_once(chain));
    chains
}

/// True if a packet overtakes another one on a link, or arrives twice, of 400 that enter in bursts at its rate.
fn reorders(spec: &LinkSpec, random: &mut Stream) -> bool {
    let mut link = Link::new(spec, random.fork(), ALWAYS);
    let Link::Fifo(link) = &mut link else { panic!("a FIFO link") };
    let (mut at, mut last) = (0.0, Time::ZERO);
    (0..400).any(|_| {
        at += if random.chance(0.5) { 0.0 } else { random.exponential(2e-3) };
        match link.offer(Time::from_secs(at), &mut Packet::of_size(1500, ())) {
            Offer::Arrives(arrival) => std::mem::replace(&mut last, arrival) > arrival,
            Offer::ArrivesTwice => true,
            Offer::Dropped(_) => false,
        }
    })
}

fn for_all_chains(mut check: impl FnMut(LinkSpec, &mut Stream)) {
    for round in 0..3 {
        let mut random = Stream::new(1, round, "chains");
        for impairments in chains(&menu(&mut random)) {
            let rate = Rate(12_000_000);
            check(LinkSpec { name: "l".into(), rate, impairments, ..LinkSpec::default() }, &mut random);
        }
    }
}

#[test]
fn a_chain_of_impairments_keeps_order_exactly_if_the_link_says_so() {
    let mut kept = 0;
    for_all_chains(|spec, random| {
        assert_eq!(reorders(&spec, random), !spec.keeps_order(), "{:?}", spec.impairments);
        kept += usize::from(spec.keeps_order());
    });
    assert!(kept > 1000, "{kept}");
}

#[test]
fn a_chain_that_keeps_order_keeps_it_when_the_delay_of_the_link_falls() {
    for_all_chains(|mut spec, random| {
        spec.delay = Time(50 * MS);
        let fall =
            |at: u64, delay: u64| LinkChange { at: Time(at * MS), delay: Some(Time(delay * MS)), rate: None };
        spec.changes = vec![fall(100, 30), fall(150, 0)];
        assert!(!(spec.keeps_order() && reorders(&spec, random)), "{:?}", spec.impairments);
    });
}
