//! Files are opened for writing in one room of each language, which knows links, devices, pipes and the caller's rights.

use super::{Finding, Tree, word_starts};

/// Files that open others for writing, and why.
const ROOMS: [(&str, &str); 12] = [
    ("python/dumbbell/files.py", "the room of the package"),
    ("python/dumbbell/cli/refusals.py", "the null device in place of a closed output"),
    ("peers/ns2/driver.py", "a temporary folder of its own"),
    ("peers/ns3/build.py", "a compiled program in the cache of the user"),
    ("papers/vegas_revisited/calibrate.py", "a table of the paper, beside its code"),
    ("website/draw.py", "pages of the site, in the folder of a build"),
    ("crates/dumbbell-testbed/src/files.rs", "the room of the testbed"),
    ("crates/dumbbell-testbed/src/control_group.rs", "control groups of the kernel"),
    ("crates/dumbbell-testbed/src/doctor.rs", "the device of the kernel that a check asks for"),
    ("crates/dumbbell-testbed/src/space.rs", "settings of the kernel"),
    ("crates/dumbbell-capture/src/files.rs", "unfinished files, which the room of the package has made"),
    ("chaos/src/search.rs", "violations, in a folder of the developer's"),
];

/// Calls that write to a path, in Python. `open` is looked at by its mode.
const PYTHON: [&str; 12] = [
    ".write_text(",
    ".write_bytes(",
    ".mkdir(",
    ".touch(",
    ".to_parquet(",
    "os.makedirs(",
    "os.mkdir(",
    "os.open(",
    "os.rename(",
    "os.replace(",
    "shutil.copy",
    "shutil.move(",
];

/// Calls that write to a path, in Rust.
const RUST: [&str; 7] = [
    "File::create",
    "File::options",
    "OpenOptions::new",
    "create_dir",
    "fs::write(",
    "fs::rename(",
    "fs::copy(",
];

/// Checks the sources that are no tests.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let others = tree.files().filter(|(path, _)| ROOMS.iter().all(|(room, _)| room != path));
    for (path, text) in others {
        let in_folder = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
        let opens: fn(&str) -> bool = if path.ends_with(".py")
            && in_folder(&["python/", "papers/", "peers/", "website/", "benches/"])
        {
            python_opens
        } else if path.ends_with(".rs") && in_folder(&["crates/", "chaos/"]) && path.contains("/src/") {
            |line| RUST.iter().any(|call| line.contains(call))
        } else {
            continue;
        };
        let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]").enumerate();
        findings.extend(code.filter(|(_, line)| opens(line)).map(|(index, _)| Finding {
            path: path.to_owned(),
            line: index + 1,
            message: "opens a file for writing; accepted: dumbbell.files in Python, files.rs of the testbed in Rust"
                .into(),
        }));
    }
    findings
}

fn python_opens(line: &str) -> bool {
    // Examples in docstrings write to a temporary folder.
    if line.trim_start().starts_with(">>>") || line.trim_start().starts_with("...") {
        return false;
    }
    let is_opened = word_starts(line, "open").iter().any(|start| {
        let arguments = &line[start + "open".len()..];
        arguments.starts_with('(') && arguments.split('"').skip(1).step_by(2).any(is_mode_of_writing)
    });
    is_opened || PYTHON.iter().any(|call| line.contains(call))
}

fn is_mode_of_writing(text: &str) -> bool {
    text.chars().all(|sign| "rwxabt+".contains(sign)) && text.contains(['w', 'x', 'a', '+'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of_texts(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn each_call_that_opens_a_file_for_writing_is_found_outside_the_rooms() {
        let opened = ["path.open(\"wb\") as file", "open(path, \"a\")", "place.open(mode=\"x\")"];
        for call in PYTHON.iter().chain(&opened) {
            let text = format!("import os\n{call}\n");
            assert_eq!(lines("python/dumbbell/new.py", &text), [2], "{call}");
            assert_eq!(lines("python/dumbbell/files.py", &text), Vec::<usize>::new(), "{call}");
            assert_eq!(lines("tests/python/test_new.py", &text), Vec::<usize>::new(), "{call}");
        }
        for call in RUST {
            let text = format!("fn write() {{\n    {call}\n}}\n#[cfg(test)]\nmod tests {{ {call} }}\n");
            assert_eq!(lines("crates/dumbbell-sim/src/new.rs", &text), [2], "{call}");
            assert_eq!(lines("crates/dumbbell-sim/tests/new.rs", &text), Vec::<usize>::new(), "{call}");
        }
    }

    #[test]
    fn reading_and_examples_are_not_found() {
        let text = "file.open(\"rb\")\npath.open(encoding=\"ascii\")\n>>> path.write_text(\"\")\nwrite_text(path, text)\n";
        assert_eq!(lines("python/dumbbell/new.py", text), Vec::<usize>::new());
    }

    #[test]
    fn every_room_is_named_with_the_file_that_is_there() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert!(ROOMS.iter().all(|(room, why)| root.join(room).is_file() && !why.is_empty()));
    }
}
