//! Short forms in a scenario, which are written out before it is read.

pub mod limits;
mod links;
mod row;
mod schema;
mod stated;
mod topology;

pub(crate) use schema::complete;
pub use topology::Topology;

use crate::scenario::Scenario;
use dumbbell_units::Value;
use dumbbell_units::spec::{Field, Members, Node, Params, SpecError};
use serde_json::json;
use std::borrow::Cow;

/// The member that states the shape of a network.
const TOPOLOGY: &str = "topology";

/// The scenario with all nodes and links one by one. Limits of queues remain as they are stated.
///
/// # Errors
///
/// A short form is not valid.
pub fn written_out(stated: &Value) -> Result<Cow<'_, Value>, SpecError> {
    let mut written = Cow::Borrowed(stated);
    if let Some(network) = with_network(stated)? {
        written = Cow::Owned(network);
    }
    if let Some(links) = links::written_out(&written)? {
        written.to_mut()["links"] = links;
    }
    Ok(written)
}

/// The nodes and links of a topology.
///
/// # Errors
///
/// The table states no shape, or an impossible one.
pub fn network(topology: &Value) -> Result<Value, SpecError> {
    let node = Node::root(topology);
    let (nodes, links) = Topology::decode(&node)?.network(&node)?;
    Ok(json!({ "nodes": nodes, "links": links }))
}

/// The scenario with the nodes and links of its topology before its own; `None` if it states no topology.
fn with_network(stated: &Value) -> Result<Option<Value>, SpecError> {
    let root = Node::root(stated);
    root.refuse_unknown(&[Scenario::NAMES, &[TOPOLOGY]].concat())?;
    let Some(topology) = root.child(TOPOLOGY) else { return Ok(None) };
    let (nodes, links) = Topology::decode(&topology)?.network(&topology)?;
    let mut members: Members = root.table()?.clone();
    members.shift_remove(TOPOLOGY);
    for (list, mut elements) in [("nodes", nodes), ("links", links)] {
        if let Some(own) = root.child(list) {
            own.elements()?;
            elements.extend(own.value().as_array().cloned().unwrap_or_default());
        }
        members.insert(list.to_owned(), Value::Array(elements));
    }
    Ok(Some(Value::Object(members)))
}
