//! The modules of the crate form layers: a file uses only its own layer and lower ones, and no
//! files use each other in a cycle.
//!
//! Every path in the source that begins with `crate`, `super`, `self` or the name of a child module
//! is an edge, in `use` declarations with their groups as well as in code. A path that leads
//! through a re-export counts for the file that defines the item. Exempt are `lib.rs`, which
//! re-exports from all layers, and from the search for cycles the unit tests and `pub use` in a
//! `mod.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Low to high; equal numbers are one layer.
const LAYERS: [(&str, usize); 9] = [
    ("error", 0),
    ("ground", 0),
    ("graph", 1),
    ("walk", 2),
    ("reorder", 3),
    ("spectral", 4),
    ("entropy", 5),
    ("cluster", 6),
    ("search", 7),
];

/// The names from the crate's root to a module or an item.
type Names = Vec<String>;

/// One path of a source file.
struct Reference {
    /// The names after the root, `*` for a glob.
    target: Names,
    in_tests: bool,
    is_reexport: bool,
}

/// A source file and what it refers to.
struct Source {
    module: Names,
    references: Vec<Reference>,
    /// Names that `use` declarations bring in.
    imports: BTreeMap<String, Names>,
}

/// One file refers to another.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: Names,
    to: Names,
    in_tests: bool,
}

#[test]
fn layers_point_downwards() {
    let layer = |module: &Names| {
        let known = LAYERS.iter().find(|(name, _)| module.first().is_some_and(|first| first == name));
        known.unwrap_or_else(|| panic!("expected one of {LAYERS:?}, got {module:?}")).1
    };
    let upwards: Vec<Edge> = edges(&crate_sources()).into_iter().filter(|e| layer(&e.from) < layer(&e.to)).collect();
    assert!(upwards.is_empty(), "a lower layer uses a higher one: {upwards:#?}");
}

#[test]
fn files_form_no_cycle() {
    let cycles = cycles(&edges(&crate_sources()));
    assert!(cycles.is_empty(), "files that use each other: {cycles:#?}");
}

/// What the two tests above rely on.
#[test]
fn edges_are_found_in_every_notation() {
    let text = |lines: &str| lines.to_string();
    let sources = sources(vec![
        (vec![], text("mod a; mod b; pub use crate::b::deep::{Item, Other as Renamed};")),
        (
            vec!["a".into()],
            text("// crate::no::comment\npub(in crate::b) const S: &str = \"crate::b::c\"; fn f(x: &crate::Item) {}"),
        ),
        (vec!["b".into()], text("mod deep; mod tail; pub use deep::Item; fn g() { tail::h() }")),
        (vec!["b".into(), "deep".into()], text("use crate::{a::{self, f}, b::tail::*}; mod inner { use super::Own; }")),
        (
            vec!["b".into(), "tail".into()],
            text("#[cfg(test)] mod tests { use super::super::deep::Item; use crate::Renamed; }"),
        ),
    ]);
    let found: Vec<String> = edges(&sources)
        .iter()
        .map(|e| format!("{} -> {}{}", e.from.join("::"), e.to.join("::"), if e.in_tests { " in tests" } else { "" }))
        .collect();
    assert_eq!(
        found,
        ["a -> b::deep", "b -> b::tail", "b::deep -> a", "b::deep -> b::tail", "b::tail -> b::deep in tests"]
    );
    assert_eq!(cycles(&edges(&sources)), [["a", "b::deep"]]);
}

fn crate_sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let names = path.strip_prefix(&root).unwrap().with_extension("");
            let mut module: Names = names.iter().map(|name| name.to_str().unwrap().into()).collect();
            module.pop_if(|name| name == "mod" || name == "lib");
            files.push((module, fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(files.len() > 40, "expected the source of the crate, got {} files", files.len());
    sources(files)
}

fn sources(files: Vec<(Names, String)>) -> Vec<Source> {
    let modules: BTreeSet<Names> = files.iter().map(|(module, _)| module.clone()).collect();
    files.into_iter().map(|(module, text)| read(&module, &tokens(&text), &modules)).collect()
}

/// Names, and every other character on its own, without comments, strings and characters.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '"' {
            let mut is_escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                ends
            });
            end.map_or(rest.len(), |end| end + 2)
        } else if is_name(first) {
            let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            tokens.push(rest[..length].into());
            length
        } else {
            // A quote in quotes would begin a string.
            let length = if rest.starts_with("'\"'") { 3 } else { first.len_utf8() };
            if !first.is_whitespace() {
                tokens.push(first.into());
            }
            length
        };
        rest = &rest[length..];
    }
    tokens
}

