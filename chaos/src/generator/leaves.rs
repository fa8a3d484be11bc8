//! Values of single parameters: near their default, equal to another's, or at an edge of what is accepted.

use crate::draw::{Draw, rounded};
use crate::schema::value_of;
use crate::values::written;
use arbitrary::Unstructured;
use dumbbell_units::Value;
use dumbbell_units::spec::Members;
use serde_json::json;
use std::collections::BTreeMap;

/// Mean number of members of a table that are drawn; the others keep their defaults.
const MEMBERS_DRAWN: f64 = 3.5;

/// Minimum probability of drawing a member chosen from a registry.
const REGISTRIES_DRAWN: f64 = 0.3;

/// Bits of a full packet.
const PACKET_BITS: f64 = 12_000.0;

/// Draws values from schemas and remembers the quantities, so that several components get equal ones.
#[derive(Debug)]
pub struct Leaves {
    /// Quantities drawn so far, by the accepted values in their schema.
    drawn: BTreeMap<String, Vec<String>>,
    /// Rate in bit/s of the link whose members are drawn, and the share of them that are in proportion to it.
    link: Option<(f64, f64)>,
    is_extreme: bool,
}

/// The values that a schema of a quantity accepts: its unit, a typical amount, and amounts at which behaviour may
/// change.
struct Dimension {
    unit: &'static str,
    typical: f64,
    edges: &'static [&'static str],
}

fn dimension(accepted: &str) -> Dimension {
    match accepted {
        text if text.contains("segments") => Dimension {
            unit: "segments",
            typical: 8.0,
            edges: &["1 segments", "2 segments", "3 segments", "10 segments", "64 KiB", "unlimited"],
        },
        text if text.contains("packets") => Dimension {
            unit: "packets",
            typical: 10.0,
            edges: &[
                "1 packets",
                "2 packets",
                "3 packets",
                "10 packets",
                "1 bytes",
                "1500 bytes",
                "unlimited",
            ],
        },
        text if text.contains("time") => Dimension {
            unit: "ms",
            typical: 100.0,
            edges: &["0 s", "1 ns", "1 us", "1 ms", "10 ms", "100 ms", "1 s"],
        },
        text if text.contains("size") => Dimension {
            unit: "bytes",
            typical: 5000.0,
            edges: &["1 bytes", "40 bytes", "536 bytes", "1000 bytes", "1500 bytes", "20 kB"],
        },
        _ => Dimension {
            unit: "bit/s",
            typical: 1e6,
            edges: &["8 kbit/s", "100 kbit/s", "1 Mbit/s", "10 Mbit/s"],
        },
    }
}

impl Leaves {
    /// No quantities drawn yet.
    pub fn new(is_extreme: bool) -> Self {
        Leaves { drawn: BTreeMap::new(), link: None, is_extreme }
    }

    /// Members of this link are drawn from now on. Many rules of a link matter only if their rates are similar to that of
    /// the link, and their times to that of some packets.
    pub fn on_link(&mut self, link: Option<&Value>, share: f64) {
        let rate = link.and_then(|link| link["rate"].as_str()?.split_once(' ')?.0.parse().ok());
        self.link = rate.map(|rate| (rate, share));
    }

    /// A rate or a time in proportion to those of the link.
    fn of_link(&self, accepted: &str, draw: &mut Draw) -> Option<String> {
        let (rate, share) = self.link?;
        if !draw.chance(share) {
            return None;
        }
        match dimension(accepted).unit {
            "bit/s" => Some(written(rate * *draw.pick(&[0.5, 1.0, 2.0, 3.0, 5.0, 10.0]), "bit/s", draw)),
            "ms" => {
                let packet_ms = PACKET_BITS * 1e3 / rate;
                Some(written(packet_ms * draw.log_between(0.3, 50.0), "ms", draw))
            }
            _ => None,
        }
    }

    /// Remembers a quantity that was drawn elsewhere.
    pub fn remember(&mut self, schema: &Value, quantity: &str) {
        if let Some(accepted) = schema.get("x-quantity").and_then(Value::as_str) {
            self.drawn.entry(accepted.to_owned()).or_default().push(quantity.to_owned());
        }
    }

    /// A value of this schema.
    pub fn value(&mut self, schema: &Value, draw: &mut Draw) -> Value {
        self.value_near(schema, schema.get("default"), draw)
    }

    /// A value of this schema; this one is the default.
    fn value_near(&mut self, schema: &Value, default: Option<&Value>, draw: &mut Draw) -> Value {
        if let Some(Value::Array(schemas)) = schema.get("anyOf") {
            return self.alternative(schemas, default, draw);
        }
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        if let Some(Value::Array(names)) = schema.get("enum") {
            return draw.pick(names).clone();
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("boolean") => json!(draw.chance(0.5)),
            Some("integer") => json!(self.number(default, draw) as u64),
            Some("number") => json!(self.number(default, draw)),
            Some("string") => match schema.get("x-quantity").and_then(Value::as_str) {
                Some(accepted) => self.quantity(accepted, default, schema, draw),
                None => json!(""),
            },
            Some("array") => {
                let items = schema.get("items").unwrap_or(&Value::Null);
                (0..draw.between(1, 3)).map(|_| self.value(items, draw)).collect()
            }
            Some("object") => self.table(schema, &[], draw),
            _ => Value::Null,
        }
    }

