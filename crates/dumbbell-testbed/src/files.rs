//! The one room of this crate that opens files which a person names.
//!
//! These programs are root, often for a person who is not: files are opened with the rights of the one who called. The
//! kernel itself checks them, on every part of a path and through every link, and what is new belongs to that person.
//!
//! Outputs follow the rules of the Python package. A symbolic link stays, and the file that it leads to is written.
//! Devices that take characters, pipes with a reader, and descriptors of this process, such as `/dev/stderr`, are written
//! to as streams. Folders, sockets, disks, and pipes without a reader are refused. Missing folders are made. What is
//! complete at the end replaces a regular file whole ([`Report`]). What grows while a program runs is written in place
//! ([`create`]), so that others can follow it.

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::poll::{PollFd, PollFlags, poll};
use nix::unistd::{Gid, Uid, User, getgrouplist, getgroups, setfsgid, setfsuid};
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::{process, thread};

/// As many as Linux follows.
const MOST_LINKS: usize = 40;

/// Opening a pipe does not wait for its other end then, nor a terminal for its line.
const AT_ONCE: i32 = libc::O_NONBLOCK | libc::O_NOCTTY;

/// Time in which something begins to write to a pipe that is an input, in milliseconds.
const WRITER_MS: u16 = 1000;

/// Who called this process: the person who called sudo if it is root, and otherwise its real user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The user.
    pub uid: Uid,
    /// Their first group.
    pub gid: Gid,
    groups: Vec<Gid>,
}

impl Caller {
    /// Who called this process. The variables of sudo are believed: only root is asked to, who may do everything anyway.
    ///
    /// # Errors
    ///
    /// The variables of sudo are no numbers, or the groups of the person cannot be read.
    pub fn of_process() -> Result<Caller, String> {
        let [uid, gid] = ["SUDO_UID", "SUDO_GID"].map(|name| Some((name, std::env::var(name).ok()?)));
        let (Some(uid), Some(gid), true) = (uid, gid, Uid::effective().is_root()) else {
            let groups =
                getgroups().map_err(|error| format!("cannot read the groups of the caller: {error}"))?;
            return Ok(Caller { uid: Uid::current(), gid: Gid::current(), groups });
        };
        let number = |(name, text): (&str, String)| {
            let parsed = text.parse::<u32>().ok().filter(|number| *number != u32::MAX);
            parsed.ok_or_else(|| {
                format!("{name}: \"{text}\" is not accepted; expected a number, as sudo sets it")
            })
        };
        let (uid, gid) = (Uid::from_raw(number(uid)?), Gid::from_raw(number(gid)?));
        let name = User::from_uid(uid).ok().flatten().and_then(|user| CString::new(user.name).ok());
        let groups = name.and_then(|name| getgrouplist(&name, gid).ok()).unwrap_or_else(|| vec![gid]);
        Ok(Caller { uid, gid, groups })
    }