fn read(module: &Names, tokens: &[String], modules: &BTreeSet<Names>) -> Source {
    let mut source = Source { module: module.clone(), references: Vec::new(), imports: BTreeMap::new() };
    // Modules inside the file, each with the number of braces around it.
    let mut inline: Vec<(String, usize)> = Vec::new();
    let (mut braces, mut at) = (0, 0);
    while at < tokens.len() {
        let here: Names = module.iter().chain(inline.iter().map(|(name, _)| name)).cloned().collect();
        let token = tokens[at].as_str();
        let continues_path = at >= 2 && tokens[at - 1] == ":" && tokens[at - 2] == ":";
        let is_child = || modules.contains(&[&here[..], &[token.into()]].concat());
        let leads = tokens.get(at + 1..at + 3).is_some_and(|next| next == [":", ":"]);
        let is_visibility = at >= 3 && tokens[at - 3..at] == ["pub", "(", "in"];
        let begins_path = leads && !continues_path && !is_visibility;
        match token {
            "mod" if tokens.get(at + 2).is_some_and(|next| next == "{") => {
                inline.push((tokens[at + 1].clone(), braces));
                (braces, at) = (braces + 1, at + 2);
            }
            "{" => braces += 1,
            "}" => {
                braces -= 1;
                inline.pop_if(|(_, outside)| *outside == braces);
            }
            _ if begins_path && (matches!(token, "crate" | "super" | "self") || is_child()) => {
                let is_use = at > 0 && tokens[at - 1] == "use";
                let is_public = is_use && at > 1 && matches!(tokens[at - 2].as_str(), "pub" | ")");
                let mut paths = Vec::new();
                at = paths_from(tokens, at, &[], &mut paths);
                let in_tests = here.iter().any(|name| name == "tests");
                for (path, name) in paths {
                    let target = absolute(&here, path);
                    if is_use && inline.is_empty() {
                        source.imports.insert(name, target.clone());
                    }
                    source.references.push(Reference { target, in_tests, is_reexport: is_public });
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    source
}

/// Collects the paths of a tree of names that begins at a token, each with the name that it is
/// known by, and returns the token after it.
fn paths_from(tokens: &[String], mut at: usize, before: &[String], paths: &mut Vec<(Names, String)>) -> usize {
    let mut path = before.to_vec();
    loop {
        if tokens[at] == "{" {
            while tokens[at] != "}" {
                at = paths_from(tokens, at + 1, &path, paths);
            }
            return at + 1;
        }
        if tokens[at] == "}" {
            return at; // After the last comma of a group.
        }
        path.push(tokens[at].clone());
        at += 1;
        if tokens.get(at..at + 2).is_none_or(|next| next != [":", ":"]) || tokens[at + 2] == "<" {
            break;
        }
        at += 2;
    }
    path.pop_if(|last| last == "self" && !before.is_empty());
    let mut name = path[path.len() - 1].clone();
    if tokens.get(at).is_some_and(|next| next == "as") {
        name.clone_from(&tokens[at + 1]);
        at += 2;
    }
    paths.push((path, name));
    at
}

/// The names from the root for a path that is written in the module `here`.
fn absolute(here: &Names, path: Names) -> Names {
    let mut base = if path[0] == "crate" { Vec::new() } else { here.clone() };
    for name in path {
        match name.as_str() {
            "crate" | "self" => {}
            "super" => drop(base.pop()),
            _ => base.push(name),
        }
    }
    base
}

/// All references between different files, by the file that defines what is referred to.
fn edges(sources: &[Source]) -> BTreeSet<Edge> {
    let files: BTreeMap<&[String], &Source> = sources.iter().map(|s| (&s.module[..], s)).collect();
    let defined_in = |target: &Names| {
        let mut target = target.clone();
        loop {
            let depth = (0..=target.len()).rev().find(|&depth| files.contains_key(&target[..depth])).unwrap();
            let import = target.get(depth).and_then(|item| files[&target[..depth]].imports.get(item));
            match import {
                // A module and an item may have one name.
                Some(import) if *import != target => target = [&import[..], &target[depth + 1..]].concat(),
                _ => return target[..depth].to_vec(),
            }
        }
    };
    let mut edges = BTreeSet::new();
    for source in sources.iter().filter(|source| !source.module.is_empty()) {
        for Reference { target, in_tests, is_reexport } in &source.references {
            let (from, to) = (source.module.clone(), defined_in(target));
            let is_own = *is_reexport && to.starts_with(&from);
            if from != to && !is_own {
                edges.insert(Edge { from, to, in_tests: *in_tests });
            }
        }
    }
    edges
}

/// Groups of files each of which reaches all others of its group, outside of tests.
fn cycles(edges: &BTreeSet<Edge>) -> Vec<Vec<String>> {
    let mut reached: BTreeSet<(Names, Names)> =
        edges.iter().filter(|e| !e.in_tests).map(|e| (e.from.clone(), e.to.clone())).collect();
    let files: BTreeSet<Names> = reached.iter().flat_map(|(from, to)| [from.clone(), to.clone()]).collect();
    for via in &files {
        let into: Vec<Names> = reached.iter().filter(|(_, to)| to == via).map(|(from, _)| from.clone()).collect();
        let onward: Vec<Names> = reached.iter().filter(|(from, _)| from == via).map(|(_, to)| to.clone()).collect();
        for from in &into {
            reached.extend(onward.iter().map(|to| (from.clone(), to.clone())));
        }
    }
    let both_ways =
        |a: &Names, b: &Names| reached.contains(&(a.clone(), b.clone())) && reached.contains(&(b.clone(), a.clone()));
    let groups: BTreeSet<Vec<String>> = files
        .iter()
        .map(|file| files.iter().filter(|other| both_ways(file, other)).map(|other| other.join("::")).collect())
        .filter(|group: &Vec<String>| group.len() > 1)
        .collect();
    groups.into_iter().collect()
}
