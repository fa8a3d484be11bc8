//! A covering array of strength two: rows of elements such that every pair that the parser accepts is in some row.

use super::placement::{Place, Tables, plant, plant_probe, plant_timings};
use super::row::{Row, Slot, category};
use super::{Category, ELEMENTS, Number, Pair, acting, pair};
use crate::draw::Draw;
use dumbbell_sim::Scenario;
use dumbbell_units::Value;
use dumbbell_units::spec::Members;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The pair of the elements of two slots.
fn pair_in(slot: Slot, element: Number, other: Slot, against: Number) -> Pair {
    if slot == Slot::SecondImpairment && other == Slot::FirstImpairment {
        return pair(against, element);
    }
    pair(element, against)
}

struct Defaults;

impl Tables for Defaults {
    fn table(&mut self, schema: &Value) -> Value {
        let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let tags = members.filter_map(|(name, member)| Some((name.clone(), member.get("const")?.clone())));
        let mut table: Members = tags.collect();
        if table.get("kind") == Some(&json!("frames")) {
            table.insert("sizes".into(), json!(["1 kB"]));
        }
        Value::Object(table)
    }

    fn repeats(&mut self) -> bool {
        true
    }

    fn on_link(&mut self, _link: Option<&Value>) {}

    fn tcp(&mut self) -> Members {
        Members::new()
    }
}

/// The smallest scenario with the elements of a row, or why there is none.
fn alone(row: &Row) -> Result<BTreeSet<Pair>, String> {
    let link = |from: &str, to: &str| json!({ "name": format!("{from}{to}"), "from": from, "to": to, "rate": "1000000 bit/s", "delay": "1000000 ns" });
    let flow = |name: &str| json!({ "name": name, "from": "a", "to": "c", "tcp": {}, "source": "greedy" });
    let mut value = json!({
        "duration": "1 s", "rules": "classic", "nodes": ["a", "b", "c"],
        "links": [link("a", "b"), link("b", "c"), link("c", "b"), link("b", "a")],
        "flows": [flow("f"), flow("g")],
    });
    let path = vec!["ab".to_owned(), "bc".to_owned()];
    let place = Place {
        flows: ["f".to_owned(), "g".to_owned()],
        link: "ab".to_owned(),
        second_link: "bc".to_owned(),
        paths: [path.clone(), path],
    };
    let mut draw = Draw::new(0, 0, "alone");
    plant(&mut value, row, &place, &mut Defaults);
    plant_timings(&mut value, row, &place, 1_000_000_000, &mut draw);
    plant_probe(&mut value, row);
    match Scenario::from_value(&value) {
        Ok(scenario) => Ok(acting(&value, &scenario)),
        Err(error) => Err(format!("{}: {}", member(&error.field), error.accepted)),
    }
}

/// The member of a component that an error is about.
fn member(field: &str) -> &str {
    field.split('.').nth(2).unwrap_or(field)
}

/// Slots for a pair.
fn slots_of((one, other): Pair) -> Option<[Slot; 2]> {
    let holding = |number: Number| {
        let wanted = ELEMENTS[number].category;
        let slots = move |slot: &Slot| category(*slot) == wanted && *slot != Slot::SecondQueue;
        Slot::ALL.into_iter().filter(slots).chain((wanted == Category::Queue).then_some(Slot::SecondQueue))
    };
    let first = holding(one).next()?;
    let second = holding(other).find(|&slot| slot != first && first.is_with(slot))?;
    Some([first, second])
}

/// All pairs of different elements, and of those of which a scenario may have two, each with itself.
pub fn all_pairs() -> impl Iterator<Item = Pair> {
    let count = ELEMENTS.len();
    let all = (0..count).flat_map(move |one| (0..count).map(move |other| (one, other)));
    all.filter(|&(one, other)| {
        let [first, second] = [one, other].map(|number| ELEMENTS[number].category);
        let is_twice = one == other && ![Category::Timing, Category::Probe].contains(&first);
        let are_ordered = first == Category::Impairment && second == Category::Impairment;
        one < other || is_twice || are_ordered
    })
}

