//! Transfers over one bottleneck.

use crate::harness::transfer;
use serde_json::json;

#[test]
fn print_all() {
    for stated in [
        json!({"name": "quinn"}),
        json!({"name": "quinn", "congestion": "newreno"}),
        json!({"name": "quinn", "congestion": "bbr"}),
        json!({"name": "smoltcp"}),
        json!({"name": "smoltcp", "congestion": "reno"}),
        json!({"name": "smoltcp", "congestion": "none"}),
        json!({"name": "smoltcp", "send_buffer": "256000 bytes", "receive_buffer": "256000 bytes"}),
        json!({"name": "smoltcp", "congestion": "reno", "send_buffer": "256000 bytes", "receive_buffer": "256000 bytes"}),
    ] {
        let report = transfer("", stated.clone(), 5_000_000);
        eprintln!("{stated} {} {report:?}", 40.0 / report.completion());
    }
}
