//! Slots of a scenario, and rows of elements for them.

use super::{Category, ELEMENTS, Number, Pair, pair};
use std::collections::BTreeSet;

/// A place for an element in a scenario: on a link, on one of two flows over it, in a probe or at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Queue of the link.
    Queue,
    /// First impairment of the link.
    FirstImpairment,
    /// Second impairment of the link.
    SecondImpairment,
    /// A timing.
    FirstTiming,
    /// Another timing.
    SecondTiming,
    /// A quantity of the probe.
    FirstProbe,
    /// Another quantity of the probe.
    SecondProbe,
    /// A third one.
    ThirdProbe,
    /// A fourth one.
    FourthProbe,
    /// Rules of the first flow.
    Rules,
    /// Its congestion control.
    Control,
    /// Its recovery.
    Recovery,
    /// Its source.
    Source,
    /// Rules of the second flow.
    OtherRules,
    /// Its congestion control.
    OtherControl,
    /// Its recovery.
    OtherRecovery,
    /// Its source.
    OtherSource,
    /// Queue of another link of the first flow.
    SecondQueue,
}

impl Slot {
    /// The slots, those on which others depend first.
    pub(super) const ALL: [Slot; 18] = [
        Slot::Source,
        Slot::OtherSource,
        Slot::Control,
        Slot::OtherControl,
        Slot::Recovery,
        Slot::OtherRecovery,
        Slot::Rules,
        Slot::OtherRules,
        Slot::Queue,
        Slot::FirstTiming,
        Slot::SecondTiming,
        Slot::FirstProbe,
        Slot::SecondProbe,
        Slot::ThirdProbe,
        Slot::FourthProbe,
        Slot::FirstImpairment,
        Slot::SecondImpairment,
        Slot::SecondQueue,
    ];
    /// Those of the probe.
    pub(super) const OF_PROBE: [Slot; 4] =
        [Slot::FirstProbe, Slot::SecondProbe, Slot::ThirdProbe, Slot::FourthProbe];
    /// Rules, congestion control, recovery and source of each flow.
    pub(super) const OF_FLOWS: [[Slot; 4]; 2] = [
        [Slot::Rules, Slot::Control, Slot::Recovery, Slot::Source],
        [Slot::OtherRules, Slot::OtherControl, Slot::OtherRecovery, Slot::OtherSource],
    ];

    /// The flow to which it belongs.
    fn flow(self) -> Option<usize> {
        Slot::OF_FLOWS.iter().position(|slots| slots.contains(&self))
    }

    /// True if elements of both slots act together.
    pub(super) fn is_with(self, other: Slot) -> bool {
        let has = |wanted: Category| [self, other].iter().any(|&slot| category(slot) == wanted);
        let are_queues = [self, other].iter().all(|&slot| category(slot) == Category::Queue);
        match (self.flow(), other.flow()) {
            _ if are_queues => true,
            _ if [self, other].contains(&Slot::SecondQueue) => false,
            // Few quantities are those of every flow.
            (Some(1), None) | (None, Some(1)) if has(Category::Probe) => false,
            (Some(one), Some(two)) => one == two || category(self) == category(other),
            _ => true,
        }
    }
}

/// Elements by slot.
#[derive(Clone, Debug, Default)]
pub struct Row([Option<Number>; 18]);

impl Row {
    /// The element of a slot.
    pub fn at(&self, slot: Slot) -> Option<Number> {
        self.0[slot as usize]
    }

    pub(super) fn set(&mut self, slot: Slot, element: Option<Number>) {
        self.0[slot as usize] = element;
    }

    pub(super) fn filled(&self) -> impl Iterator<Item = (Slot, Number)> {
        Slot::ALL.into_iter().filter_map(|slot| Some((slot, self.at(slot)?)))
    }

    /// The names of its timings.
    pub fn timings(&self) -> impl Iterator<Item = &'static str> {
        let slots = [Slot::FirstTiming, Slot::SecondTiming].into_iter();
        slots.filter_map(|slot| self.at(slot)).map(|timing| ELEMENTS[timing].name.as_str())
    }

    /// The pairs that it plants.
    pub fn pairs(&self) -> BTreeSet<Pair> {
        let filled: Vec<(Slot, Number)> = self.filled().collect();
        let mut pairs = BTreeSet::new();
        for (place, &(slot, element)) in filled.iter().enumerate() {
            for &(other, against) in &filled[place + 1..] {
                if slot.is_with(other) {
                    pairs.insert(pair(element, against));
                }
            }
        }
        pairs
    }
}

/// The category of a slot's elements.
pub fn category(slot: Slot) -> Category {
    match slot {
        Slot::Queue | Slot::SecondQueue => Category::Queue,
        Slot::FirstImpairment | Slot::SecondImpairment => Category::Impairment,
        Slot::FirstTiming | Slot::SecondTiming => Category::Timing,
        Slot::FirstProbe | Slot::SecondProbe | Slot::ThirdProbe | Slot::FourthProbe => Category::Probe,
        Slot::Rules | Slot::OtherRules => Category::Rules,
        Slot::Control | Slot::OtherControl => Category::Control,
        Slot::Recovery | Slot::OtherRecovery => Category::Recovery,
        Slot::Source | Slot::OtherSource => Category::Source,
    }
}
