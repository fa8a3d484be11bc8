//! No module uses itself through others: neither in the Python package nor in a crate.

mod python;
mod rust;

use super::{Finding, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// The modules that one uses, each with a file and a line of it that does.
type Arrows = BTreeMap<String, (String, usize)>;

/// Modules and what they use.
type Modules = BTreeMap<String, Arrows>;

/// Checks the modules of the package and of each crate. Of circles that share a module, one is found.
pub fn check(tree: &Tree) -> Vec<Finding> {
    [python::modules(tree), rust::modules(tree)].into_iter().flat_map(circles).collect()
}

fn circles(mut modules: Modules) -> Vec<Finding> {
    let mut findings = Vec::new();
    loop {
        drop_leaves(&mut modules);
        let ways = modules.keys().filter_map(|module| path_back(&modules, module));
        let Some(circle) = ways.min_by_key(Vec::len) else { return findings };
        let (path, line) = modules[&circle[0]][&circle[1]].clone();
        let message = format!("uses itself through others: {}", circle.join(" -> "));
        findings.push(Finding { path, line, message });
        modules.retain(|module, _| !circle.contains(module));
    }
}

/// Drops modules that use none of the others until none is left: what remains is circles and the ways to them.
fn drop_leaves(modules: &mut Modules) {
    loop {
        let before = modules.len();
        let left: BTreeSet<String> = modules.keys().cloned().collect();
        modules.values_mut().for_each(|arrows| arrows.retain(|target, _| left.contains(target)));
        modules.retain(|_, arrows| !arrows.is_empty());
        if modules.len() == before {
            return;
        }
    }
}

/// A shortest way from a module back to itself.
fn path_back(modules: &Modules, module: &str) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut ways = vec![vec![module.to_owned()]];
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            for target in modules.get(way.last()?).into_iter().flat_map(BTreeMap::keys) {
                let next = [way.as_slice(), std::slice::from_ref(target)].concat();
                if target == module {
                    return Some(next);
                }
                if seen.insert(target.clone()) {
                    longer.push(next);
                }
            }
        }
        ways = longer;
    }
    None
}
