//! Scenarios in other units: every quantity of a scenario multiplied by a power of two, by its dimension, which is its
//! unit in the schema.

use crate::schema::{SCHEMA, fits};
use dumbbell_sim::Scenario;
use dumbbell_units::quantity::{RATE_UNITS, SIZE_UNITS, TIME_UNITS, amount};
use dumbbell_units::spec::{Field, Members};
use dumbbell_units::{Rate, Value};
use serde_json::json;

/// Exponents of two of the basic dimensions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scale {
    /// That of time.
    pub time: i32,
    /// That of sizes.
    pub size: i32,
}

/// Exponents of time and size in a unit; `None` for a number without dimension.
fn dimension(unit: &str) -> Option<(i32, i32)> {
    Some(match unit {
        "s" | "ms" => (1, 0),
        "Hz" | "1/s" => (-1, 0),
        "segments/s^3" => (-3, 0),
        "bit/s" => (-1, 1),
        "bytes" | "bytes or segments" | "packets or bytes" => (0, 1),
        _ => return None,
    })
}

/// Units of numbers that have no dimension. Packets and segments are counted, whatever their size.
#[cfg(test)]
const COUNTED: [&str; 12] = [
    "-",
    "packets",
    "segments",
    "1/segments",
    "ticks",
    "rounds",
    "slots",
    "queues",
    "buckets",
    "frames",
    "windows",
    "bursts",
];

impl Scale {
    fn exponent(self, unit: &str) -> Option<i32> {
        let (time, size) = dimension(unit)?;
        Some(self.time * time + self.size * size)
    }

    /// The scenario in these units.
    ///
    /// # Errors
    ///
    /// The member whose value has no counterpart, or that the parser does not accept.
    pub fn of(self, scenario: &Scenario) -> Result<Scenario, String> {
        let mut value = scenario.encode();
        self.scale(&mut value, &SCHEMA, "-")?;
        let scaled = Scenario::from_value(&value);
        scaled.map_err(|error| error.field.rsplit('.').next().unwrap_or_default().to_owned())
    }

