//! Hosts: anonymous network namespaces with one TUN device each.
//!
//! A thread leaves the network namespace of the process, and the device is born in the new one. The namespace has no
//! name, nothing is pinned and no device is persistent, so everything is gone when the process ends, however it ends.
//! There is no default route: no packet leaves.
//!
//! Addresses and routes are set by the command `ip` of iproute2, which acts in the namespace of the thread that starts
//! it.

pub use crate::host::{HostSpec, Peer};
use nix::sched::{CloneFlags, setns, unshare};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{self, Scope, ScopedJoinHandle};
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// Name of the device in its namespace.
pub const DEVICE: &str = "tun0";

/// Where TUN devices come from.
pub(crate) const TUN: &str = "/dev/net/tun";

/// Packets that the device queues until the emulator reads them. A whole window may stand there.
pub(crate) const DEVICE_QUEUE: u32 = 5000;

/// What could not be done, and why.
#[derive(Debug)]
pub struct SpaceError {
    /// What was tried.
    pub action: String,
    /// The cause.
    pub cause: io::Error,
}

impl fmt::Display for SpaceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cannot {}: {}", self.action, self.cause)
    }
}

impl std::error::Error for SpaceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// Adds what was tried to an error.
pub(crate) fn trying<T, E: Into<io::Error>>(
    action: impl Into<String>,
    result: Result<T, E>,
) -> Result<T, SpaceError> {
    result.map_err(|cause| SpaceError { action: action.into(), cause: cause.into() })
}

/// A host: a network namespace with a device.
pub struct Space {
    namespace: File,
    device: SyncDevice,
}

impl Space {
    /// Makes a host. Its device is not yet connected to anything: an emulator reads and writes its packets.
    ///
    /// # Errors
    ///
    /// The process may not make namespaces or devices (it needs root), `ip` is missing, or a setting is not accepted.
    /// Nothing is left then.
    pub fn new(spec: &HostSpec) -> Result<Space, SpaceError> {
        // Missing device nodes are not created: that would outlive the process.
        trying(format!("open {TUN}, which needs root"), File::open(TUN).map(drop))?;
        let made = thread::scope(|scope| scope.spawn(|| Space::of_this_thread(spec)).join());
        made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Moves this thread into a new namespace, and sets it up.
    fn of_this_thread(spec: &HostSpec) -> Result<Space, SpaceError> {
        trying("make a network namespace, which needs root", unshare(CloneFlags::CLONE_NEWNET))?;
        let namespace = trying("open the namespace", File::open("/proc/thread-self/ns/net"))?;
        // Otherwise the host sends router solicitations when the device comes up.
        set("ipv6/conf/all/disable_ipv6", "1")?;
        set("ipv6/conf/default/disable_ipv6", "1")?;
        for (path, value) in &spec.settings {
            set(path, value)?;
        }
        let builder = DeviceBuilder::new().name(DEVICE).layer(Layer::L3).mtu(spec.mtu).enable(false);
        let device = trying("make a TUN device", builder.build_sync())?;
        trying("make the device non-blocking", device.set_nonblocking(true))?;
        let mut commands = format!(
            "address add {}/32 dev {DEVICE}\nlink set dev {DEVICE} txqueuelen {DEVICE_QUEUE} gso_max_segs 1 up\n\
             link set dev lo up\n",
            spec.address
        );
        for Peer { address, route } in &spec.peers {
            commands += &format!("route add {address}/32 dev {DEVICE} {}\n", route.join(" "));
        }
        ip(&commands)?;
        Ok(Space { namespace, device })
    }

    /// The device. What it receives is what the host sends.
    pub fn device(&self) -> &SyncDevice {
        &self.device
    }

    /// Moves the calling thread to this host. Sockets that it opens from now on are the host's.
    ///
    /// # Errors
    ///
    /// The process may not change namespaces.
    pub fn enter(&self) -> Result<(), SpaceError> {
        trying("enter a network namespace", setns(&self.namespace, CloneFlags::CLONE_NEWNET))
    }

    /// Starts a thread on this host.
    pub fn spawn<'scope, T: Send + 'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        work: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, Result<T, SpaceError>> {
        scope.spawn(|| self.enter().map(|()| work()))
    }
}

/// Changes a setting in the namespace of the calling thread. The kernel reports its refusal to the one write.
pub(crate) fn set(path: &str, value: &str) -> Result<(), SpaceError> {
    let file: PathBuf = Path::new("/proc/sys/net").join(path);
    let written = OpenOptions::new().write(true).open(&file).and_then(|mut file| {
        let count = file.write(value.as_bytes())?;
        if count == value.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    });
    trying(format!("set net/{path} to \"{value}\""), written)
}

/// Runs commands of `ip` in the namespace of the calling thread, one a line, until one fails.
pub(crate) fn ip(commands: &str) -> Result<(), SpaceError> {
    let run = || {
        let mut command = Command::new("ip");
        command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(commands.as_bytes())?;
        }
        child.wait_with_output()
    };
    let output = trying("run the command ip of iproute2", run())?;
    if output.status.success() {
        return Ok(());
    }
    let cause = io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    Err(SpaceError { action: format!("set up addresses and routes with \"{}\"", commands.trim()), cause })
}
