//! What the program is made of, as CycloneDX has it: every package that is compiled into it or runs
//! while it is built, with its licence, its sum and what it stands on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};

use crate::process::{self, Show};
use crate::workspace::Workspace;

/// The document. It says neither when nor where it was made: the same sources have the same.
pub(crate) fn write(workspace: &Workspace) -> Result<String, String> {
    let mut command = workspace.cargo();
    command.args(["metadata", "--format-version", "1", "--locked"]);
    let described = process::run(&mut command, Show::Nothing)?;
    described.check("cargo metadata")?;
    let described: Value = serde_json::from_str(&described.stdout.concat())
        .map_err(|error| format!("cargo metadata printed no JSON: {error}"))?;
    let path = workspace.root.join("Cargo.lock");
    let lock = fs::read_to_string(&path).map_err(|error| format!("Cargo.lock: {error}"))?;
    let document = document(&described, &sums(&lock)).ok_or("cargo metadata left something out")?;
    serde_json::to_string_pretty(&document)
        .map(|text| text + "\n")
        .map_err(|error| error.to_string())
}

fn document(described: &Value, sums: &BTreeMap<(String, String), String>) -> Option<Value> {
    let packages = described.get("packages")?.as_array()?;
    let nodes = described.pointer("/resolve/nodes")?.as_array()?;
    let by_id = |list: &'_ [Value]| -> Option<BTreeMap<String, Value>> {
        let entry = |value: &Value| Some((value.get("id")?.as_str()?.to_owned(), value.clone()));
        list.iter().map(entry).collect()
    };
    let (packages, nodes) = (by_id(packages)?, by_id(nodes)?);
    let (root, _) = packages.iter().find(|(_, it)| it["name"] == ROOT)?;
    let mut wanted = vec![root.clone()];
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    while let Some(id) = wanted.pop() {
        if edges.contains_key(&id) {
            continue;
        }
        let needs = needs(nodes.get(&id)?)?;
        wanted.extend(needs.iter().cloned());
        edges.insert(id, needs);
    }
    let reference = |id: &String| packages.get(id).and_then(reference);
    let mut components = Vec::new();
    let mut dependencies = Vec::new();
    for (id, needs) in &edges {
        let mut on: Vec<String> = needs.iter().map(reference).collect::<Option<_>>()?;
        on.sort_unstable();
        dependencies.push(json!({"ref": reference(id)?, "dependsOn": on}));
        if id != root {
            components.push(component(packages.get(id)?, "library", sums)?);
        }
    }
    let by = |key: &'static str| move |it: &Value| it[key].as_str().map(str::to_owned);
    components.sort_by_key(by("bom-ref"));
    dependencies.sort_by_key(by("ref"));
    Some(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(packages.get(root)?, "application", sums)?},
        "components": components,
        "dependencies": dependencies,
    }))
}

/// What a package stands on, outside of its tests.
fn needs(node: &Value) -> Option<BTreeSet<String>> {
    let is_for_tests = |dependency: &Value| {
        let kinds = dependency.get("dep_kinds").and_then(Value::as_array);
        kinds.is_some_and(|kinds| kinds.iter().all(|kind| kind["kind"] == "dev"))
    };
    let needs = node.get("deps")?.as_array()?.iter();
    needs
        .filter(|dependency| !is_for_tests(dependency))
        .map(|dependency| Some(dependency.get("pkg")?.as_str()?.to_owned()))
        .collect()
}

fn component(
    package: &Value,
    kind: &str,
    sums: &BTreeMap<(String, String), String>,
) -> Option<Value> {
    let (name, version) = (
        package.get("name")?.as_str()?,
        package.get("version")?.as_str()?,
    );
    let reference = reference(package)?;
    let mut component = json!({
        "type": kind,
        "bom-ref": reference,
        "name": name,
        "version": version,
        "purl": reference,
    });
    if let Some(licence) = package.get("license").and_then(Value::as_str) {
        // As it was written before there were expressions.
        let licence = licence.replace('/', " OR ");
        component["licenses"] = json!([{"expression": licence}]);
    }
    if let Some(sum) = sums.get(&(name.to_owned(), version.to_owned())) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    Some(component)
}

fn reference(package: &Value) -> Option<String> {
    let (name, version) = (
        package.get("name")?.as_str()?,
        package.get("version")?.as_str()?,
    );
    Some(format!("pkg:cargo/{name}@{version}"))
}

/// The sums of `Cargo.lock`, by name and version.
fn sums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut sums = BTreeMap::new();
    for package in lock.split("[[package]]") {
        let value = |key: &str| {
            let mut lines = package.lines();
            let found = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            Some(found?.trim_end_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(sum)) =
            (value("name"), value("version"), value("checksum"))
        {
            sums.insert((name, version), sum);
        }
    }
    sums
}

/// The package of the program.
const ROOT: &str = "switchboard-cli";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_of_a_lock_are_those_of_its_packages() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\n\
            [[package]]\nname = \"b\"\nversion = \"2.0.0\"\nchecksum = \"beef\"\n";
        let found = sums(lock);
        let expected = (("b".to_owned(), "2.0.0".to_owned()), "beef".to_owned());
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn what_only_tests_need_is_not_in_the_program() {
        let package =
            |name: &str| json!({"id": name, "name": name, "version": "1", "license": "MIT/X11"});
        let needs = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let described = json!({
            "packages": [package(ROOT), package("a"), package("b"), package("c")],
            "resolve": {"nodes": [
                {"id": ROOT, "deps": [needs("a", Value::Null), needs("c", json!("dev"))]},
                {"id": "a", "deps": [needs("b", json!("build"))]},
                {"id": "b", "deps": []},
                {"id": "c", "deps": []},
            ]},
        });
        let document = document(&described, &BTreeMap::new()).unwrap();
        let names: Vec<&str> = document["components"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|component| component["name"].as_str())
            .collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(
            document["components"][0]["licenses"][0]["expression"],
            "MIT OR X11"
        );
        assert_eq!(
            document["dependencies"][0]["dependsOn"],
            json!(["pkg:cargo/b@1"])
        );
    }

    #[test]
    fn this_workspace_can_be_described() {
        let document = write(&Workspace::find().unwrap()).unwrap();
        let document: Value = serde_json::from_str(&document).unwrap();
        let components = document["components"].as_array().unwrap();
        let has = |name: &str| components.iter().any(|it| it["name"] == name);
        assert!(has("tokio") && has("switchboard-gateway"));
        assert!(!has("proptest") && !has("switchboard-keyring"));
        let foreign = components.iter().filter(|it| {
            !it["name"]
                .as_str()
                .unwrap_or_default()
                .starts_with("switchboard-")
        });
        for component in foreign {
            assert!(component["hashes"].is_array(), "{component}");
            assert!(component["licenses"].is_array(), "{component}");
        }
    }
}