    fn scale(self, value: &mut Value, schema: &Value, unit: &str) -> Result<(), String> {
        let unit = schema["x-unit"].as_str().unwrap_or(unit);
        match value {
            Value::Object(members) => {
                let schema = branch(schema, members);
                for (name, member) in members {
                    let schema = schema.pointer(&format!("/properties/{name}")).unwrap_or(&Value::Null);
                    self.scale(member, schema, unit)
                        .map_err(|error| if error.is_empty() { name.clone() } else { error })?;
                }
            }
            Value::Array(elements) => {
                let items = items(schema);
                elements.iter_mut().try_for_each(|element| self.scale(element, items, unit))?;
            }
            Value::Number(number) => {
                let Some(exponent) = self.exponent(unit).filter(|&exponent| exponent != 0) else {
                    return Ok(());
                };
                *value = match number.as_u64() {
                    Some(whole) => json!(shifted(whole, exponent).ok_or_else(String::new)?),
                    None => json!(number.as_f64().unwrap_or_default() * power_of_two(exponent)),
                };
            }
            Value::String(text) => {
                let Some(exponent) = self.exponent(unit).filter(|&exponent| exponent != 0) else {
                    return Ok(());
                };
                let units = [(TIME_UNITS, "ns"), (RATE_UNITS, "bit/s"), (SIZE_UNITS, "bytes")];
                let read = units.iter().find_map(|(units, base)| Some((amount(text, units)?, base)));
                // Counts of packets, `unlimited` and `random` are of no unit.
                if let Some((amount, base)) = read {
                    let scaled = shifted(amount.round() as u64, exponent).ok_or_else(String::new)?;
                    *text = format!("{scaled} {base}");
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// 2 to this power, exactly.
fn power_of_two(exponent: i32) -> f64 {
    let factor = if exponent < 0 { 0.5 } else { 2.0 };
    (0..exponent.unsigned_abs()).fold(1.0, |power, _| power * factor)
}

/// A whole number times a power of two, if that is whole.
fn shifted(number: u64, exponent: i32) -> Option<u64> {
    let factor = 1_u64.checked_shl(exponent.unsigned_abs())?;
    match exponent {
        0.. => number.checked_mul(factor),
        _ => number.is_multiple_of(factor).then_some(number / factor),
    }
}

/// The alternative of a schema with the tag of a table.
fn branch<'a>(schema: &'a Value, members: &Members) -> &'a Value {
    let Some(Value::Array(alternatives)) = schema.get("anyOf") else { return schema };
    let alternatives = alternatives.iter().map(|schema| branch(schema, members));
    alternatives.clone().find(|schema| fits(schema, members)).unwrap_or(&Value::Null)
}

/// Schema of the elements of a list.
fn items(schema: &Value) -> &Value {
    let alternatives = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    [schema].into_iter().chain(alternatives).find_map(|schema| schema.get("items")).unwrap_or(&Value::Null)
}

/// The scenario with every rate such that a byte takes a whole and even number of nanoseconds, and half the rate is
/// whole: the nearest one below.
pub fn with_whole_times(scenario: &Scenario) -> Option<Scenario> {
    let mut value = scenario.encode();
    round_rates(&mut value, &SCHEMA);
    Scenario::from_value(&value).ok()
}

fn round_rates(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(members) => {
            let schema = branch(schema, members);
            for (name, member) in members {
                round_rates(member, schema.pointer(&format!("/properties/{name}")).unwrap_or(&Value::Null));
            }
        }
        Value::Array(elements) if schema["x-unit"] == "bit/s" => {
            elements.iter_mut().for_each(round_rate);
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| round_rates(element, items(schema))),
        value if schema["x-unit"] == "bit/s" => round_rate(value),
        _ => {}
    }
}

fn round_rate(value: &mut Value) {
    let Some(rate) = value.as_str().and_then(|text| amount(text, RATE_UNITS)) else { return };
    *value = Rate(whole_rate(rate as u64)).encode();
}

/// The largest even divisor of 8 * 10^9 up to a rate.
fn whole_rate(rate: u64) -> u64 {
    let powers_of = |base: u64, count: u32| (0..=count).map(move |exponent| base.pow(exponent));
    let divisors = powers_of(2, 12).skip(1).flat_map(|two| powers_of(5, 9).map(move |five| two * five));
    divisors.filter(|&divisor| divisor <= rate).max().unwrap_or(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn units(schema: &Value, known: &mut BTreeSet<String>) {
        match schema {
            Value::Object(members) => {
                known.extend(members.get("x-unit").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|member| units(member, known));
            }
            Value::Array(elements) => elements.iter().for_each(|element| units(element, known)),
            _ => {}
        }
    }

    #[test]
    fn every_unit_of_the_schema_has_a_dimension_or_is_counted() {
        let mut known = BTreeSet::new();
        units(&SCHEMA, &mut known);
        known.retain(|unit| dimension(unit).is_none() && !COUNTED.contains(&unit.as_str()));
        assert!(known.is_empty(), "{known:?}");
    }

    #[test]
    fn every_quantity_is_scaled_by_its_dimension() {
        let scenario = Scenario::from_value(&json!({
            "duration": "4 s", "rules": "classic", "measure_from": "1 s", "nodes": ["a", { "name": "b", "tick_phase": "3 ms" }],
            "links": [{ "name": "ab", "from": "a", "to": "b", "rate": "80 kbit/s", "delay": "5 ms",
                        "queue": { "kind": "droptail", "limit": "3000 bytes" }, "opportunities": { "times": [1, 3] } },
                      { "name": "ba", "from": "b", "to": "a", "rate": "80 kbit/s", "delay": "5 ms", "queue": "pie" }],
            "flows": [{ "name": "f", "from": "a", "to": "b", "start": { "uniform": ["1 s", "2 s"] },
                        "tcp": { "congestion": "cubic", "receive_buffer": "9 segments" } }],
        })).expect("a valid scenario");
        let slow = Scale { time: 1, size: 0 }.of(&scenario).expect("a slower one").encode();
        let at = |value: &Value, pointer: &str| value.pointer(pointer).cloned().unwrap_or_default();
        for (pointer, expected) in [
            ("/duration", json!("8 s")),
            ("/nodes/1/tick_phase", json!("6 ms")),
            ("/links/0/rate", json!("40 kbit/s")),
            ("/links/0/opportunities/times", json!([2, 6])),
            ("/links/0/queue/limit", json!("3000 bytes")),
            ("/links/1/queue/alpha", json!(0.0625)),
            ("/flows/0/start/uniform/0", json!("2 s")),
            ("/flows/0/tcp/congestion/c", json!(0.05)),
            ("/flows/0/tcp/timer/minimum", json!("2 s")),
        ] {
            assert_eq!(at(&slow, pointer), expected, "{pointer}");
        }
        let large = Scale { time: 0, size: 1 }.of(&scenario).expect("a larger one").encode();
        for (pointer, expected) in [
            ("/duration", json!("4 s")),
            ("/links/0/rate", json!("160 kbit/s")),
            ("/links/0/queue/limit", json!("6000 bytes")),
            ("/links/0/opportunities/size", json!("3008 bytes")),
            ("/flows/0/tcp/mss", json!("2920 bytes")),
            ("/flows/0/tcp/headers/data", json!("80 bytes")),
            ("/flows/0/tcp/receive_buffer", json!("9 segments")),
        ] {
            assert_eq!(at(&large, pointer), expected, "{pointer}");
        }
        let odd = Scenario::from_value(&{
            let mut value = scenario.encode();
            value["links"][0]["rate"] = json!("80001 bit/s");
            value
        });
        assert_eq!(Scale { time: 1, size: 0 }.of(&odd.expect("a valid scenario")), Err("rate".to_owned()));
    }

    #[test]
    fn a_whole_rate_sends_a_byte_in_whole_nanoseconds() {
        for rate in [1, 3, 1_000_000, 1_234_567, 99_999_999, 8_000_000_000, 100_000_000_000] {
            let whole = whole_rate(rate);
            assert_eq!((8_000_000_000 % whole, whole % 2), (0, 0), "{rate}: {whole}");
            assert!(whole <= rate.max(2) && (whole * 3 > rate.min(8_000_000_000)), "{rate}: {whole}");
        }
        assert_eq!(whole_rate(1_000_000), 1_000_000);
    }
}
