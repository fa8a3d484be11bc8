//! The links crossed by the flows of a scenario.

use dumbbell_sim::Scenario;
use dumbbell_sim::network::Routes;

/// All paths of a flow during a run: links by position.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// Paths from the sender to the receiver.
    pub forward: Vec<Vec<usize>>,
    /// Reverse paths; none for flows without reverse traffic.
    pub reverse: Vec<Vec<usize>>,
}

/// The paths of every flow of a valid scenario.
pub fn paths(scenario: &Scenario) -> Vec<Paths> {
    let routes = Routes::new(scenario).unwrap_or_default();
    let links = |begin: u32| -> Vec<usize> {
        let hops = routes.hops.get(begin as usize..).unwrap_or_default();
        hops.iter().map(|hop| hop.link as usize).take_while(|&link| link < scenario.links.len()).collect()
    };
    let mut paths = vec![Paths::default(); scenario.flows.len()];
    let first = routes.begins.iter().enumerate().map(|(flow, &begins)| (flow, begins));
    let later = routes.reroutes.iter().map(|change| (change.flow as usize, change.begins));
    for (flow, (forward, reverse)) in first.chain(later) {
        let known = &mut paths[flow];
        for (known, begin) in [(&mut known.forward, forward), (&mut known.reverse, reverse)] {
            let path = links(begin);
            if !path.is_empty() && !known.contains(&path) {
                known.push(path);
            }
        }
    }
    paths
}
