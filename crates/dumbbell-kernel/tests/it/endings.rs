//! A guest ends with what has started it, and a guest that ends, hangs or floods ends the run with a sentence.

use crate::harness::{DROP_TAIL, RATE, descendants, guest, scenario, transfer, trees, with_descendants};
use dumbbell_kernel::guest::{Guest, Start};
use dumbbell_kernel::host::LinuxHost;
use dumbbell_sim::transport::Stack;
use dumbbell_units::Time;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{File, Permissions};
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The variable that makes this program start one guest after the other, and that which makes it a guest that floods.
const CHILD: &str = "DUMBBELL_KERNEL_TEST_CHILD";
const FLOOD: &str = "DUMBBELL_KERNEL_TEST_FLOOD";

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

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Memory of guests that has a name.
fn memory_files() -> Vec<String> {
    let all = [names(&std::env::temp_dir()), names(Path::new("/dev/shm"))].concat();
    all.into_iter().filter(|name| name.starts_with("vm_file-")).collect()
}

#[test]
fn nothing_is_left_when_a_run_ends() {
    for tree in trees() {
        let stack = guest(tree, Duration::from_secs(30));
        assert_eq!(memory_files(), [""; 0], "nothing has a name while it runs");
        let processes = with_descendants(stack.guest().process());
        assert!(processes.len() >= 3, "a starter, a guest, and the process of its agent: {processes:?}");
        drop(stack);
        assert!(vanish(&processes), "{tree}: {processes:?}");
    }
}

/// The part of the next test that runs in a process of its own: one run after the other.
#[test]
#[ignore = "the child of another test"]
fn child_that_is_killed() {
    let Some(&tree) = trees().first().filter(|_| std::env::var_os(CHILD).is_some()) else { return };
    loop {
        let mut stack = guest(tree, Duration::from_secs(30));
        transfer(&mut stack, &scenario(1, RATE, DROP_TAIL), 300_000);
    }
}

/// The processes of a session.
fn session(leader: u32) -> Vec<u32> {
    let numbers = names(Path::new("/proc")).into_iter().filter_map(|name| name.parse().ok());
    let is_in = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // After the name: state, parent, group, session.
        let session = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(3)?.parse::<u32>().ok());
        session == Some(leader) && is_alive(*process)
    };
    numbers.filter(is_in).collect()
}

