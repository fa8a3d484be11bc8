//! The modules of the Python package and how they import each other: also in functions, and for types alone. Only the
//! package itself may look down at all of its rooms.

use super::{Arrows, Modules};
use crate::tidy::Tree;
use std::collections::BTreeMap;

const ROOT: &str = "python/";
const PACKAGE: &str = "dumbbell";

/// The modules of the package.
pub fn modules(tree: &Tree) -> Modules {
    let files: BTreeMap<String, (&str, &str)> = tree
        .files()
        .filter_map(|(path, text)| Some((module_of(path)?, (path, text))))
        .filter(|(module, _)| module != PACKAGE)
        .collect();
    let of = |(module, (path, text)): (&String, &(&str, &str))| {
        let imported = imported(text, module, |name| files.contains_key(name));
        let arrows = imported.into_iter().map(|(target, line)| (target, ((*path).to_owned(), line)));
        (module.clone(), arrows.collect::<Arrows>())
    };
    files.iter().map(of).collect()
}

/// The name of the module in a file of the package.
fn module_of(path: &str) -> Option<String> {
    let name = path.strip_prefix(ROOT)?.strip_suffix(".py")?.replace('/', ".");
    let name = name.strip_suffix(".__init__").unwrap_or(&name);
    (name == PACKAGE || name.starts_with("dumbbell.")).then(|| name.to_owned())
}

/// The modules that a text imports, with the lines.
fn imported(text: &str, module: &str, is_module: impl Fn(&str) -> bool) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let mut statement = line.trim().to_owned();
        if !statement.starts_with("from ") && !statement.starts_with("import ") {
            continue;
        }
        while statement.ends_with(['(', ',']) {
            let Some((_, next)) = lines.next() else { break };
            statement.push_str(next.trim());
        }
        for name in names_in(&statement) {
            // What is imported from a module is a module of its own, or in it.
            let target = [name.as_str(), name.rsplit_once('.').map_or("", |(before, _)| before)];
            if let Some(target) = target.into_iter().find(|target| is_module(target) && *target != module) {
                found.entry(target.to_owned()).or_insert(index + 1);
            }
        }
    }
    found
}

/// The full names in an import, such as `a.b` and `a.c` of `from a import b, c`.
fn names_in(statement: &str) -> Vec<String> {
    let first_word = |part: &str| part.trim().split(' ').next().unwrap_or_default().to_owned();
    let (from, names) = match statement.strip_prefix("from ").and_then(|rest| rest.split_once(" import")) {
        Some((from, names)) => (format!("{}.", from.trim()), names),
        None => (String::new(), statement.strip_prefix("import ").unwrap_or_default()),
    };
    let names = names.split('#').next().unwrap_or_default();
    let names = names.trim().trim_matches(['(', ')']).split(',').map(first_word);
    names.filter(|name| !name.is_empty()).map(|name| format!("{from}{name}")).collect()
}

#[cfg(test)]
mod tests {
    use crate::tidy::{Tree, circles::check};

    const A: (&str, &str) = ("python/dumbbell/a.py", "from dumbbell.b import (\n    one,\n    two,\n)\n");
    const B: (&str, &str) = ("python/dumbbell/b/__init__.py", "import numpy\nfrom dumbbell.b import c\n");

    fn found(last: &str) -> Vec<String> {
        let tree = Tree::of_texts(&[
            ("python/dumbbell/__init__.py", "from dumbbell import a, c\n"),
            A,
            B,
            ("python/dumbbell/b/c.py", last),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_circle_is_found_wherever_its_imports_are() {
        let circle = "python/dumbbell/a.py:1: uses itself through others: \
                      dumbbell.a -> dumbbell.b -> dumbbell.b.c -> dumbbell.a";
        for late in [
            "from dumbbell.a import three\n",
            "import dumbbell.a\n",
            "from dumbbell import x, a  # late\n",
            "if TYPE_CHECKING:\n    from dumbbell.a import Three\n",
            "def function():\n    from dumbbell import a as other\n",
        ] {
            assert_eq!(found(late), [circle], "{late}");
        }
    }

    #[test]
    fn the_package_may_be_imported_and_may_look_down() {
        assert_eq!(found("from dumbbell import version\nimport dumbbell\n"), [] as [String; 0]);
    }
}
