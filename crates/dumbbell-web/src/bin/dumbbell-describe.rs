//! Prints what a page knows of scenarios beside the module, as JSON: their schema, and the queues and presets of its menus.
//! The module has none of it, because the texts are as large as the engine's code that reads them.

use dumbbell_sim::catalogue;
use serde_json::json;

#[allow(clippy::disallowed_macros, reason = "a program prints")]
fn main() {
    let entries = catalogue::entries();
    let (queues, variants) = (&entries["queues"], &entries["variants"]);
    println!("{}", json!({ "schema": catalogue::schema(), "queues": queues, "variants": variants }));
}
