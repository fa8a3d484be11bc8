//! Guests behind the links of scenarios. Without a kernel in the cache, each test says so in a line and passes.

use dumbbell_kernel::guest::Start;
use dumbbell_kernel::stack::{Linux, Settings};
use dumbbell_net::Packet;
use dumbbell_sim::paths::{Direction, Paths};
use dumbbell_sim::transport::{End, Stack, StackEvent};
use dumbbell_sim::Scenario;
use dumbbell_units::{Ecn, Time};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The folder of a kernel.
fn kernel() -> Option<PathBuf> {
    let home = std::env::var("HOME").ok()?;
    Some(PathBuf::from(home).join(".cache/dumbbell/kernels").join(std::env::var("KERNEL").unwrap_or("6.12.117-dev".into())))
}

/// What a run has given.
#[derive(Debug, Default, PartialEq)]
struct Run {
    ended: Vec<(u32, Time)>,
    frames: u64,
    drops: u64,
    delivered: u64,
    hash: String,
    acks: u64,
}

/// Flows over 10 Mbit/s, 20 ms in each direction, and 33 packets of drop-tail.
fn scenario(flows: usize, rate: &str) -> Scenario {
    let mut text = format!(
        r#"
        duration = "60 s"
        nodes = ["a", "b"]
        links = [
            {{ name = "there", from = "a", to = "b", rate = "{rate}", delay = "20 ms", queue = {{ kind = "droptail", limit = "33 packets" }} }},
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

fn transfer(stack: &mut Linux, scenario: &Scenario, flows: u32, bytes: u64, until: Time) -> Run {
    let mut paths: Paths<usize> = Paths::new(scenario, 1, 0).expect("paths");
    let mut run = Run::default();
    let mut hash = Sha256::new();
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    let mut now = Time::ZERO;
    for flow in 0..flows {
        stack.open(now, flow, flow, bytes, false);
    }
    let mut packet = Vec::new();
    let debug = std::env::var("DEBUG").is_ok();
    let mut steps=0;
    loop {
        while let Some(transmit) = stack.poll_transmit(now, &mut packet) {
            run.frames += 1;
            if transmit.from == End::Receiver { run.acks += 1; }
            hash.update(now.0.to_le_bytes());
            hash.update(&packet);
            if debug { println!("{} {:?} {:02x?}", now.0, transmit, &packet[..52.min(packet.len())]); }
            let direction = if transmit.from == End::Sender { Direction::Forward } else { Direction::Reverse };
            buffers.push(packet.clone());
            let packet = Packet { ecn: transmit.ecn, flow: transmit.connection, ..Packet::of_size(transmit.size, buffers.len() - 1) };
            paths.enter(now, transmit.flow, direction, &packet);
        }
        while let Some(event) = stack.poll_event() {
            if let StackEvent::Acknowledged { connection } = event {
                run.ended.push((connection, now));
            } else { panic!("{event:?}"); }
        }
        if let Some(why) = stack.failure() { panic!("{why}") }
        if run.ended.len() == flows as usize { break; }
        let at = paths.next_deadline().min(stack.next_deadline());
        if at >= until { break }
        now = at;
        steps+=1;
        if let Some(delivery) = paths.poll(now) {
            let to = if delivery.direction == Direction::Forward { End::Receiver } else { End::Sender };
            run.delivered += stack.on_datagram(now, delivery.flow, to, delivery.packet.ecn, &std::mem::take(&mut buffers[delivery.packet.payload]));
        } else if stack.next_deadline() <= now {
            stack.on_deadline(now);
        }
    }
    while paths.poll_loss().is_some() { run.drops += 1; }
    run.hash = format!("{:x}", hash.finalize());
    println!("steps {steps}");
    run
}

fn start(flows: u32, congestion: &str, seed: u64) -> Option<Linux> {
    let kernel = kernel()?;
    let start = Start { kernel: &kernel, seed, limit: Duration::from_secs(5) };
    let settings = Settings {
        sysctl: vec![
            ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
            ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
            ("net.ipv4.tcp_no_metrics_save", "1"),
        ],
        module: None,
        mtu: 1500,
    };
    let congestion = (0..flows).map(|flow| (flow, congestion.to_owned())).collect();
    Some(Linux::start(&start, &settings, congestion).expect("a guest"))
}

#[test]
fn five_megabytes() {
    for congestion in ["cubic", "cubic", "bbr", "reno"] {
        let begin = std::time::Instant::now();
        let mut stack = start(1, congestion, 1).unwrap();
        let booted = begin.elapsed();
        let run = transfer(&mut stack, &scenario(1, "10 Mbit/s"), 1, 5_000_000, Time(60_000_000_000));
        println!("{congestion} booted {booted:?}, all {:?}, {run:?} read {}", begin.elapsed(), stack.read(run.ended[0].1, 0));
        println!("{:?}", stack.shown(run.ended[0].1, 0));
    }
}
