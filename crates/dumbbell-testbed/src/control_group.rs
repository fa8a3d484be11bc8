//! A control group (version 2) for the process, to whose sockets programs for queueing times are attached.
//!
//! An empty group is the one thing that outlives a killed process; the next run removes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

/// Prefix of the groups' names; the number of the process follows.
const PREFIX: &str = "dumbbell-testbed-";

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
        fs::create_dir(&folder)?;
        let group = ControlGroup { folder, before };
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
        // What fails here is left to the next run.
        let _ = join(&self.before);
        let _ = fs::remove_dir(&self.folder);
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
