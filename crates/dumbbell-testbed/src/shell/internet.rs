//! The way from a shell to beyond this host: packets of the program are forwarded with the address of this host.
//!
//! Three things are needed, and all are undone. The table of nftables has an owner, the process that made it, and
//! vanishes with it. Forwarding of the shell's device vanishes with the device. Forwarding of the device that leads to
//! the outside is a setting of the host; a process of its own waits for the end of the shell and restores it, so that it
//! is restored even if the shell is killed. If that process was killed, the shell restores it.

use super::ends::Ends;
use crate::space::{SpaceError, set, trying};
use dumbbell_units::Value;
use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

/// Longest time until nftables has accepted the table.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits for the end of the shell, which closes the standard input of `nft`, and restores the setting.
const KEEPER: &str = r#"trap '' INT TERM HUP QUIT; nft -i >/dev/null 2>&1; printf %s "$2" > "$1""#;

/// The way to the outside, until it is dropped.
#[derive(Debug)]
pub struct Internet {
    keeper: Child,
    input: Option<ChildStdin>,
    /// The setting of the host, and its value before.
    setting: String,
    before: String,
}

impl Internet {
    /// Opens the way for a shell.
    ///
    /// # Errors
    ///
    /// `nft` is missing, the kernel does not masquerade, or this host has no default route. Nothing is left then.
    pub fn open(ends: &Ends) -> Result<Internet, SpaceError> {
        let device = &ends.device;
        let uplink = uplink()?;
        set(&format!("ipv4/conf/{device}/forwarding"), "1")?;
        let rules = |flags: &str| {
            let table = format!("ip {device}");
            format!(
                "add table {table} {flags}; \
                 add chain {table} out {{ type nat hook postrouting priority srcnat; policy accept; }}; \
                 add rule {table} out ip saddr {} oifname \"{uplink}\" masquerade\n",
                ends.block
            )
        };
        // A check in advance, because the interactive mode reports errors only on its output.
        let check = Command::new("nft").args(["-c", &rules("")]).stdout(Stdio::null()).output();
        let check = trying("run the command nft of nftables, which --internet needs", check)?;
        if !check.status.success() {
            let cause = io::Error::other(String::from_utf8_lossy(&check.stderr).trim().replace('\n', " "));
            return Err(SpaceError { action: "masquerade with nftables, as --internet needs".into(), cause });
        }
        let setting = format!("ipv4/conf/{uplink}/forwarding");
        let path = format!("/proc/sys/net/{setting}");
        let before = trying(format!("read {path}"), std::fs::read_to_string(&path))?;
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "sh", &path, before.trim()]);
        keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut keeper = trying("run the command sh", keeper.spawn())?;
        let input = keeper.stdin.take();
        let before = before.trim().to_owned();
        let mut opened = Internet { keeper, input, setting: setting.clone(), before };
        if let Some(input) = &mut opened.input {
            trying("write to nft", input.write_all(rules("{ flags owner; }").as_bytes()))?;
            trying("write to nft", input.flush())?;
        }
        set(&setting, "1")?;
        opened.wait_for_table(device)?;
        Ok(opened)
    }

    /// Waits until the table exists.
    #[allow(clippy::disallowed_methods, reason = "waits for another process")]
    fn wait_for_table(&self, device: &str) -> Result<(), SpaceError> {
        let step = Duration::from_millis(20);
        for _ in 0..PATIENCE.as_millis() / step.as_millis() {
            let mut list = Command::new("nft");
            list.args(["list", "table", "ip", device]);
            if list_succeeds(&mut list)? {
                return Ok(());
            }
            std::thread::sleep(step);
        }
        let cause =
            io::Error::other("the kernel may lack tables with owners, which it has from version 5.12 on");
        Err(SpaceError { action: "make a table of nftables, as --internet needs".into(), cause })
    }
}

fn list_succeeds(command: &mut Command) -> Result<bool, SpaceError> {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    trying("run the command nft of nftables", status).map(|status| status.success())
}

impl Drop for Internet {
    fn drop(&mut self) {
        drop(self.input.take());
        // The setting is restored when the process has ended.
        let is_restored = self.keeper.wait().is_ok_and(|status| status.success());
        if !is_restored {
            // Nobody is left to be told of a failure.
            let _ = set(&self.setting, &self.before);
        }
    }
}

/// The device of the default route.
fn uplink() -> Result<String, SpaceError> {
    let output = Command::new("ip").args(["-json", "-4", "route", "show", "default"]).output();
    let output = trying("run the command ip of iproute2", output)?;
    let routes: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let device = routes[0]["dev"].as_str().map(str::to_owned);
    device.ok_or_else(|| SpaceError {
        action: "find the default route, as --internet needs".into(),
        cause: io::Error::other("this host has none"),
    })
}