    /// Does something with files with the rights of this person.
    ///
    /// # Errors
    ///
    /// The kernel does not grant these rights.
    pub fn act<T: Send>(&self, action: impl FnOnce() -> T + Send) -> io::Result<T> {
        if self.uid == Uid::effective() {
            return Ok(action());
        }
        // The rights are those of a thread, which ends with them.
        let acting = || self.assume().map(|()| action());
        thread::scope(|scope| scope.spawn(acting).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Gives this thread the rights of the person over files. Root's rights over all files end with that.
    #[allow(unsafe_code, reason = "the function of the C library would change all threads")]
    fn assume(&self) -> io::Result<()> {
        // SAFETY: the kernel reads as many numbers as the list has.
        let result = unsafe { libc::syscall(libc::SYS_setgroups, self.groups.len(), self.groups.as_ptr()) };
        Errno::result(result)?;
        // These calls return what was there before, and say nothing of a failure: the second one finds it.
        setfsgid(self.gid);
        setfsuid(self.uid);
        if (setfsgid(self.gid), setfsuid(self.uid)) == (self.gid, self.uid) {
            Ok(())
        } else {
            Err(ErrorKind::PermissionDenied.into())
        }
    }
}

/// Opens a file that grows while a program runs, empty and in place.
///
/// # Errors
///
/// The caller may not write there, or the path leads to something that is no file.
pub fn create(path: &Path, caller: &Caller) -> io::Result<File> {
    caller.act(|| match place(path)? {
        Place::Descriptor(number) => duplicate(number),
        Place::Stream(path) => stream(&path),
        Place::File(path, Some(_)) => File::options().write(true).truncate(true).open(path),
        Place::File(path, None) => File::options().write(true).create_new(true).open(path),
    })?
}

/// A file that is written at the end, and replaced whole.
pub struct Report {
    path: PathBuf,
    caller: Caller,
    /// A stream is opened at the beginning: its reader waits.
    stream: Option<File>,
}

impl Report {
    /// Checks that the file can be written, and changes nothing yet except for missing folders.
    ///
    /// # Errors
    ///
    /// As [`create`].
    pub fn prepare(path: &Path, caller: &Caller) -> io::Result<Report> {
        let stream = caller.act(|| match place(path)? {
            Place::Descriptor(number) => duplicate(number).map(Some),
            Place::Stream(path) => stream(&path).map(Some),
            Place::File(path, before) => {
                let (partial, _) = partial(&path, before.as_ref())?;
                fs::remove_file(partial).map(|()| None)
            }
        })??;
        Ok(Report { path: path.to_owned(), caller: caller.clone(), stream })
    }

    /// Writes the content.
    ///
    /// # Errors
    ///
    /// It cannot be written; a regular file keeps its previous content then.
    pub fn write(self, content: &[u8]) -> io::Result<()> {
        if let Some(mut stream) = self.stream {
            return stream.write_all(content);
        }
        self.caller.act(|| match place(&self.path)? {
            Place::Descriptor(number) => duplicate(number)?.write_all(content),
            Place::Stream(path) => stream(&path)?.write_all(content),
            Place::File(path, before) => replace(&path, before.as_ref(), content),
        })?
    }
}

/// Returns the text of an input: of a regular file, or of a pipe with a writer.
///
/// # Errors
///
/// It cannot be read, is no text, or is something else.
pub fn read(path: &Path) -> io::Result<String> {
    let mut file = OpenOptions::new().read(true).custom_flags(AT_ONCE).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() || !(kind.is_file() || kind.is_fifo()) {
        let what = if kind.is_dir() { "folder" } else { "device" };
        return Err(io::Error::other(format!("it is a {what}; accepted: a file, or a pipe with a writer")));
    }
    let mut bytes = Vec::new();
    if kind.is_fifo() {
        // The end of a pipe is found if nothing writes to it, and nothing yet if something does. It may be about to.
        poll(&mut [PollFd::new(file.as_fd(), PollFlags::POLLIN)], WRITER_MS)?;
        let mut first = [0];
        match file.read(&mut first) {
            Ok(0) => {
                let text = "nothing is written to this pipe; accepted: a pipe with a writer, or a file";
                return Err(io::Error::other(text));
            }
            Ok(_) => bytes.push(first[0]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        wait_for_others(&file)?;
    }
    file.read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

/// Where an output goes.
enum Place {
    /// A descriptor of this process.
    Descriptor(RawFd),
    /// A device that takes characters, or a pipe.
    Stream(PathBuf),
    /// A file, and what it is if it exists.
    File(PathBuf, Option<fs::Metadata>),
}

/// Follows the links at the end of a path, of which the last may lead nowhere. Makes missing folders.
fn place(path: &Path) -> io::Result<Place> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        let Some(name) = path.file_name() else { return kind_of(path) };
        fs::create_dir_all(parent)?;
        let folder = parent.canonicalize()?;
        let is_own = folder.starts_with(format!("/proc/{}", process::id())) && folder.ends_with("fd");
        if let Some(number) = name.to_str().and_then(|name| name.parse().ok()).filter(|_| is_own) {
            return Ok(Place::Descriptor(number));
        }
        let whole = folder.join(name);
        match fs::read_link(&whole) {
            Ok(stated) => path = folder.join(stated),
            Err(error) if [Some(libc::EINVAL), Some(libc::ENOENT)].contains(&error.raw_os_error()) => {
                return kind_of(whole);
            }
            Err(error) => return Err(error),
        }
    }
    Err(Errno::ELOOP.into())
}

fn kind_of(path: PathBuf) -> io::Result<Place> {
    let found = match fs::symlink_metadata(&path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Place::File(path, None)),
        Err(error) => return Err(error),
    };
    let kind = found.file_type();
    if kind.is_file() {
        Ok(Place::File(path, Some(found)))
    } else if kind.is_fifo() || kind.is_char_device() {
        Ok(Place::Stream(path))
    } else if kind.is_dir() {
        Err(io::Error::other("it is a folder; accepted: the name of a file"))
    } else {
        let what = if kind.is_socket() { "socket" } else { "device" };
        Err(io::Error::other(format!("it is a {what}; accepted: a file, or a pipe with a reader")))
    }
}

#[allow(unsafe_code, reason = "a number that a person has given")]
fn duplicate(number: RawFd) -> io::Result<File> {
    // SAFETY: the number is only duplicated, and refused by the kernel if nothing is open under it.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    file.try_clone_to_owned().map(File::from)
}

fn stream(path: &Path) -> io::Result<File> {
    let opened = OpenOptions::new().write(true).custom_flags(AT_ONCE).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) => {
            io::Error::other("nothing reads from this pipe; accepted: a file, or a pipe with a reader")
        }
        _ => error,
    })?;
    wait_for_others(&file)?;
    Ok(file)
}