/// Pairs that cannot be in a scenario, with the rule that excludes them.
pub fn refusals() -> &'static BTreeMap<Pair, String> {
    static REFUSALS: LazyLock<BTreeMap<Pair, String>> = LazyLock::new(|| {
        let needed: Vec<Vec<(Slot, Number)>> = (0..ELEMENTS.len()).map(needed).collect();
        let refusal = |pair: Pair| refusal(pair, [&needed[pair.0], &needed[pair.1]]);
        all_pairs().filter_map(|pair| Some((pair, refusal(pair)?))).collect()
    });
    &REFUSALS
}

/// Some congestion controls or sources without which an element is refused; none if it is accepted by itself.
fn needed(element: Number) -> Vec<(Slot, Number)> {
    let own = Slot::ALL.into_iter().find(|&slot| category(slot) == ELEMENTS[element].category);
    let accepted = |more: Option<(Slot, Number)>| {
        let mut row = Row::default();
        own.into_iter().for_each(|slot| row.set(slot, Some(element)));
        more.into_iter().for_each(|(slot, element)| row.set(slot, Some(element)));
        alone(&row).is_ok()
    };
    if accepted(None) {
        return Vec::new();
    }
    let with = |slot: Slot| {
        let elements = (0..ELEMENTS.len()).filter(move |&number| ELEMENTS[number].category == category(slot));
        elements.map(move |number| (slot, number)).filter(|&with| accepted(Some(with))).take(2)
    };
    with(Slot::Source).chain(with(Slot::Control)).collect()
}

/// The rule that excludes a pair, whatever of what its elements need is there as well.
fn refusal(pair: Pair, needed: [&[(Slot, Number)]; 2]) -> Option<String> {
    let [first, second] = slots_of(pair)?;
    let mut row = Row::default();
    row.set(first, Some(pair.0));
    row.set(second, Some(pair.1));
    let nothing = [(first, pair.0)];
    let [ones, others] = needed.map(|needed| if needed.is_empty() { &nothing[..] } else { needed });
    let mut rule = None;
    for (one, other) in ones.iter().flat_map(|one| others.iter().map(move |other| (one, other))) {
        let mut row = row.clone();
        for &(slot, element) in [one, other] {
            if row.at(slot).is_none() {
                row.set(slot, Some(element));
            }
        }
        match alone(&row) {
            Ok(acting) if acting.contains(&pair) => return None,
            Ok(_) => rule = Some(without_each_other(pair)),
            Err(error) => rule = rule.or(Some(error)),
        }
    }
    rule
}

/// Why the parser accepts a scenario in which a pair does not act together.
fn without_each_other((one, other): Pair) -> String {
    let categories = [one, other].map(|number| ELEMENTS[number].category);
    match categories {
        [Category::Probe, _] | [_, Category::Probe] => "probes: the flow has no such quantity".to_owned(),
        [_, Category::Source] => "source: one of datagrams has no TCP".to_owned(),
        _ => "one member of a flow states either".to_owned(),
    }
}

/// The pairs that rows are to plant, by both numbers.
struct Wanted {
    possible: Vec<Vec<bool>>,
    /// How often each is still to be planted.
    missing: Vec<Vec<usize>>,
}

/// Rows that plant each pair of impairments. What two of them do to each other depends on their parameters, and every
/// row has room for one pair.
const IMPAIRMENT_ROWS: usize = 6;

impl Wanted {
    /// The number of wanted pairs that an element adds in a slot of a row; `None` if it excludes what is there.
    fn gain(&self, row: &Row, slot: Slot, element: Number) -> Option<usize> {
        let mut gain = 0;
        for (other, against) in row.filled().filter(|(other, _)| slot.is_with(*other)) {
            let pair = pair_in(slot, element, other, against);
            if !self.is_possible(pair) {
                return None;
            }
            gain += usize::from(self.is_missing(pair));
        }
        Some(gain)
    }

