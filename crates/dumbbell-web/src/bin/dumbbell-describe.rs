//! Prints what a page knows of scenarios beside the module, as JSON: their schema, and the queues and presets of its menus.
//! The module has none of it, because the texts are as large as the engine's code that reads them.

use dumbbell_sim::catalogue;
use serde_json::{Value, json};

/// An entry of a menu, and whether it has a limit.
fn entry(found: &Value) -> Value {
    let mut parameters = found["parameters"].as_array().into_iter().flatten();
    let has_limit = parameters.any(|parameter| parameter["name"] == "limit");
    json!({ "name": found["name"], "summary": found["summary"], "has_limit": has_limit })
}

#[allow(clippy::disallowed_macros, reason = "a program prints")]
fn main() {
    let entries = catalogue::entries();
    let menu = |kind: &str| entries[kind].as_array().into_iter().flatten().map(entry).collect::<Value>();
    println!(
        "{}",
        json!({ "schema": catalogue::schema(), "queues": menu("queues"), "variants": menu("variants") })
    );
}
