//! The program of a shell: it runs as an ordinary user, in a network namespace, and nothing that it starts outlives it.
//!
//! Two processes of ours are between the shell and the program. The *warden* is a child of the shell in the program's
//! network namespace; the *first process* is its child and the first one of a process namespace. The kernel ends every
//! process of such a namespace with its first one, also those that left their session or their parent. Warden and first
//! process each die with their parent (`PR_SET_PDEATHSIG`), so the end of any of them, even by SIGKILL, is the end of all.

use super::environment::Variable;
use crate::files::Caller;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl::{set_no_new_privs, set_pdeathsig};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Gid, Group, Pid, Uid, User, fork, getgrouplist, getpid, getppid, pipe2, read};
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};

/// First argument of the executable when it is started as the warden.
pub const WARDEN: &str = "--warden";

/// Exit codes of a program that was not found, or could not be started, as in shells.
const NOT_FOUND: i32 = 127;
const NOT_STARTED: i32 = 126;

/// Who the program runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    uid: Uid,
    gid: Gid,
    /// Name, home and shell, if the user is known.
    account: Option<(String, PathBuf, PathBuf)>,
}

impl Identity {
    /// The user given by `stated`, a name or UID[:GID], or else the caller.
    ///
    /// # Errors
    ///
    /// There is no such user; the text says what is accepted.
    pub fn of(stated: Option<&str>, caller: &Caller) -> Result<Identity, String> {
        let (uid, gid) = match stated {
            Some(text) => parse_user(text).ok_or_else(|| {
                format!("--user: \"{text}\" is not accepted; expected the name of a user, or UID[:GID]")
            })?,
            None => (caller.uid, caller.gid),
        };
        let user = User::from_uid(uid).ok().flatten();
        let account = user.map(|user| (user.name, user.dir, user.shell));
        Ok(Identity { uid, gid, account })
    }

    /// The command if none is given: the user's shell.
    pub fn shell(&self) -> OsString {
        let own = self.account.as_ref().map(|(_, _, shell)| shell.clone().into_os_string());
        own.filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into())
    }

    /// The variables by which programs know their user.
    pub fn environment(&self) -> Vec<Variable> {
        let Some((name, home, shell)) = &self.account else { return Vec::new() };
        let values =
            [("USER", name.into()), ("LOGNAME", name.into()), ("HOME", home.into()), ("SHELL", shell.into())];
        values.map(|(variable, value)| (variable.into(), value)).into()
    }

    /// The groups of the user.
    fn groups(&self) -> Vec<Gid> {
        let name = self.account.as_ref().and_then(|(name, ..)| CString::new(name.as_str()).ok());
        name.and_then(|name| getgrouplist(&name, self.gid).ok()).unwrap_or_else(|| vec![self.gid])
    }

    fn to_argument(&self) -> String {
        format!("{}:{}", self.uid, self.gid)
    }
}

/// Which rights the program may have besides those of its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// None: set-user-ID bits and file capabilities have no effect, for it and all that it starts.
    Fixed,
    /// Those of the programs that it runs, such as sudo.
    OfPrograms,
}

impl Rights {
    fn to_argument(self) -> &'static str {
        match self {
            Rights::Fixed => "fixed",
            Rights::OfPrograms => "of-programs",
        }
    }

    fn of_argument(argument: &OsString) -> Option<Rights> {
        [Rights::Fixed, Rights::OfPrograms].into_iter().find(|rights| *argument == *rights.to_argument())
    }
}

/// Closes all descriptors but standard input, output and error: those that the caller of the shell has left open are none
/// of the program's. Call it in a process that has opened none itself.
#[allow(unsafe_code, reason = "close_range has no safe wrapper")]
fn close_inherited() -> io::Result<()> {
    // SAFETY: nothing in this process uses the descriptors.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    Errno::result(result).map(drop).map_err(io::Error::from)
}

/// A user by name, by number, or by the numbers of user and group.
fn parse_user(text: &str) -> Option<(Uid, Gid)> {
    if let Some(user) = User::from_name(text).ok().flatten() {
        return Some((user.uid, user.gid));
    }
    let (uid, gid) = text.split_once(':').map_or((text, None), |(uid, gid)| (uid, Some(gid)));
    let uid = Uid::from_raw(uid.parse().ok()?);
    let gid = match gid {
        Some(gid) => match gid.parse() {
            Ok(number) => Gid::from_raw(number),
            Err(_) => Group::from_name(gid).ok().flatten()?.gid,
        },
        None => User::from_uid(uid).ok().flatten().map_or(Gid::from_raw(uid.as_raw()), |user| user.gid),
    };
    Some((uid, gid))
}

/// Starts the program in a network namespace, behind the warden. Call it in the thread that waits for the warden: the
/// warden dies with this thread.
///
/// # Errors
///
/// The process may not make namespaces.
#[allow(unsafe_code, reason = "what a child does before it becomes another program")]
pub fn start(
    namespace: &File,
    (identity, rights): (&Identity, Rights),
    command: &[OsString],
    environment: Vec<Variable>,
) -> io::Result<Child> {
    let namespace: OwnedFd = namespace.try_clone()?.into();
    let parent = getpid();
    let mut warden = Command::new("/proc/self/exe");
    warden.arg0("dumbbell-shell").arg(WARDEN).arg(identity.to_argument()).arg(rights.to_argument());
    warden.args(command).env_clear().envs(environment);
    let enter = move || {
        set_pdeathsig(Signal::SIGKILL)?;
        // The parent may have died before that.
        if getppid() != parent {
            return Err(Errno::ESRCH.into());
        }
        setns(&namespace, CloneFlags::CLONE_NEWNET)?;
        unshare(CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS)?;
        Ok(())
    };
    // SAFETY: the closure only makes system calls and allocates nothing, as a child of a process with threads must.
    unsafe { warden.pre_exec(enter) };
    warden.spawn()
}