/// `DUMBBELL_KERNEL_KILLS` is the number of moments; 100 were tried when this was written. The last kill is that of a guest
/// that is up.
#[test]
#[expect(clippy::disallowed_methods, reason = "the moments are of real time")]
fn a_process_that_is_killed_at_any_moment_leaves_nothing() {
    if trees().is_empty() {
        return;
    }
    let kills = std::env::var("DUMBBELL_KERNEL_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(5);
    for kill in 0..=kills {
        let folder = tempfile::tempdir().expect("a folder");
        // A session, because guests are in groups of their own.
        let mut child = Command::new("setsid")
            .arg(std::env::current_exe().expect("this program"))
            .args(["--ignored", "--exact", "endings::child_that_is_killed"])
            .env(CHILD, "1")
            .env("TMPDIR", folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        // Moments that are spread over boot, handshake, transfer and end, by the golden ratio.
        let moment = Duration::from_millis(400).mul_f64(f64::from(kill) * 0.618_034 % 1.0);
        std::thread::sleep(moment);
        if kill == kills {
            let has_all = (0..2000).any(|_| {
                std::thread::sleep(Duration::from_millis(10));
                session(child.id()).len() >= 4
            });
            assert!(has_all, "the test, a starter, a guest and its process: {:?}", session(child.id()));
        }
        child.kill().expect("it is killed");
        child.wait().expect("it has ended");
        let is_gone = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            session(child.id()).is_empty()
        });
        assert!(is_gone, "after {moment:?}: {:?}", session(child.id()));
        assert_eq!(names(folder.path()), [""; 0], "after {moment:?}");
        assert_eq!(memory_files(), [""; 0], "after {moment:?}");
    }
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

#[test]
fn a_guest_that_is_killed_ends_the_run_with_a_sentence() {
    for tree in trees() {
        let mut stack = guest(tree, Duration::from_secs(30));
        signal(descendants(stack.guest().process())[0], Signal::KILL);
        stack.open(Time::ZERO, 0, 0, 1000, false);
        let why = stack.failure().expect("it has failed");
        assert!(why.starts_with("the guest was ended by signal 9"), "{tree}: {why}");
    }
}

#[test]
fn a_kernel_that_panics_ends_the_run_with_its_last_line() {
    for tree in trees() {
        let mut stack = guest(tree, Duration::from_secs(30));
        // The agent meets an illegal instruction, and a kernel does not live on without its first process.
        let agent = descendants(stack.guest().process())[1];
        signal(agent, Signal::ILL);
        stack.open(Time::ZERO, 0, 0, 1000, false);
        let why = stack.failure().expect("it has failed");
        let expected = "the kernel of the guest has panicked; it said: Kernel panic - not syncing: Attempted to kill init!";
        assert!(why.starts_with(expected), "{tree}: {why}");
    }
}

/// A flood of the next test that runs as a guest.
#[test]
#[ignore = "the guest of another test"]
fn guest_that_floods() {
    let Ok(flood) = std::env::var(FLOOD) else { return };
    let connected = || UnixStream::connect("/proc/self/fd/9").expect("the engine listens");
    let mut clock = connected();
    let devices = [connected(), connected(), connected()];
    let message = |request: u32, words: &[u64]| {
        let words = words.iter().flat_map(|word| word.to_le_bytes());
        let header = [request, 1, words.clone().count() as u32].map(u32::to_le_bytes);
        header.concat().into_iter().chain(words).collect::<Vec<u8>>()
    };
    let kick = message(35, &[1]);
    match flood.as_str() {
        "clock" => loop {
            // Questions for the time.
            let question = [4_u64.to_le_bytes(), [0; 8]].concat();
            clock.write_all(&question.repeat(64)).expect("the engine reads");
            clock.read_exact(&mut [0; 1024]).expect("it answers");
        },
        "kicks" => loop {
            (&devices[0]).write_all(&kick).expect("the engine reads");
        },
        "frames" => {
            // A ring of 256 descriptors at 0, with frames of 64 bytes; what is offered at 0x2000, what was used at 0x3000.
            let memory = File::from(memfd_create("guest", MemfdFlags::empty()).expect("memory"));
            let descriptor = [0x4000_u64.to_le_bytes(), 64_u64.to_le_bytes()].concat();
            memory.write_all_at(&descriptor.repeat(256), 0).expect("memory");
            memory.set_len(0x5000).expect("memory");
            // No interrupts.
            memory.write_all_at(&[1], 0x2000).expect("memory");
            let files = [memory.as_fd()];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            ancillary.push(SendAncillaryMessage::ScmRights(&files));
            let table = message(5, &[1, 0, 0x5000, 0, 0]);
            sendmsg(&devices[0], &[IoSlice::new(&table)], &mut ancillary, SendFlags::empty()).expect("sent");
            let ring = [message(8, &[1 | 256 << 32]), message(9, &[1, 0, 0x3000, 0x2000, 0])];
            (&devices[0]).write_all(&ring.concat()).expect("the engine reads");
            for offered in (0_u16..=u16::MAX).cycle().step_by(256) {
                memory.write_all_at(&offered.to_le_bytes(), 0x2002).expect("memory");
                let asked = [&kick[..4], &9_u32.to_le_bytes(), &kick[8..]].concat();
                (&devices[0]).write_all(&asked).expect("the engine reads");
                (&devices[0]).read_exact(&mut [0; 20]).expect("it answers");
            }
        }
        _ => loop {
            let _ = std::io::stdout().write_all(b"round and round\n");
        },
    }
}

#[test]
fn a_guest_that_floods_ends_the_run_with_a_sentence() {
    let kernels = LinuxHost::user().kernels();
    let Some(kernel) = kernels.first() else { return };
    for (flood, expected) in [
        ("clock", "the guest floods: 262144 messages in a millisecond of its time"),
        ("kicks", "the guest floods: 262144 messages in a millisecond of its time"),
        ("frames", "the guest floods: 131072 frames at once"),
        ("console", "the guest floods: it has printed more than 1048576 bytes; it said: round and round"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("root")).expect("a folder");
        std::fs::copy(kernel.as_ref().join("launch"), at("launch")).expect("a starter");
        let program = std::env::current_exe().expect("this program");
        let program = program.display();
        let script = format!(
            "#!/bin/sh\n{FLOOD}={flood} exec {program} --ignored --exact --nocapture endings::guest_that_floods\n"
        );
        std::fs::write(at("linux"), script).expect("a guest");
        std::fs::set_permissions(at("linux"), Permissions::from_mode(0o700)).expect("it runs");
        let start = Start { kernel: folder.path(), seed: 1, limit: Duration::from_secs(30) };
        let why = Guest::start(&start).expect_err("an error");
        assert!(why.starts_with(expected), "{flood}: {why}");
    }
}
