//! Modules of the user. The variable `DUMBBELL_KERNEL_MODULE` names one of the latest kernel, and
//! `DUMBBELL_KERNEL_CONGESTION` the congestion control that it has.

use crate::harness::{DROP_TAIL, RATE, scenario, spec, started, transfer, trees};
use dumbbell_kernel::host::LinuxHost;
use std::io::Write;

#[test]
fn a_module_is_loaded_by_its_path() {
    let variable = |name: &str| std::env::var(format!("DUMBBELL_KERNEL_{name}")).ok();
    let (Some(module), Some(congestion)) = (variable("MODULE"), variable("CONGESTION")) else {
        let _ = writeln!(std::io::stderr(), "SKIPPED test of modules: DUMBBELL_KERNEL_MODULE names none");
        return;
    };
    let Some(&tree) = trees().first() else { return };
    let flow = spec(tree, &[("module", module.into()), ("congestion", congestion.into())]);
    let mut stack = started(&LinuxHost::shared(), &[flow], 1).unwrap_or_else(|why| panic!("{why}"));
    let run = transfer(&mut *stack, &scenario(1, RATE, DROP_TAIL), 1_000_000);
    assert_eq!(run.delivered, 1_000_000);
}

#[test]
fn what_is_no_module_is_an_error_with_its_path() {
    let Some(&tree) = trees().first() else { return };
    let flow = spec(tree, &[("module", "/usr/bin/true".into())]);
    let why = started(&LinuxHost::shared(), &[flow], 1).map(|_| ()).expect_err("no module");
    assert!(why.contains("the kernel does not load /usr/bin/true: Exec format error"), "{why}");
}

#[test]
fn a_setting_that_the_kernel_lacks_is_an_error_with_its_name() {
    let Some(&tree) = trees().first() else { return };
    let settings = serde_json::json!({ "net.ipv4.tcp_nothing": 1 });
    let why = started(&LinuxHost::shared(), &[spec(tree, &[("sysctl", settings)])], 1).map(|_| ());
    let why = why.expect_err("no setting");
    assert!(why.contains("does not accept net.ipv4.tcp_nothing = \"1\": No such file"), "{why}");
}
