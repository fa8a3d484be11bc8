//! Drawn values that need more than their schema.

use crate::draw::{Draw, rounded};
use dumbbell_units::Value;
use serde_json::json;

/// An amount with its unit, usually a round number. Packets are whole.
pub fn written(amount: f64, unit: &str, draw: &mut Draw) -> String {
    let amount = match draw.below(10) {
        0..=3 => rounded(amount, 1),
        4..=7 => rounded(amount, 2),
        _ => rounded(amount, 6),
    };
    match unit {
        "packets" => format!("{} packets", amount.max(1.0) as u64),
        _ => format!("{amount} {unit}"),
    }
}

/// Delivery opportunities with about the rate of a link, many of them at the same time.
pub fn opportunities(link: &Value, draw: &mut Draw) -> Value {
    let rate = link["rate"].as_str().and_then(|text| text.split_once(' ')?.0.parse::<f64>().ok());
    let size = *draw.pick(&[1504.0, 1504.0, 1504.0, 100.0, 10_000.0]);
    // Those of long intervals would never come within a run, and those of short ones are too many to write.
    let interval = (size * 8e3 / rate.unwrap_or(1e6)).clamp(0.01, 100.0);
    let count = draw.between(1, 60);
    let length = (interval * count as f64).ceil().max(1.0);
    let mut times: Vec<u64> = (1..count).map(|_| (draw.uniform() * length) as u64).collect();
    times.push(length as u64);
    times.sort_unstable();
    let mut table = json!({ "times": times });
    if size != 1504.0 || draw.chance(0.3) {
        table["size"] = json!(format!("{size} bytes"));
    }
    if draw.chance(0.3) {
        table["overhead"] = json!(format!("{} bytes", draw.pick(&[0, 4, 40])));
    }
    table
}

/// Gives empirical distributions of sizes a share for each size, which members drawn one by one hardly ever are.
pub fn complete_sizes(value: &mut Value) {
    let Value::Object(members) = value else { return };
    let points = members.get("sizes").and_then(Value::as_array).map(Vec::len);
    if let (Some("empirical"), Some(points)) = (members.get("kind").and_then(Value::as_str), points) {
        let shares: Vec<f64> = (1..=points).map(|point| point as f64 / points as f64).collect();
        members.insert("shares".into(), json!(shares));
    }
    members.values_mut().for_each(complete_sizes);
}
