//! Modules of the user. The variable `DUMBBELL_KERNEL_MODULE` names one of the latest kernel, and
//! `DUMBBELL_KERNEL_CONGESTION` the congestion control that it has; `DUMBBELL_KERNEL_TREE` is the tree from which it was
//! built (`dumbbell kernel build --keep`).

use crate::harness::{Bench, DROP_TAIL, RATE, scenario, spec, started, transfer, trees};
use dumbbell_kernel::host::LinuxHost;
use dumbbell_units::Time;
use std::io::Write;
use std::process::Command;

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

/// A module whose timer expires in the second second of a run, and what it does then.
fn timer(code: &str) -> String {
    format!(
        r#"
        #include <linux/module.h>
        #include <linux/timer.h>
        static void fire(struct timer_list *timer) {{ {code} }}
        static DEFINE_TIMER(bad, fire);
        static int __init start(void) {{ return mod_timer(&bad, jiffies + 2 * HZ); }}
        module_init(start);
        MODULE_LICENSE("GPL");
        "#
    )
}

#[test]
fn a_module_that_is_broken_ends_the_run_with_what_the_kernel_says() {
    let Some(tree) = std::env::var_os("DUMBBELL_KERNEL_TREE") else {
        let _ =
            writeln!(std::io::stderr(), "SKIPPED test of broken modules: DUMBBELL_KERNEL_TREE names no tree");
        return;
    };
    for (code, expected) in [
        ("panic(\"as asked\");", "has panicked; it said: Kernel panic - not syncing: as asked"),
        ("BUG();", "has panicked; it said: BUG: failure at"),
        ("*(volatile int *)16 = 1;", "has panicked; it said: Kernel panic - not syncing:"),
        ("for (;;) pr_emerg(\"again\");", "floods: it has printed more than 1048576 bytes; it said: again"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("bad.c"), timer(code)).expect("a source");
        std::fs::write(folder.path().join("Makefile"), "obj-m := bad.o\n").expect("a recipe");
        let mut make = Command::new("make");
        make.args(["-s", "ARCH=um", "modules", "-C"])
            .arg(&tree)
            .arg(format!("M={}", folder.path().display()));
        assert!(make.status().expect("make runs").success());
        let module = folder.path().join("bad.ko").display().to_string();
        let flow = spec(trees()[0], &[("module", module.into())]);
        let mut stack = started(&LinuxHost::shared(), &[flow], 1).unwrap_or_else(|why| panic!("{why}"));
        stack.open(Time::ZERO, 0, 0, u64::MAX, false);
        let links = scenario(1, RATE, DROP_TAIL);
        let mut bench = Bench::new(&mut *stack, &links);
        bench.run_until(Time(3_000_000_000), |_| false);
        let why = bench.stack.failure().expect("it has failed");
        assert!(why.contains(expected), "{code}: {why}");
    }
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