    fn all() -> Self {
        let count = ELEMENTS.len();
        let mut wanted =
            Wanted { possible: vec![vec![false; count]; count], missing: vec![vec![0; count]; count] };
        for (one, other) in all_pairs().filter(|pair| !refusals().contains_key(pair)) {
            wanted.possible[one][other] = true;
            let are_impairments =
                [one, other].iter().all(|&number| ELEMENTS[number].category == Category::Impairment);
            wanted.missing[one][other] = if are_impairments { IMPAIRMENT_ROWS } else { 1 };
        }
        wanted
    }

    /// False for refused pairs, and for a timing or a quantity with itself.
    fn is_possible(&self, (one, other): Pair) -> bool {
        self.possible[one][other]
    }

    fn is_missing(&self, (one, other): Pair) -> bool {
        self.missing[one][other] > 0
    }

    fn first(&self) -> Option<Pair> {
        let missing = self.missing.iter().enumerate();
        missing.into_iter().find_map(|(one, row)| Some((one, row.iter().position(|&times| times > 0)?)))
    }
}

/// Rows that plant every pair that is not refused. They depend on the schema alone.
pub fn rows() -> &'static [Row] {
    static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
        let mut wanted = Wanted::all();
        let mut uses = vec![0; ELEMENTS.len()];
        let mut rows = Vec::new();
        while let Some(seed) = wanted.first() {
            let row = next_row(seed, &wanted, &uses);
            row.filled().for_each(|(_, element)| uses[element] += 1);
            // A seed that no row can hold is in no row, which a test reports.
            let mut planted = row.pairs();
            planted.insert(seed);
            for (one, other) in planted {
                wanted.missing[one][other] = wanted.missing[one][other].saturating_sub(1);
            }
            rows.push(row);
        }
        rows
    });
    &ROWS
}

/// The row with a pair to which elements are added one by one, always the one that covers the most missing pairs.
fn next_row(seed: Pair, wanted: &Wanted, uses: &[usize]) -> Row {
    let mut row = Row::default();
    if let Some([first, second]) = slots_of(seed) {
        row.set(first, Some(seed.0));
        row.set(second, Some(seed.1));
    }
    let seeded = row.clone();
    while let Some((slot, element)) = best(&row, wanted, uses) {
        row.set(slot, Some(element));
    }
    // Three elements may exclude each other where no two do.
    for slot in Slot::ALL.into_iter().rev().filter(|&slot| seeded.at(slot).is_none()) {
        if alone(&row).is_ok_and(|acting| row.pairs().is_subset(&acting)) {
            break;
        }
        row.set(slot, None);
    }
    row
}

/// The slot and the element that cover the most missing pairs; of equal ones, the element that was used the least.
fn best(row: &Row, wanted: &Wanted, uses: &[usize]) -> Option<(Slot, Number)> {
    let free = Slot::ALL.into_iter().filter(|&slot| row.at(slot).is_none());
    let candidates = free.flat_map(|slot| {
        let of_slot =
            (0..ELEMENTS.len()).filter(move |&element| ELEMENTS[element].category == category(slot));
        // Quantities and timings may need a source or a congestion control.
        let is_needed = [Category::Source, Category::Control].contains(&category(slot));
        let gains =
            of_slot.filter_map(move |element| Some((wanted.gain(row, slot, element)?, slot, element)));
        gains.filter(move |&(gain, ..)| gain > 0 || is_needed)
    });
    let best = candidates.max_by_key(|&(gain, slot, element)| {
        (gain, usize::MAX - uses[element], usize::MAX - element, usize::MAX - slot as usize)
    });
    best.map(|(_, slot, element)| (slot, element))
}