    /// A table of this schema without the members in `left_out`.
    pub fn table(&mut self, schema: &Value, left_out: &[&str], draw: &mut Draw) -> Value {
        self.table_with(schema, left_out, MEMBERS_DRAWN, draw)
    }

    /// A table of which this many members are drawn on average.
    pub fn table_with(&mut self, schema: &Value, left_out: &[&str], mean: f64, draw: &mut Draw) -> Value {
        let empty = Members::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required = schema.get("required").and_then(Value::as_array);
        let share = (mean / properties.len().max(1) as f64).min(0.5 * mean / MEMBERS_DRAWN);
        let mut table = Members::new();
        for (name, member) in properties.iter().filter(|(name, _)| !left_out.contains(&name.as_str())) {
            let is_required = required.is_some_and(|names| names.iter().any(|n| n == name));
            // A choice from a registry has more effect than any number.
            let share = if is_registry(member) { share.max(REGISTRIES_DRAWN) } else { share };
            if is_required || draw.chance(share) {
                table.insert(name.clone(), self.value(member, draw));
            }
        }
        Value::Object(table)
    }

    /// A value of one of several schemas. The tables of a tagged choice have equal probabilities; null and free text
    /// are used only if there is nothing else.
    fn alternative(&mut self, schemas: &[Value], default: Option<&Value>, draw: &mut Draw) -> Value {
        let says_something = |schema: &&Value| {
            let kind = schema.get("type").and_then(Value::as_str);
            let is_text =
                kind == Some("string") && schema.get("enum").is_none() && schema.get("x-quantity").is_none();
            kind != Some("null") && !is_text
        };
        let tagged: Vec<&Value> = schemas.iter().filter(|schema| tag(schema).is_some()).collect();
        if !tagged.is_empty() {
            let schema = draw.pick(&tagged);
            return match tag(schema) {
                Some(name) if draw.chance(0.3) => name,
                _ => self.value(schema, draw),
            };
        }
        let telling: Vec<&Value> = schemas.iter().filter(says_something).collect();
        if telling.is_empty() {
            return json!("");
        }
        let schema = draw.pick(&telling);
        self.value_near(schema, default.or(schema.get("default")), draw)
    }

    fn number(&mut self, default: Option<&Value>, draw: &mut Draw) -> f64 {
        let default = default.and_then(Value::as_f64).unwrap_or(1.0);
        let value = match draw.below(10) {
            0 => 0.0,
            1 => 1.0,
            2 => draw.between(0, 9) as f64,
            3 => draw.uniform(),
            4 if self.is_extreme => draw.log_between(1e-6, 1e9),
            5 => default * 2.0,
            6 => default / 2.0,
            _ => default.max(0.01) * draw.log_between(0.01, 100.0),
        };
        if draw.chance(0.7) { rounded(value, 2) } else { value }
    }

    fn quantity(
        &mut self,
        accepted: &str,
        default: Option<&Value>,
        schema: &Value,
        draw: &mut Draw,
    ) -> Value {
        let Dimension { unit, typical, edges } = dimension(accepted);
        let (amount, unit) = default
            .and_then(Value::as_str)
            .and_then(|text| text.split_once(' '))
            .and_then(|(amount, unit)| Some((amount.parse().ok()?, unit)))
            .unwrap_or((typical, unit));
        if let Some(text) = self.of_link(accepted, draw) {
            return json!(text);
        }
        let before = self.drawn.get(accepted).filter(|drawn| !drawn.is_empty());
        let text = match (draw.below(10), before) {
            (0..=2, Some(drawn)) => related(draw.pick(drawn).clone(), draw),
            (3..=4, _) => (*draw.pick(edges)).to_owned(),
            (5, _) if self.is_extreme => {
                let bytes = draw.bytes(32);
                return value_of(schema, &[], &mut Unstructured::new(&bytes)).unwrap_or(Value::Null);
            }
            _ => {
                let amount: f64 = if amount == 0.0 { 1.0 } else { amount };
                written(amount * draw.log_between(0.01, 100.0), unit, draw)
            }
        };
        self.remember(schema, &text);
        json!(text)
    }
}

/// The tag of a table in a tagged choice.
fn tag(schema: &Value) -> Option<Value> {
    let properties = schema.get("properties")?.as_object()?;
    properties.values().find_map(|member| member.get("const").cloned())
}

/// True if the value is a tagged choice.
fn is_registry(schema: &Value) -> bool {
    let schemas = schema.get("anyOf").and_then(Value::as_array);
    schemas.is_some_and(|schemas| schemas.iter().any(|schema| tag(schema).is_some()))
}

/// Equal to another quantity, or a simple multiple of it.
fn related(other: String, draw: &mut Draw) -> String {
    let factor = *draw.pick(&[1.0, 1.0, 1.0, 2.0, 0.5, 1.01, 10.0, 0.1]);
    match other.split_once(' ').and_then(|(amount, unit)| Some((amount.parse::<f64>().ok()?, unit))) {
        Some((amount, unit)) if factor != 1.0 => written(amount * factor, unit, draw),
        _ => other,
    }
}