/// The exit code of a process as shells report it: 128 and the number of the signal that ended it.
pub fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// The warden: starts the first process, waits for it, and returns its exit code. `arguments` are those after
/// [`WARDEN`].
#[allow(unsafe_code, reason = "fork has no safe wrapper")]
pub fn keep_watch(arguments: &[OsString]) -> i32 {
    if close_inherited().is_err() {
        return NOT_STARTED;
    }
    let [identity, rights, command @ ..] = arguments else { return NOT_STARTED };
    let Some((uid, gid)) = identity.to_str().and_then(parse_user) else { return NOT_STARTED };
    let Some(rights) = Rights::of_argument(rights) else { return NOT_STARTED };
    // What the terminal sends to all processes, such as SIGINT, is for the program alone.
    if SigSet::all().thread_block().is_err() {
        return NOT_STARTED;
    }
    let Ok((alive, held)) = pipe2(OFlag::O_CLOEXEC) else { return NOT_STARTED };
    // SAFETY: this process has one thread, so that the child may do what the parent may.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => {
            drop(held);
            std::process::exit(run_first(&alive, (uid, gid), rights, command));
        }
        Ok(ForkResult::Parent { child }) => {
            let code = wait_for(child);
            drop(held);
            code
        }
        Err(_) => NOT_STARTED,
    }
}

/// Waits until this child has ended, and returns its exit code. Other children are only removed.
fn wait_for(child: Pid) -> i32 {
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(ended, code)) if ended == child => return code,
            Ok(WaitStatus::Signaled(ended, signal, _)) if ended == child => return 128 + signal as i32,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return NOT_STARTED,
        }
    }
}

/// The first process: starts the program and waits for it. `alive` ends when the warden does.
fn run_first(alive: &OwnedFd, (uid, gid): (Uid, Gid), rights: Rights, command: &[OsString]) -> i32 {
    if let Err(error) = prepare(alive) {
        complain(&format!("error: cannot set up the namespace of the program: {error}"));
        return NOT_STARTED;
    }
    let Some((program, arguments)) = command.split_first() else { return NOT_STARTED };
    let account = User::from_uid(uid).ok().flatten().map(|user| (user.name, user.dir, user.shell));
    let groups = Identity { uid, gid, account }.groups();
    match spawn(program, arguments, (uid, gid, groups), rights) {
        Ok(child) => wait_for(Pid::from_raw(child.id() as i32)),
        Err(error) => {
            complain(&format!("error: cannot run {}: {error}", program.display()));
            if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED }
        }
    }
}

/// Writes a line to standard error.
#[allow(clippy::disallowed_macros, reason = "a process behind the command speaks to its user")]
fn complain(text: &str) {
    eprintln!("{text}");
}

/// Makes this process die with the warden, and `/proc` that of this process namespace.
fn prepare(alive: &OwnedFd) -> io::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    // The warden may have died before that: then the other end of the pipe is closed.
    nix::fcntl::fcntl(alive, nix::fcntl::FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    if read(alive, &mut [0]) != Err(Errno::EAGAIN) {
        return Err(Errno::ESRCH.into());
    }
    let nothing = None::<&str>;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), flags, nothing)?;
    Ok(())
}

/// Starts the program as this user.
#[allow(unsafe_code, reason = "what a child does before it becomes another program")]
fn spawn(
    program: &OsString,
    arguments: &[OsString],
    (uid, gid, groups): (Uid, Gid, Vec<Gid>),
    rights: Rights,
) -> io::Result<Child> {
    let mut child = Command::new(program);
    child.args(arguments);
    let become_user = move || {
        nix::unistd::setgroups(&groups)?;
        nix::unistd::setgid(gid)?;
        nix::unistd::setuid(uid)?;
        if rights == Rights::Fixed {
            set_no_new_privs()?;
        }
        // Signals were blocked for the processes before this one only.
        SigSet::empty().thread_set_mask()?;
        Ok(())
    };
    // SAFETY: the parent has one thread, and the closure only makes system calls.
    unsafe { child.pre_exec(become_user) };
    child.spawn()
}

/// Ends a warden and with it the program.
pub fn end(warden: &Child) {
    let pid = Pid::from_raw(warden.id() as libc::pid_t);
    // It may have ended by itself.
    let _ = nix::sys::signal::kill(pid, Signal::SIGKILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_given_by_name_or_number() {
        assert_eq!(parse_user("root"), Some((Uid::from_raw(0), Gid::from_raw(0))));
        assert_eq!(parse_user("0"), Some((Uid::from_raw(0), Gid::from_raw(0))));
        assert_eq!(parse_user("4000000000:7"), Some((Uid::from_raw(4_000_000_000), Gid::from_raw(7))));
        assert_eq!(parse_user("0:root"), Some((Uid::from_raw(0), Gid::from_raw(0))));
        let caller = Caller::of_process().expect("a caller");
        let error = Identity::of(Some("no such user"), &caller).expect_err("a rejection");
        assert!(error.contains("expected the name of a user, or UID[:GID]"), "{error}");
        let number = parse_user("4000000000").map(|(uid, gid)| (uid.as_raw(), gid.as_raw()));
        assert_eq!(number, Some((4_000_000_000, 4_000_000_000)));
    }
}
