//! Drives a stack over the links of a scenario.

use dumbbell_kernel::guest::Start;
use dumbbell_kernel::host::LinuxHost;
use dumbbell_kernel::machine::Settings;
use dumbbell_kernel::stack::Linux;
use dumbbell_net::Packet;
use dumbbell_sim::Scenario;
use dumbbell_sim::paths::{Direction, Paths};
use dumbbell_sim::transport::{Carried, End, Stack, StackEvent, TransportHost, TransportSpec};
use dumbbell_units::{Stream, Time, Value};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// Rate of the usual link.
pub const RATE: &str = "10 Mbit/s";

/// The series among those known whose kernels are built; a line says if none is.
pub fn trees() -> Vec<&'static str> {
    let host = LinuxHost::shared();
    let mut trees = vec!["6.12", "7.2", "6.1"];
    trees.retain(|tree| host.complete("f", &spec(tree, &[])).is_ok());
    if trees.is_empty() {
        // Not through the test harness, which would hide it.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED tests of kernels: none is built; run `dumbbell kernel build`"
        );
    }
    trees
}

/// What a flow states.
pub fn spec(tree: &str, parameters: &[(&str, Value)]) -> TransportSpec {
    let stated = parameters.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let parameters = stated.chain([("tree".to_owned(), tree.into())]).collect();
    TransportSpec { name: "linux".into(), parameters, ..TransportSpec::default() }
}

/// The stack that carries these flows.
pub fn started(
    host: &Arc<dyn TransportHost>,
    flows: &[TransportSpec],
    seed: u64,
) -> Result<Box<dyn Stack>, String> {
    let names: Vec<String> = (0..flows.len()).map(|flow| format!("f{flow}")).collect();
    let carried = (0..).zip(flows).zip(&names).map(|((flow, spec), name)| {
        let random = Stream::new(seed, 0, name);
        Carried { flow, name, spec, random }
    });
    let mut started = host.start(carried.collect())?;
    assert_eq!(started.len(), 1, "the flows share a guest");
    Ok(started.remove(0).stack)
}

/// A guest with a flow of Reno, which is given up after this long without progress.
pub fn guest(tree: &str, limit: Duration) -> Linux {
    let kernels = LinuxHost::user().kernels();
    let kernel = kernels.iter().find(|kernel| kernel.is(tree)).expect("it is built");
    let start = Start { kernel: kernel.as_ref(), seed: 1, limit };
    let settings = Settings { sysctl: Vec::new(), module: None, mtu: 1500 };
    Linux::start(&start, &settings, [(0, "reno".to_owned())].into()).expect("a guest")
}

/// The processes below another one, whichever of its threads has started them.
pub fn descendants(process: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let texts =
        threads.map(|thread| std::fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let children: Vec<u32> = texts
        .flat_map(|text| text.split_whitespace().filter_map(|number| number.parse().ok()).collect::<Vec<_>>())
        .collect();
    children.iter().flat_map(|child| [vec![*child], descendants(*child)].concat()).collect()
}

/// A process and those below it.
pub fn with_descendants(process: u32) -> Vec<u32> {
    [vec![process], descendants(process)].concat()
}

/// What a run has given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// When each connection was acknowledged, with its number.
    pub acknowledged: Vec<(u32, Time)>,
    /// The connections that were given up, and when.
    pub given_up: Vec<(u32, Time)>,
    /// Packets of senders and of receivers.
    pub packets: (u64, u64),
    /// Packets that links have dropped.
    pub drops: u64,
    /// New bytes delivered.
    pub delivered: u64,
    /// Hash of time and bytes of every packet.
    pub hash: String,
    /// When it ended.
    pub end: Time,
}

/// Flows over one link with 20 ms in each direction, and 33 packets of drop-tail.
pub fn scenario(flows: usize, rate: &str, queue: &str) -> Scenario {
    let mut text = format!(
        r#"
        duration = "600 s"
        rules = "classic"
        nodes = ["a", "b"]
        links = [
            {{ name = "there", from = "a", to = "b", rate = "{rate}", delay = "20 ms", queue = {queue} }},
            {{ name = "back", from = "b", to = "a", rate = "1 Gbit/s", delay = "20 ms" }},
        ]
        flows = [
        "#
    );
    for flow in 0..flows {
        text += &format!("{{ name = \"f{flow}\", from = \"a\", to = \"b\", tcp = \"reno\" }},\n");
    }
    Scenario::from_toml(&(text + "]")).expect("a scenario")
}

/// The usual queue.
pub const DROP_TAIL: &str = r#"{ kind = "droptail", limit = "33 packets" }"#;

/// A stack over the links of a scenario.
pub struct Bench<'a> {
    pub stack: &'a mut dyn Stack,
    paths: Paths<usize>,
    buffers: Vec<Vec<u8>>,
    hash: Sha256,
    pub now: Time,
    pub run: Run,
    /// Drops every packet from this time on.
    pub cut: Time,
}

