//! Pairs of things that act together, and rows that plant all of them.
//!
//! Everything registered and every timing is an [`Element`]. Two elements act together if they belong to the same flow
//! or link, if a flow with one crosses a link with the other, or if a probe with one records either. [`acting`] finds
//! the pairs of a scenario. [`rows`] is a covering array: each row has an element for each [`Slot`] of a scenario, and
//! every pair that the parser accepts is in some row.

mod cover;
mod occurrence;
mod placement;
mod row;
mod timings;

pub use cover::{all_pairs, refusals, rows};
pub use occurrence::acting;
pub use placement::{Place, Tables, plant, plant_probe, plant_timings};
pub use row::{Row, Slot};
pub use timings::TIMINGS;

use crate::schema::SCHEMA;
use dumbbell_units::Value;
use std::fmt;
use std::sync::LazyLock;

/// What an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// Queue discipline of a link.
    Queue,
    /// Impairment of a link; the order of two on one link matters.
    Impairment,
    /// What happens to a link, a flow or a run at a time.
    Timing,
    /// Quantity that a probe records.
    Probe,
    /// Environment whose rules a flow has.
    Rules,
    /// Congestion control.
    Control,
    /// Loss recovery.
    Recovery,
    /// Traffic source.
    Source,
}

impl Category {
    /// The categories.
    pub const ALL: [Category; 8] = [
        Category::Queue,
        Category::Impairment,
        Category::Timing,
        Category::Probe,
        Category::Rules,
        Category::Control,
        Category::Recovery,
        Category::Source,
    ];

    /// The place of its registry in the schema; `None` for timings.
    fn pointer(self) -> Option<&'static str> {
        Some(match self {
            Category::Queue => "/properties/links/items/properties/queue",
            Category::Impairment => "/properties/links/items/properties/impairments/items",
            Category::Timing => return None,
            Category::Probe => "/properties/probes/items/properties/quantities/items",
            Category::Rules => "/properties/flows/items/properties/tcp/anyOf/0/anyOf/1/properties/rules",
            Category::Control => {
                "/properties/flows/items/properties/tcp/anyOf/0/anyOf/1/properties/congestion"
            }
            Category::Recovery => {
                "/properties/flows/items/properties/tcp/anyOf/0/anyOf/1/properties/recovery"
            }
            Category::Source => "/properties/flows/items/properties/source",
        })
    }

    /// Schema of the member that states an element of this category.
    pub fn schema(self) -> &'static Value {
        self.pointer().and_then(|pointer| SCHEMA.pointer(pointer)).unwrap_or(&Value::Null)
    }

    fn names(self) -> Vec<String> {
        if self == Category::Timing {
            return timings::names();
        }
        let schema = self.schema();
        let alternatives = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        let names =
            [schema].into_iter().chain(alternatives).find_map(|schema| schema.get("enum")?.as_array());
        names.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
    }
}

/// Something that may occur in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Element {
    /// What it is.
    pub category: Category,
    /// Its name.
    pub name: String,
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.category, self.name)
    }
}

/// Position of an element in [`ELEMENTS`].
pub type Number = usize;

/// Two elements by number. The smaller comes first, except that impairments are in the order of the link.
pub type Pair = (Number, Number);

/// Everything registered, and the timings.
pub static ELEMENTS: LazyLock<Vec<Element>> = LazyLock::new(|| {
    let of = |category: Category| category.names().into_iter().map(move |name| Element { category, name });
    Category::ALL.into_iter().flat_map(of).collect()
});

/// The number of an element.
pub fn number(category: Category, name: &str) -> Option<Number> {
    ELEMENTS.iter().position(|element| element.category == category && element.name == name)
}

/// The pair of two elements that act together; of impairments, `one` comes first on the link.
pub fn pair(one: Number, other: Number) -> Pair {
    let is_ordered = [one, other].iter().all(|&number| ELEMENTS[number].category == Category::Impairment);
    if is_ordered { (one, other) } else { (one.min(other), one.max(other)) }
}
