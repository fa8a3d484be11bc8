// Scratch: runs a scenario and prints.
use dumbbell_sim::{Scenario, run};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let step: f64 = args.get(2).map_or(0.0, |s| s.parse().unwrap());
    let scenario = Scenario::from_value(&value).unwrap_or_else(|e| panic!("{e}"));
    let began = std::time::Instant::now();
    let seed: u64 = args.get(3).map_or(1, |s| s.parse().unwrap());
    let o = run(&scenario, seed, 0);
    let cpu = began.elapsed().as_secs_f64();
    let delivered: u64 = o.flows.iter().map(|f| f.segments_sent - f.segments_lost.min(f.segments_sent)).sum();
    println!("wall {cpu:.3} s, {:.3} M delivered/s, events {}", delivered as f64 / cpu / 1e6, o.events);
    for f in o.flows.iter().take(8) {
        println!(
            "{} goodput {:.4} Mb/s sent {} retx {} lost {} timeouts {} fr {} rtt {:?}",
            f.name,
            f.goodput_bps / 1e6,
            f.segments_sent,
            f.segments_retransmitted,
            f.segments_lost,
            f.timeouts,
            f.fast_retransmits,
            f.rtt_mean_s
        );
    }
    for l in &o.links {
        if l.name == "r1-r2" {
            println!(
                "{} util {:.4} drops {} policer {} marks {} mean {:.2} max {} wait {:?}",
                l.name,
                l.utilization,
                l.drops_queue,
                l.drops_policer,
                l.marks,
                l.backlog_mean_packets,
                l.backlog_max_packets,
                l.wait_mean_s
            );
        }
    }
    if step > 0.0 {
        let n = o.recordings.len();
        let names: Vec<_> = o.recordings.iter().map(|r| r.quantity.name().to_string()).collect();
        println!("time {}", names.join(" "));
        let mut at = vec![0usize; n];
        let mut t = 0.0;
        while t < o.simulated_s {
            t += step;
            let mut row = format!("{t:.3}");
            for (i, r) in o.recordings.iter().enumerate() {
                while at[i] + 1 < r.times.len() && r.times[at[i] + 1] <= t {
                    at[i] += 1;
                }
                row += &format!(" {:.6}", r.values.get(at[i]).copied().unwrap_or(f64::NAN));
            }
            println!("{row}");
        }
    }
}
