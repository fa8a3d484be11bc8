//! Commands of the shell in scripts: read, and never run.
//!
//! They set the kernel and its device. Words are split as the shell does; files that a command names are read, and lie
//! beside the script. What has no effect on a connection is known by name; the rest is not expressible.

use crate::parse::arithmetic;
use crate::script::Script;
use std::path::{Component, Path};

/// How deep files of commands may name others.
const DEEPEST: usize = 8;

/// What a command sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A setting of the kernel.
    Sysctl {
        /// Its name without `net.ipv4.`.
        name: String,
        /// Its value.
        value: String,
        /// The shell goes on if the kernel does not have it.
        may_fail: bool,
    },
    /// The most segments that the host gives to its device as one.
    SegmentsAtOnce(u32),
    /// The queue of the device, by its name and what follows on it.
    Queue(String),
    /// A parameter of a module of the kernel: the module, the name and the value.
    Parameter(String, String, String),
}

impl Script {
    /// What its commands before the first event set.
    ///
    /// # Errors
    ///
    /// A command that is not known.
    pub fn settings(&self) -> Result<Vec<Setting>, String> {
        let commands = self.setup.iter().map(|command| settings(command, self.folder.as_deref()));
        Ok(commands.collect::<Result<Vec<_>, _>>()?.concat())
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Setting::Sysctl { name, value, .. } => write!(out, "the setting {name}={value}"),
            Setting::SegmentsAtOnce(count) => write!(out, "{count} segments at once for the device"),
            Setting::Queue(queue) => write!(out, "the queue {queue} of the device"),
            Setting::Parameter(module, name, value) => {
                write!(out, "the parameter {name}={value} of {module}")
            }
        }
    }
}

/// What commands of the shell set, where `folder` is that of the script, if it is in one.
///
/// # Errors
///
/// The command that is not known, or the file that cannot be read.
pub fn settings(commands: &str, folder: Option<&Path>) -> Result<Vec<Setting>, String> {
    let mut found = Vec::new();
    read(commands, folder, 0, &mut found)?;
    Ok(found)
}

fn read(commands: &str, folder: Option<&Path>, depth: usize, found: &mut Vec<Setting>) -> Result<(), String> {
    let joined = commands.replace("\\\n", " ");
    for line in joined.lines() {
        let line = expanded(line)?;
        let words = shlex::split(&line).ok_or_else(|| format!("the quotes of the command `{line}`"))?;
        for words in words_of_commands(words) {
            let line = words.join(" ");
            let words = without_redirections(&words)?;
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if let [file] = words[..]
                && file.ends_with(".sh")
            {
                read(&text_of(file, folder, depth)?, folder, depth + 1, found)?;
            } else if !words.is_empty() {
                found.extend(command(&words, depth > 0).ok_or_else(|| format!("the command `{line}`"))?);
            }
        }
    }
    Ok(())
}

/// A line with the values of its `$((...))`.
fn expanded(line: &str) -> Result<String, String> {
    let mut parts = line.split("$((");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (value, rest) =
            arithmetic(part).ok_or_else(|| format!("the arithmetic of the command `{line}`"))?;
        text += &format!("{value}{rest}");
    }
    if text.contains(['$', '`']) {
        return Err(format!("the variables of the command `{line}`"));
    }
    Ok(text)
}

/// The words of each command in a line, which semicolons end.
fn words_of_commands(words: Vec<String>) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    for word in words {
        let (word, ends) = word.strip_suffix(';').map_or((word.as_str(), false), |word| (word, true));
        if let Some(command) = commands.last_mut().filter(|_| !word.is_empty()) {
            command.push(word.to_owned());
        }
        if ends {
            commands.push(Vec::new());
        }
    }
    commands
}

/// A command without redirections of what it prints to nowhere or to another output.
fn without_redirections(words: &[String]) -> Result<Vec<String>, String> {
    let mut kept = Vec::new();
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        let Some((output, target)) = word.split_once('>').filter(|(output, _)| is_output(output)) else {
            kept.push(word.to_owned());
            continue;
        };
        let target = if target.is_empty() { words.next().unwrap_or_default() } else { target };
        match target {
            "/dev/null" | "&1" | "&2" => {}
            file if output.is_empty() => kept.extend([">".to_owned(), file.to_owned()]),
            file => return Err(format!("what a command writes to the file {file}")),
        }
    }
    Ok(kept)
}

/// True for what precedes `>` of a redirection.
fn is_output(text: &str) -> bool {
    matches!(text, "" | "1" | "2" | "&")
}

/// The text of a file of commands beside the script.
fn text_of(file: &str, folder: Option<&Path>, depth: usize) -> Result<String, String> {
    let problem = |why: &str| format!("the file of commands `{file}`: {why}");
    let folder = folder.ok_or_else(|| problem("the script itself is in no file"))?;
    if !Path::new(file)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::ParentDir | Component::CurDir))
    {
        return Err(problem("its place is not relative to the script"));
    }
    if depth == DEEPEST {
        return Err(problem("files of commands name each other"));
    }
    std::fs::read_to_string(folder.join(file)).map_err(|error| problem(&error.to_string()))
}

/// What the words of a command set; `None` if it is not known. In a file of commands, the shell goes on if one fails.
fn command(words: &[&str], is_in_file: bool) -> Option<Vec<Setting>> {
    Some(match words {
        ["sysctl", words @ ..] => {
            let may_fail = is_in_file || words.contains(&"-e");
            let settings = words.iter().filter(|word| !matches!(**word, "-q" | "-e" | "-w"));
            settings.map(|word| sysctl(word, may_fail)).collect::<Option<_>>()?
        }
        [program, files @ ..] if Path::new(program).ends_with("set_sysctls.py") => {
            files.iter().map(|file| sysctl(file.strip_prefix("/proc/sys/")?, false)).collect::<Option<_>>()?
        }
        ["echo", value, ">", file] => {
            let (module, name) = file.strip_prefix("/sys/module/")?.split_once("/parameters/")?;
            vec![Setting::Parameter(module.into(), name.into(), (*value).into())]
        }
        ["ip", "link", "set", "dev", _, "gso_max_segs", count] => {
            vec![Setting::SegmentsAtOnce(count.parse().ok()?)]
        }
        ["ethtool", "-K", _, "tso", "off", "gso", "off"]
        | ["ethtool", "-K", _, "gso", "off", "tso", "off"] => {
            vec![Setting::SegmentsAtOnce(1)]
        }
        ["tc", "qdisc", "add" | "replace", "dev", _, "root", queue @ ..] => {
            vec![Setting::Queue(queue.join(" "))]
        }
        // Nothing is known of earlier connections.
        ["ip", "tcp_metrics", "flush", "all"] => Vec::new(),
        _ => return None,
    })
}

/// `net.ipv4.NAME=VALUE`, possibly with slashes.
fn sysctl(word: &str, may_fail: bool) -> Option<Setting> {
    let (name, value) = word.split_once('=')?;
    let name = name.replace('/', ".");
    let name = name.strip_prefix("net.ipv4.")?.to_owned();
    Some(Setting::Sysctl { name, value: value.into(), may_fail })
}
