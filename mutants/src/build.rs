//! Builds the tests with all mutants in them that can be there together.
//!
//! The compiler says which cannot: a mutant whose code it does not take is left out, and so is what
//! would have to be known when it is compiled. That is done again until nothing is said any more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::mutant::{Kind, Mutant};
use crate::switch::{self, FUNCTION, SWITCH};

/// A copy of the workspace that may be changed.
pub(crate) struct Build<'a> {
    pub(crate) workspace: &'a Path,
    pub(crate) target: &'a Path,
    pub(crate) package: &'a str,
    /// The folder of the package, below the workspace.
    pub(crate) folder: &'a str,
}

/// The programs of its tests, and which mutants are in them.
pub(crate) struct Built {
    pub(crate) programs: Vec<PathBuf>,
    pub(crate) switched: BTreeSet<usize>,
    /// Those whose own code the compiler does not take: they are no mutants.
    pub(crate) refused: BTreeSet<usize>,
}

impl Build<'_> {
    /// Builds them.
    ///
    /// # Errors
    /// When something else than a mutant does not compile.
    pub(crate) fn run(&self, mutants: &[Mutant]) -> Result<Built, String> {
        let mut files: BTreeMap<&str, (String, BTreeMap<usize, &Mutant>)> = BTreeMap::new();
        for (number, mutant) in mutants.iter().enumerate() {
            if !files.contains_key(mutant.file.as_str()) {
                let text = self.read(&mutant.file)?;
                files.insert(&mutant.file, (text, BTreeMap::new()));
            }
            if let Some((_, found)) = files.get_mut(mutant.file.as_str()) {
                found.insert(number, mutant);
            }
        }
        let root = format!("{}/src/lib.rs", self.folder);
        let root_text = self.read(&root)?;
        let mut kept_const = BTreeSet::new();
        let mut refused = BTreeSet::new();
        loop {
            let mut places = BTreeMap::new();
            for (&file, (text, found)) in &files {
                let switched = switch::switch(text, found, &kept_const)
                    .map_err(|reason| format!("{file}: {reason}"))?;
                self.write(file, &switched.text)?;
                places.insert(file, switched.places);
                refused.extend(switched.refused);
            }
            if !files.contains_key(root.as_str()) {
                self.write(&root, &root_text)?;
            }
            let with_switch = format!("{}\n{}", self.read(&root)?, switch_module(mutants.len()));
            self.write(&root, &with_switch)?;
            let complaints = self.check()?;
            if complaints.is_empty() {
                let switched = places.values().flatten().map(|(number, _)| *number);
                let switched = switched.filter(|number| *number != FUNCTION);
                return Ok(Built {
                    switched: switched.collect(),
                    refused,
                    programs: self.build()?,
                });
            }
            let before =
                files.values().map(|(_, found)| found.len()).sum::<usize>() + kept_const.len();
            for complaint in &complaints {
                if let Some(name) = &complaint.not_const {
                    kept_const.insert(name.clone());
                    continue;
                }
                let mut at_fault = complaint.touched(&places);
                if at_fault.is_empty() {
                    at_fault = complaint.around(&places, mutants);
                }
                if at_fault.is_empty() {
                    return Err(complaint.text.clone());
                }
                refused.extend(complaint.refused(&places, mutants));
                for (_, found) in files.values_mut() {
                    found.retain(|number, _| !at_fault.contains(number));
                }
            }
            let after = files.values().map(|(_, found)| found.len()).sum::<usize>();
            eprintln!(
                "{} complaints of the compiler; {after} mutants are left, {} functions stay constant",
                complaints.len(),
                kept_const.len()
            );
            if before == after + kept_const.len()
                && complaints.iter().all(|one| one.not_const.is_some())
            {
                return Err(complaints[0].text.clone());
            }
        }
    }

    fn check(&self) -> Result<Vec<Complaint>, String> {
        let lines = self.cargo(&["check", "--profile", "test"])?;
        let said = lines
            .iter()
            .filter(|line| line["reason"] == "compiler-message");
        Ok(said
            .map(|line| &line["message"])
            .filter(|message| message["level"] == "error")
            .filter_map(Complaint::read)
            .collect())
    }

    fn build(&self) -> Result<Vec<PathBuf>, String> {
        let lines = self.cargo(&["test", "--no-run"])?;
        let programs = lines.iter().filter(|line| line["profile"]["test"] == true);
        let programs: Vec<PathBuf> = programs
            .filter_map(|line| line["executable"].as_str())
            .map(PathBuf::from)
            .collect();
        if programs.is_empty() {
            return Err("cargo test --no-run made no program".to_owned());
        }
        Ok(programs)
    }

    fn cargo(&self, words: &[&str]) -> Result<Vec<Value>, String> {
        let mut command = Command::new("cargo");
        command.args(words).args(["--package", self.package]);
        command.args([
            "--all-features",
            "--lib",
            "--tests",
            "--message-format",
            "json",
        ]);
        command.current_dir(self.workspace);
        command.env("CARGO_TARGET_DIR", self.target);
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
        command.env("RUSTFLAGS", "-A warnings");
        command.stderr(Stdio::null()).stdin(Stdio::null());
        let output = command
            .output()
            .map_err(|error| format!("cargo could not be started: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        Ok(lines.collect())
    }

    fn read(&self, file: &str) -> Result<String, String> {
        let path = self.workspace.join(file);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn write(&self, file: &str, text: &str) -> Result<(), String> {
        let path = self.workspace.join(file);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// What the compiler did not take.
struct Complaint {
    text: String,
    /// A function that would have to be constant.
    not_const: Option<String>,
    /// Where, the cause first.
    spans: Vec<(String, Range<usize>)>,
}

impl Complaint {
    fn read(message: &Value) -> Option<Self> {
        let said = message["message"].as_str()?;
        let spans = message["spans"].as_array()?;
        if spans.is_empty() {
            // Only that there were errors.
            return None;
        }
        let not_const = (message["code"]["code"] == "E0015").then(|| {
            let path = said.split('`').nth(1).unwrap_or_default();
            let is_name = |word: &&str| word.starts_with(|letter: char| letter.is_alphabetic());
            let name = path.rsplit("::").find(is_name).unwrap_or_default();
            name.split(['(', '<', '>'])
                .next()
                .unwrap_or_default()
                .to_owned()
        });
        let mut spans: Vec<&Value> = spans.iter().collect();
        spans.sort_by_key(|span| span["is_primary"] != true);
        let spans = spans.into_iter().filter_map(|span| {
            let place = |name: &str| usize::try_from(span[name].as_u64()?).ok();
            let range = place("byte_start")?..place("byte_end")?;
            Some((span["file_name"].as_str()?.to_owned(), range))
        });
        let rendered = message["rendered"].as_str().unwrap_or(said);
        Some(Self {
            text: rendered.to_owned(),
            not_const: not_const.filter(|name| !name.is_empty()),
            spans: spans.collect(),
        })
    }

    /// The mutants whose own code is its cause: they are none wherever they stand. What is only
    /// touched by it, or is put in another way behind a switch, may be one by itself.
    fn refused(&self, places: &Places<'_>, mutants: &[Mutant]) -> BTreeSet<usize> {
        let Some((file, cause)) = self.spans.first() else {
            return BTreeSet::new();
        };
        let is_as_written = |number: usize| {
            let kind = mutants.get(number).map(|mutant| mutant.kind);
            matches!(kind, Some(Kind::Function | Kind::Binary | Kind::Unary))
        };
        let here = places.get(file.as_str()).into_iter().flatten();
        here.filter(|(_, place)| place.start <= cause.start && cause.end <= place.end)
            .map(|(number, _)| *number)
            .filter(|number| is_as_written(*number))
            .collect()
    }

    /// The mutants whose code it touches.
    fn touched(&self, places: &Places<'_>) -> BTreeSet<usize> {
        let mut touched = BTreeSet::new();
        for (file, span) in &self.spans {
            let here = places.get(file.as_str()).into_iter().flatten();
            let meant = here.filter(|(number, place)| {
                *number != FUNCTION && place.start < span.end && span.start < place.end
            });
            touched.extend(meant.map(|(number, _)| *number));
            if !touched.is_empty() {
                break;
            }
        }
        touched
    }

    /// Those of the function around it, the likeliest.
    fn around(&self, places: &Places<'_>, mutants: &[Mutant]) -> BTreeSet<usize> {
        for (file, span) in &self.spans {
            let here = || places.get(file.as_str()).into_iter().flatten();
            let around = here()
                .filter(|(number, _)| *number == FUNCTION)
                .map(|(_, place)| place)
                .filter(|place| place.start <= span.start && span.end <= place.end)
                .min_by_key(|place| place.len());
            let Some(around) = around else {
                continue;
            };
            for likely in [Some(Kind::Field), Some(Kind::Function), None] {
                let found = here().filter(|(number, place)| {
                    let kind = mutants.get(*number).map(|mutant| mutant.kind);
                    let is_within = around.start <= place.start && place.end <= around.end;
                    is_within && kind.is_some() && (likely.is_none() || kind == likely)
                });
                let found: BTreeSet<usize> = found.map(|(number, _)| *number).collect();
                if !found.is_empty() {
                    return found;
                }
            }
        }
        BTreeSet::new()
    }
}

/// Where mutants and functions stand in each file.
type Places<'a> = BTreeMap<&'a str, Vec<(usize, Range<usize>)>>;

/// What is asked whether a mutant is on, and says who asked.
fn switch_module(mutants: usize) -> String {
    format!(
        r#"
#[doc(hidden)]
pub mod {SWITCH} {{
    use std::io::Write as _;
    use std::sync::LazyLock;
    use std::sync::atomic::{{AtomicBool, Ordering::Relaxed}};

    static CHOSEN: LazyLock<usize> = LazyLock::new(|| {{
        let chosen = std::env::var("MUTANT").ok();
        chosen.and_then(|text| text.parse().ok()).unwrap_or(usize::MAX)
    }});
    static REACHED: LazyLock<Option<std::fs::File>> = LazyLock::new(|| {{
        let path = std::env::var_os("MUTANTS_REACHED")?;
        std::fs::OpenOptions::new().create(true).append(true).open(path).ok()
    }});
    static SEEN: [AtomicBool; {mutants}] = [const {{ AtomicBool::new(false) }}; {mutants}];

    #[inline(never)]
    pub fn on(number: usize) -> bool {{
        if !SEEN[number].load(Relaxed) && !SEEN[number].swap(true, Relaxed) {{
            if let Some(mut file) = REACHED.as_ref() {{
                let _ = file.write_all(format!("{{number}}\n").as_bytes());
            }}
        }}
        *CHOSEN == number
    }}
}}
"#
    )
}