/// From now on, reads and writes wait for the other end.
fn wait_for_others(file: &File) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(file, FcntlArg::F_GETFL)?);
    fcntl(file, FcntlArg::F_SETFL(flags & !OFlag::O_NONBLOCK))?;
    Ok(())
}

/// A new file beside `path`, which has the rights of the one that it replaces.
fn partial(path: &Path, before: Option<&fs::Metadata>) -> io::Result<(PathBuf, File)> {
    if before.is_some() {
        // Its folder would allow its replacement; the kernel is asked whether the file may be changed.
        File::options().write(true).open(path)?;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = path.with_file_name(format!(".{name}.{}.partial", process::id()));
    let file = File::options().write(true).create_new(true).open(&partial)?;
    if let Some(before) = before {
        // As far as the person may; what a group was allowed is not for another one.
        let is_kept = fchown(&file, None, Some(before.gid())).is_ok();
        let _ = fchown(&file, Some(before.uid()), None);
        let mode = before.mode() & if is_kept { 0o777 } else { 0o707 };
        file.set_permissions(fs::Permissions::from_mode(mode))?;
    }
    Ok((partial, file))
}

fn replace(path: &Path, before: Option<&fs::Metadata>, content: &[u8]) -> io::Result<()> {
    let (partial, mut file) = partial(path, before)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    let replaced = written.and_then(|()| fs::rename(&partial, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&partial);
    }
    replaced?;
    if let Some(folder) = path.parent() {
        // Some file systems need no explicit flush of folders, and refuse it.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::disallowed_macros, reason = "a skipped test says so")]
mod tests {
    use super::*;
    use nix::sys::stat::{Mode, SFlag, makedev, mknod};
    use nix::unistd::mkfifo;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    const NOBODY: u32 = 65_534;

    /// A folder that is removed at the end, with a folder `theirs` of nobody and a file of this process, `file`.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("dumbbell-files-{}-{name}", process::id()));
            fs::create_dir_all(path.join("theirs")).expect("a folder");
            fs::write(path.join("file"), "ours").expect("a file");
            if Uid::effective().is_root() {
                std::os::unix::fs::chown(path.join("theirs"), Some(NOBODY), Some(NOBODY)).expect("root");
            }
            Folder(path)
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        fn text(&self, name: &str) -> String {
            fs::read_to_string(self.at(name)).expect("a text")
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).expect("a folder");
            let mut names: Vec<String> =
                entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn ourselves() -> Caller {
        Caller { uid: Uid::effective(), gid: Gid::effective(), groups: Vec::new() }
    }

    /// Someone else with these groups, if this process may act as others; says that a test is skipped otherwise.
    fn nobody(groups: &[u32]) -> Option<Caller> {
        let is_root = Uid::effective().is_root();
        if !is_root {
            println!("SKIPPED a test of the rights of others: it needs root");
        }
        let groups = groups.iter().copied().map(Gid::from_raw).collect();
        is_root.then_some(Caller { uid: Uid::from_raw(NOBODY), gid: Gid::from_raw(NOBODY), groups })
    }

    type Way = fn(&Path, &Caller) -> io::Result<()>;

    /// The ways to write a file.
    const WAYS: [Way; 2] = [
        |path, caller| create(path, caller)?.write_all(b"new"),
        |path, caller| Report::prepare(path, caller)?.write(b"new"),
    ];

    fn refused(path: &Path, caller: &Caller, text: &str) {
        for write in WAYS {
            let error = write(path, caller).expect_err("a refusal").to_string();
            assert!(error.contains(text), "{}: {error}", path.display());
        }
    }

    #[test]
    fn links_stay_and_missing_folders_are_made() {
        let folder = Folder::new("links");
        symlink("file", folder.at("link")).expect("a link");
        symlink("new/folder/file", folder.at("dangling")).expect("a link");
        for (link, target) in [("link", "file"), ("dangling", "new/folder/file")] {
            let leads = fs::read_link(folder.at(link)).expect("a link");
            for write in WAYS {
                write(&folder.at(link), &ourselves()).expect("a file");
                assert_eq!(
                    (folder.text(target), fs::read_link(folder.at(link)).ok()),
                    ("new".into(), Some(leads.clone()))
                );
                fs::write(folder.at(target), "a longer text").expect("a file");
            }
        }
        symlink("loop", folder.at("loop")).expect("a link");
        refused(&folder.at("loop"), &ourselves(), "Too many levels of symbolic links");
    }

    #[test]
    fn what_is_no_file_is_refused_or_written_to_and_stays() {
        let folder = Folder::new("nodes");
        refused(&folder.at("theirs"), &ourselves(), "it is a folder; accepted: the name of a file");
        let _listener = UnixListener::bind(folder.at("socket")).expect("a socket");
        refused(&folder.at("socket"), &ourselves(), "it is a socket; accepted: ");
        mkfifo(&folder.at("pipe"), Mode::S_IRWXU).expect("a pipe");
        refused(&folder.at("pipe"), &ourselves(), "nothing reads from this pipe; accepted: ");
        for write in WAYS {
            let path = folder.at("pipe");
            let reader = thread::spawn(move || fs::read(path).expect("a content"));
            // The reader may not be there yet.
            while write(&folder.at("pipe"), &ourselves()).is_err() {}
            assert_eq!(reader.join().expect("a reader"), b"new");
        }
        assert!(fs::symlink_metadata(folder.at("pipe")).expect("a pipe").file_type().is_fifo());
        if nobody(&[]).is_none() {
            return;
        }
        let make = |name: &str, kind, numbers: (u64, u64)| {
            let all = Mode::from_bits_truncate(0o666);
            mknod(&folder.at(name), kind, all, makedev(numbers.0, numbers.1)).expect("a device");
        };
        make("null", SFlag::S_IFCHR, (1, 3));
        make("full", SFlag::S_IFCHR, (1, 7));
        make("disk", SFlag::S_IFBLK, (7, 1_000_000));
        for write in WAYS {
            write(&folder.at("null"), &ourselves()).expect("a device");
        }
        refused(&folder.at("full"), &ourselves(), "No space left on device");
        refused(&folder.at("disk"), &ourselves(), "it is a device; accepted: ");
        for name in ["null", "full", "disk"] {
            assert!(
                !fs::symlink_metadata(folder.at(name)).expect("a device").file_type().is_file(),
                "{name}"
            );
        }
    }

    #[test]
    fn a_descriptor_of_this_process_is_written_to() {
        use std::os::fd::AsRawFd;
        let folder = Folder::new("descriptors");
        let mut file = File::create(folder.at("open")).expect("a file");
        file.write_all(b"before ").expect("space");
        for path in ["/dev/fd", "/proc/self/fd"] {
            let path = PathBuf::from(format!("{path}/{}", file.as_raw_fd()));
            // Also if the caller could not open the file.
            let caller = nobody(&[]).unwrap_or_else(ourselves);
            for write in WAYS {
                write(&path, &caller).expect("a descriptor");
            }
        }
        assert_eq!(folder.text("open"), "before newnewnewnew");
        refused(Path::new("/dev/fd/1000000"), &ourselves(), "Bad file descriptor");
    }

    #[test]
    fn a_report_replaces_a_file_whole_and_keeps_its_permissions() {
        let folder = Folder::new("report");
        let file = folder.at("file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o604)).expect("an owner");
        let mut before = File::open(&file).expect("a file");
        let report = Report::prepare(&file, &ourselves()).expect("a report");
        assert_eq!(folder.text("file"), "ours");
        report.write(b"new").expect("space");
        let mut text = String::new();
        before.read_to_string(&mut text).expect("a text");
        assert_eq!((folder.text("file"), text.as_str()), ("new".into(), "ours"));
        assert_eq!(fs::metadata(&file).expect("a file").mode() & 0o7777, 0o604);
        assert_eq!(folder.names(), ["file", "theirs"]);
    }

    #[test]
    fn nothing_is_written_where_the_caller_may_not() {
        let Some(caller) = nobody(&[]) else { return };
        let folder = Folder::new("rights");
        symlink(folder.at("file"), folder.at("theirs/link")).expect("a link");
        symlink(folder.at("new"), folder.at("theirs/dangling")).expect("a link");
        symlink(&folder.0, folder.at("theirs/folder")).expect("a link");
        for name in
            ["file", "new", "theirs/link", "theirs/dangling", "theirs/folder/file", "theirs/folder/new"]
        {
            refused(&folder.at(name), &caller, "Permission denied");
        }
        assert_eq!(
            (folder.text("file"), folder.names()),
            ("ours".into(), vec!["file".into(), "theirs".into()])
        );
    }

    #[test]
    fn new_files_and_folders_belong_to_the_caller_and_their_groups_count() {
        let Some(caller) = nobody(&[4242]) else { return };
        let folder = Folder::new("groups");
        fs::create_dir(folder.at("shared")).expect("a folder");
        std::os::unix::fs::chown(folder.at("shared"), None, Some(4242)).expect("root");
        fs::set_permissions(folder.at("shared"), fs::Permissions::from_mode(0o770)).expect("root");
        for name in ["theirs/one/new", "shared/new"] {
            for write in WAYS {
                write(&folder.at(name), &caller).expect("a file");
            }
            let found = fs::metadata(folder.at(name)).expect("a file");
            assert_eq!((found.uid(), found.gid()), (NOBODY, NOBODY), "{name}");
        }
        assert_eq!(fs::metadata(folder.at("theirs/one")).expect("a folder").uid(), NOBODY);
        // Rights ended with the thread that had them.
        fs::write(folder.at("file"), "ours").expect("root");
    }

    #[test]
    fn inputs_are_files_and_pipes_with_a_writer() {
        let folder = Folder::new("inputs");
        assert_eq!(read(&folder.at("file")).expect("a text"), "ours");
        let refused = |name: &str| read(&folder.at(name)).expect_err("a refusal").to_string();
        assert!(refused("theirs").contains("it is a folder; accepted: "));
        mkfifo(&folder.at("pipe"), Mode::S_IRWXU).expect("a pipe");
        assert!(refused("pipe").contains("nothing is written to this pipe; accepted: "));
        let path = folder.at("pipe");
        let writer = thread::spawn(move || fs::write(path, "a text").expect("a reader"));
        let text = read(&folder.at("pipe")).expect("a writer");
        writer.join().expect("a writer");
        assert_eq!(text, "a text");
        if nobody(&[]).is_some() {
            let kind = (SFlag::S_IFCHR, Mode::S_IRWXU);
            mknod(&folder.at("null"), kind.0, kind.1, makedev(1, 3)).expect("a device");
            assert!(refused("null").contains("it is a device; accepted: "));
        }
    }
}
