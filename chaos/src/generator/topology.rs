//! Topologies of networks.

use crate::draw::Draw;

/// Nodes by number, the links between them, and the nodes between which flows may run.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// Number of nodes.
    pub nodes: usize,
    /// Links by the numbers of their nodes.
    pub links: Vec<(usize, usize)>,
    /// Nodes that send and receive.
    pub hosts: Vec<usize>,
}

impl Topology {
    fn add_both_ways(&mut self, one: usize, other: usize) {
        self.links.extend([(one, other), (other, one)]);
    }

    /// A line, a dumbbell, a parking lot, a ring, or any other connected network.
    pub fn draw(draw: &mut Draw) -> Self {
        let mut topology = match draw.below(10) {
            0 | 1 => line(draw.between(2, 5)),
            2..=4 => dumbbell(draw.between(1, 4)),
            5 => parking_lot(draw.between(3, 4), draw),
            6 => ring(draw.between(2, 7), draw.chance(0.5)),
            7 => star(draw.between(2, 8)),
            _ => any(draw.between(2, 10), draw),
        };
        // Parallel links and asymmetric paths.
        if draw.chance(0.1) {
            let again = *draw.pick(&topology.links);
            topology.links.push(again);
        }
        if draw.chance(0.3) {
            draw.shuffle(&mut topology.links);
        }
        topology
    }

    /// A walk between two nodes with at most `most` links, by position; `None` if it does not arrive.
    pub fn walk(&self, from: usize, to: usize, most: usize, draw: &mut Draw) -> Option<Vec<usize>> {
        let mut at = from;
        let mut seen = vec![from];
        let mut walk = Vec::new();
        while at != to && walk.len() < most {
            let leads_on = |&link: &usize| self.links[link].0 == at && !seen.contains(&self.links[link].1);
            let leaving: Vec<usize> = (0..self.links.len()).filter(leads_on).collect();
            if leaving.is_empty() {
                return None;
            }
            let link = *draw.pick(&leaving);
            at = self.links[link].1;
            seen.push(at);
            walk.push(link);
        }
        (at == to && !walk.is_empty()).then_some(walk)
    }
}

fn line(nodes: usize) -> Topology {
    let mut line = Topology { nodes, hosts: vec![0, nodes - 1], ..Topology::default() };
    (1..nodes).for_each(|node| line.add_both_ways(node - 1, node));
    line
}

fn dumbbell(pairs: usize) -> Topology {
    let mut dumbbell =
        Topology { nodes: 2 + 2 * pairs, hosts: (2..2 + 2 * pairs).collect(), ..Topology::default() };
    dumbbell.add_both_ways(0, 1);
    for pair in 0..pairs {
        dumbbell.add_both_ways(2 + pair, 0);
        dumbbell.add_both_ways(2 + pairs + pair, 1);
    }
    dumbbell
}

fn parking_lot(routers: usize, draw: &mut Draw) -> Topology {
    let mut lot = line(routers);
    lot.hosts.clear();
    for router in 0..routers {
        for _ in 0..draw.between(1, 2) {
            lot.add_both_ways(lot.nodes, router);
            lot.hosts.push(lot.nodes);
            lot.nodes += 1;
        }
    }
    lot
}

fn ring(nodes: usize, is_one_way: bool) -> Topology {
    let mut ring = Topology { nodes, hosts: (0..nodes).collect(), ..Topology::default() };
    for node in 0..nodes {
        let next = (node + 1) % nodes;
        match is_one_way {
            true => ring.links.push((node, next)),
            false => ring.add_both_ways(node, next),
        }
    }
    ring
}

fn star(hosts: usize) -> Topology {
    let mut star = Topology { nodes: hosts + 1, hosts: (1..=hosts).collect(), ..Topology::default() };
    (1..=hosts).for_each(|host| star.add_both_ways(host, 0));
    star
}

/// A random tree with additional links, a few of them unidirectional.
fn any(nodes: usize, draw: &mut Draw) -> Topology {
    let mut any = Topology { nodes, hosts: (0..nodes).collect(), ..Topology::default() };
    for node in 1..nodes {
        let parent = draw.below(node);
        any.add_both_ways(node, parent);
    }
    for _ in 0..draw.below(4) {
        let (one, other) = (draw.below(nodes), draw.below(nodes));
        match one == other {
            true => {}
            false if draw.chance(0.3) => any.links.push((one, other)),
            false => any.add_both_ways(one, other),
        }
    }
    any
}
