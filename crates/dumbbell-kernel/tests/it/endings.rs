//! A guest ends with what has started it, and a guest that hangs ends the run.

use crate::harness::{descendants, guest, spec, started, trees, with_descendants};
use dumbbell_kernel::host::LinuxHost;
use dumbbell_sim::transport::Stack;
use dumbbell_units::Time;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The variable that makes this program start a guest and wait.
const CHILD: &str = "DUMBBELL_KERNEL_TEST_CHILD";

fn is_alive(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // A zombie is dead.
    stat.rsplit(") ").next().is_some_and(|state| !state.is_empty() && !state.starts_with(['Z', 'X']))
}

#[expect(clippy::disallowed_methods, reason = "the end of processes is waited for in real time")]
fn vanish(processes: &[u32]) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        !processes.iter().any(|process| is_alive(*process))
    })
}

fn signal(process: u32, signal: Signal) {
    let process = Pid::from_raw(process as i32).expect("a process");
    kill_process(process, signal).expect("it is ours");
}

/// What is left in the folders where a guest keeps its socket and its memory.
fn left() -> Vec<String> {
    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let all = [names(&std::env::temp_dir()), names(Path::new("/dev/shm"))].concat();
    let own = format!("dumbbell-{}-", std::process::id());
    all.into_iter().filter(|name| name.starts_with(&own) || name.starts_with("vm_file-")).collect()
}

#[test]
fn nothing_is_left_when_a_run_ends() {
    for tree in trees() {
        let stack = guest(tree, Duration::from_secs(30));
        // Guests of other tests may have a name for an instant.
        assert!((0..1000).any(|_| left().is_empty()), "nothing has a name while it runs: {:?}", left());
        let processes = with_descendants(stack.guest().process());
        assert!(processes.len() >= 3, "a starter, a guest, and the process of its agent: {processes:?}");
        drop(stack);
        assert!(vanish(&processes), "{tree}: {processes:?}");
    }
}

/// The part of the next test that runs in a process of its own.
#[test]
#[ignore = "the child of another test"]
fn child_that_is_killed() {
    use std::io::Write;
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let Some(&tree) = trees().first() else { return };
    let mut stack =
        started(&LinuxHost::shared(), &[spec(tree, &[])], 1).unwrap_or_else(|why| panic!("{why}"));
    stack.open(Time::ZERO, 0, 0, u64::MAX, false);
    let mut output = std::io::stdout();
    let _ = writeln!(output, "\nready").and_then(|()| output.flush());
    std::thread::park();
}

#[test]
fn a_guest_ends_with_a_process_that_is_killed() {
    if trees().is_empty() {
        return;
    }
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--ignored", "--exact", "--nocapture", "endings::child_that_is_killed"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let output = BufReader::new(child.stdout.take().expect("its output"));
    assert!(output.lines().map_while(Result::ok).any(|line| line == "ready"));
    let processes = descendants(child.id());
    assert!(processes.len() >= 3, "a starter, a guest, and its process: {processes:?}");
    child.kill().expect("it is killed");
    child.wait().expect("it has ended");
    assert!(vanish(&processes), "{processes:?}");
}

#[test]
fn a_guest_that_hangs_ends_the_run_with_a_sentence() {
    let Some(&tree) = trees().first() else { return };
    let mut stack = guest(tree, Duration::from_millis(300));
    let starter = stack.guest().process();
    let guest = descendants(starter)[0];
    signal(guest, Signal::STOP);
    stack.open(Time::ZERO, 0, 0, 1000, false);
    let why = stack.failure().expect("it has failed");
    assert!(why.starts_with("the guest has done nothing for 0.3 s of real time"), "{why}");
    assert_eq!(stack.next_deadline(), Time::NEVER);
    stack.on_deadline(Time(5));
    drop(stack);
    assert!(vanish(&[guest, starter]));
}