impl<'a> Bench<'a> {
    pub fn new(stack: &'a mut dyn Stack, scenario: &Scenario) -> Self {
        let paths = Paths::new(scenario, 1, 0).expect("paths");
        Bench {
            stack,
            paths,
            buffers: Vec::new(),
            hash: Sha256::new(),
            now: Time::ZERO,
            run: Run::default(),
            cut: Time::NEVER,
        }
    }

    /// When something happens next.
    pub fn next(&self) -> Time {
        self.paths.next_deadline().min(self.stack.next_deadline())
    }

    /// Goes on until `is_done` or the end.
    pub fn run_until(&mut self, end: Time, is_done: impl Fn(&Run) -> bool) {
        loop {
            self.drain();
            let next = self.paths.next_deadline().min(self.stack.next_deadline());
            if is_done(&self.run) || next > end {
                break;
            }
            self.now = self.now.max(next);
            if let Some(delivery) = self.paths.poll(self.now) {
                let to = if delivery.direction == Direction::Forward { End::Receiver } else { End::Sender };
                let bytes = std::mem::take(&mut self.buffers[delivery.packet.payload]);
                self.run.delivered +=
                    self.stack.on_datagram(self.now, delivery.flow, to, delivery.packet.ecn, &bytes);
            } else if self.stack.next_deadline() <= self.now {
                self.stack.on_deadline(self.now);
            }
        }
        if !is_done(&self.run) {
            self.now = self.now.max(end);
        }
        while self.paths.poll_loss().is_some() {
            self.run.drops += 1;
        }
        self.run.hash = format!("{:x}", self.hash.clone().finalize());
        self.run.end = self.now;
    }

    fn drain(&mut self) {
        let mut bytes = Vec::new();
        while let Some(transmit) = self.stack.poll_transmit(self.now, &mut bytes) {
            let is_forward = transmit.from == End::Sender;
            *(if is_forward { &mut self.run.packets.0 } else { &mut self.run.packets.1 }) += 1;
            self.hash.update(self.now.0.to_le_bytes());
            self.hash.update(&bytes);
            assert_eq!(transmit.size as usize, bytes.len());
            if self.now >= self.cut {
                continue;
            }
            self.buffers.push(bytes.clone());
            let packet = Packet {
                ecn: transmit.ecn,
                flow: transmit.connection,
                ..Packet::of_size(transmit.size, self.buffers.len() - 1)
            };
            let direction = if is_forward { Direction::Forward } else { Direction::Reverse };
            self.paths.enter(self.now, transmit.flow, direction, &packet);
        }
        while let Some(event) = self.stack.poll_event() {
            match event {
                StackEvent::Acknowledged { connection } => self.run.acknowledged.push((connection, self.now)),
                StackEvent::GivenUp { connection } => self.run.given_up.push((connection, self.now)),
            }
        }
    }
}

/// One transfer of each flow, from the beginning until all are acknowledged.
pub fn transfer(stack: &mut dyn Stack, scenario: &Scenario, bytes: u64) -> Run {
    let flows = scenario.flows.len();
    for flow in 0..flows as u32 {
        stack.open(Time::ZERO, flow, flow, bytes, false);
    }
    let mut bench = Bench::new(stack, scenario);
    bench.run_until(Time(600_000_000_000), |run| run.acknowledged.len() + run.given_up.len() == flows);
    assert_eq!(bench.stack.failure(), None);
    bench.run
}

/// A transfer of 5 MB over the usual link, with a kernel and a congestion control.
pub fn five_megabytes(tree: &str, congestion: &str, seed: u64) -> Run {
    let flow = spec(tree, &[("congestion", congestion.into())]);
    let mut stack = started(&LinuxHost::shared(), &[flow], seed).unwrap_or_else(|why| panic!("{why}"));
    transfer(&mut *stack, &scenario(1, RATE, DROP_TAIL), 5_000_000)
}
