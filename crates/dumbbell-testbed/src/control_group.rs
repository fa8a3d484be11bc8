//! A control group (version 2) for the process, to whose sockets programs for queueing times are attached.
//!
//! A group does not vanish with its last process. A process of its own waits for the end of this one and removes the
//! group, so that it is removed even if this process is killed. Should both be killed, an empty group stays, and the next
//! run removes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};

/// Prefix of the groups' names; the number of the process follows.
const PREFIX: &str = "dumbbell-testbed-";

/// Waits for the end of the process that holds its standard input, and removes the group. That process may need a moment
/// to leave it.
const KEEPER: &str = r#"
trap '' INT TERM HUP QUIT
read -r _
tries=0
while [ -d "$1" ] && [ $tries -lt 100 ]; do
    rmdir "$1" 2>/dev/null || sleep 0.05
    tries=$((tries + 1))
done
"#;

/// The folder of control groups of version 2; `None` if there is no mount of it.
pub fn mount() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let fields = mounts.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    fields.into_iter().find(|fields| fields.get(2) == Some(&"cgroup2")).map(|fields| PathBuf::from(fields[1]))
}

/// The group of this process of version 2, relative to the mount.
fn own() -> io::Result<String> {
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    own.map(str::to_owned).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// A group of this process alone, for as long as this value lives.
#[derive(Debug)]
pub struct ControlGroup {
    folder: PathBuf,
    /// Where the process belonged before.
    before: PathBuf,
    keeper: Child,
}

impl ControlGroup {
    /// Makes a group, and moves this process to it.
    ///
    /// # Errors
    ///
    /// There is no mount of version 2, or the process may not make groups.
    pub fn new() -> io::Result<ControlGroup> {
        let mount = mount().ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, "queueing times in TCP options need a mount of cgroup2")
        })?;
        remove_stale(&mount);
        let before = mount.join(own()?);
        let folder = mount.join(format!("{PREFIX}{}", process::id()));
        // The keeper is there before the group is, and does not belong to it.
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "sh"]).arg(&folder);
        let keeper = keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let group = ControlGroup { folder, before, keeper };
        fs::create_dir(&group.folder)?;
        join(&group.folder)?;
        Ok(group)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // What fails here is left to the keeper, and then to the next run.
        let _ = join(&self.before);
        let _ = fs::remove_dir(&self.folder);
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// Moves this process to a group.
fn join(folder: &Path) -> io::Result<()> {
    fs::write(folder.join("cgroup.procs"), process::id().to_string())
}

/// Removes the groups of processes that have ended.
fn remove_stale(mount: &Path) {
    for entry in fs::read_dir(mount).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if let Some(number) = number
            && !Path::new("/proc").join(number).exists()
        {
            let _ = fs::remove_dir(entry.path());
        }
    }
}
