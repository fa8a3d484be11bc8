//! What the testbed needs of a machine, checked in the order in which it is needed.

use crate::control_group;
use crate::emulator::claim_priority;
use crate::host::HostSpec;
use crate::space::Space;
use crate::twins;
use nix::sched::{CloneFlags, unshare};
use nix::sys::utsname::uname;
use nix::unistd::Uid;
use serde_json::json;
use std::fs::{self, OpenOptions};
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

/// Where TUN devices come from, and the type information of the kernel.
const TUN: &str = "/dev/net/tun";
const BTF: &str = "/sys/kernel/btf/vmlinux";

/// The newest setting that hosts need: Linux 6.15 has it.
const NEWEST_SETTING: &str = "/proc/sys/net/ipv4/tcp_rto_max_ms";

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is there.
    Found,
    /// It is missing, and runs work without it, less well or not all of them.
    Advisable,
    /// It is missing, and runs need it.
    Missing,
}

impl Status {
    /// Its name in the output.
    pub fn name(self) -> &'static str {
        match self {
            Status::Found => "ok",
            Status::Advisable => "warning",
            Status::Missing => "missing",
        }
    }
}

/// A check of the machine.
#[derive(Clone, Debug)]
pub struct Check {
    /// What is needed.
    pub name: &'static str,
    /// Whether it is there.
    pub status: Status,
    /// What was found, or why it is missing.
    pub detail: String,
    /// How to get it; empty if it is there.
    pub remedy: &'static str,
}

impl Check {
    fn new(
        name: &'static str,
        found: Result<String, String>,
        otherwise: Status,
        remedy: &'static str,
    ) -> Check {
        match found {
            Ok(detail) => Check { name, status: Status::Found, detail, remedy: "" },
            Err(detail) => Check { name, status: otherwise, detail, remedy },
        }
    }

    /// As a JSON object.
    pub fn json(&self) -> serde_json::Value {
        json!({ "check": self.name, "status": self.status.name(), "detail": self.detail, "remedy": self.remedy })
    }
}

/// Checks everything that the testbed needs or can use. What an earlier check made impossible is missing as well.
pub fn checks() -> Vec<Check> {
    vec![kernel(), root(), btf(), tun(), namespaces(), iproute2(), programs(), fifo(), cgroup2()]
}

/// The first thing that runs lack, as one sentence; `None` if they lack nothing. Programs in the kernel are checked only
/// if they are needed.
pub fn missing(needs_programs: bool) -> Option<String> {
    let always: [fn() -> Check; 5] = [kernel, root, tun, namespaces, iproute2];
    let of_programs: &[fn() -> Check] = if needs_programs { &[btf, program] } else { &[] };
    let mut needed = always.iter().chain(of_programs).map(|check| check());
    let lacking = needed.find(|check| check.status == Status::Missing)?;
    Some(format!("the testbed cannot run: {}: {}; {}", lacking.name, lacking.detail, lacking.remedy))
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn kernel() -> Check {
    let release = uname().map(|names| names.release().to_string_lossy().into_owned()).map_err(text);
    let found = release.and_then(|release| {
        let is_new = Path::new(NEWEST_SETTING).exists();
        if is_new { Ok(format!("Linux {release}")) } else { Err(format!("Linux {release} is too old")) }
    });
    Check::new("kernel", found, Status::Missing, "use Linux 6.15 or newer")
}

fn root() -> Check {
    let found =
        if Uid::effective().is_root() { Ok("root".to_owned()) } else { Err("not run by root".to_owned()) };
    Check::new("root", found, Status::Missing, "run the command as root, for example with sudo")
}

fn btf() -> Check {
    let found = fs::File::open(BTF).map(|_| BTF.to_owned()).map_err(|error| format!("{BTF}: {error}"));
    Check::new("type information", found, Status::Missing, "use a kernel built with CONFIG_DEBUG_INFO_BTF")
}

fn tun() -> Check {
    let opened = OpenOptions::new().read(true).write(true).open(TUN);
    let found = opened.map(|_| TUN.to_owned()).map_err(|error| format!("{TUN}: {error}"));
    let remedy = "load the module with `modprobe tun`, and in a container pass the device /dev/net/tun";
    Check::new("TUN devices", found, Status::Missing, remedy)
}

/// A thread of its own leaves the namespace of the process.
fn namespaces() -> Check {
    let left = thread::spawn(|| unshare(CloneFlags::CLONE_NEWNET)).join();
    let found = match left {
        Ok(Ok(())) => Ok("network namespaces".to_owned()),
        Ok(Err(error)) => Err(format!("unshare: {}", error.desc())),
        Err(_) => Err("the check failed".to_owned()),
    };
    Check::new(
        "namespaces",
        found,
        Status::Missing,
        "run as root, in a container with the capability SYS_ADMIN",
    )
}

/// The command `ip`, and a host made with it.
fn iproute2() -> Check {
    let version = || -> Result<String, String> {
        let output = Command::new("ip").arg("-V").stdin(Stdio::null()).output();
        let output = output.map_err(|error: io::Error| format!("the command ip: {error}"))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().trim_start_matches("ip utility, ").to_owned())
    };
    let found = version().and_then(|version| {
        let host = HostSpec {
            address: Ipv4Addr::new(10, 77, 0, 1),
            mtu: 1500,
            peers: Vec::new(),
            settings: Vec::new(),
        };
        Space::new(&host).map(|_| version).map_err(text)
    });
    Check::new("hosts", found, Status::Missing, "install iproute2, and see the checks above")
}

/// A program that the kernel accepts as a congestion control. A run registers those that it needs itself.
fn program() -> Check {
    check_of_programs(twins::try_one())
}

/// All programs that the kernel should accept.
fn programs() -> Check {
    check_of_programs(twins::try_all())
}

fn check_of_programs(found: Result<String, String>) -> Check {
    let is_built = cfg!(feature = "twins");
    let (otherwise, remedy) = if is_built {
        (
            Status::Missing,
            "run as root with the capabilities BPF and NET_ADMIN, on a kernel with CONFIG_BPF_JIT",
        )
    } else {
        (
            Status::Advisable,
            "install clang-16 and build the testbed again; only flows with eBPF twins need it",
        )
    };
    Check::new("eBPF programs", found, otherwise, remedy)
}

/// In a thread of its own, which keeps the priority.
fn fifo() -> Check {
    let granted = thread::spawn(claim_priority).join().is_ok_and(|granted| granted.is_fifo);
    let found = if granted { Ok("SCHED_FIFO".to_owned()) } else { Err("SCHED_FIFO is refused".to_owned()) };
    let remedy = "run in a control group with real-time runtime, such as the root group; without it, packets may be \
                  milliseconds late on a busy machine";
    Check::new("real-time priority", found, Status::Advisable, remedy)
}

fn cgroup2() -> Check {
    let found = control_group::mount().map(|folder| folder.display().to_string());
    let remedy = "mount it with `mount -t cgroup2 none /sys/fs/cgroup`; only flows with `aqt` need it";
    Check::new(
        "control groups",
        found.ok_or_else(|| "no mount of cgroup2".to_owned()),
        Status::Advisable,
        remedy,
    )
}
