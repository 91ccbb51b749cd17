//! One change of the code, as `cargo mutants --list --json` describes it.

use serde_json::Value;

/// A place and what stands there instead.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// Below the root of the workspace.
    pub(crate) file: String,
    pub(crate) kind: Kind,
    /// Line and column of its first letter, both from 1 on.
    pub(crate) start: (usize, usize),
    pub(crate) replacement: String,
    /// File, line and what is done: what it is called.
    pub(crate) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A function does nothing but give this.
    Function,
    Binary,
    Unary,
    /// An arm of a `match` is not there.
    Arm,
    /// The condition of an arm.
    Guard,
    /// A field of a structure has the value of the rest.
    Field,
}

/// All of a list.
///
/// # Errors
/// What it cannot be read for.
pub(crate) fn read(list: &str) -> Result<Vec<Mutant>, String> {
    let list: Value = serde_json::from_str(list).map_err(|error| error.to_string())?;
    let list = list.as_array().ok_or("it is no list")?;
    list.iter().map(one).collect()
}

fn one(value: &Value) -> Result<Mutant, String> {
    let text = |name: &str| {
        let text = value[name].as_str().map(str::to_owned);
        text.ok_or_else(|| format!("a mutant has no {name}"))
    };
    let number = |name: &str| {
        let number = value["span"]["start"][name].as_u64();
        number
            .and_then(|number| usize::try_from(number).ok())
            .ok_or_else(|| format!("a mutant has no {name}"))
    };
    let kind = match text("genre")?.as_str() {
        "FnValue" => Kind::Function,
        "BinaryOperator" => Kind::Binary,
        "UnaryOperator" => Kind::Unary,
        "MatchArm" => Kind::Arm,
        "MatchArmGuard" => Kind::Guard,
        "StructField" => Kind::Field,
        other => {
            return Err(format!(
                "{other} is a kind of mutant that is not known here"
            ));
        }
    };
    Ok(Mutant {
        file: text("file")?,
        kind,
        start: (number("line")?, number("column")?),
        replacement: text("replacement")?,
        name: text("name")?,
    })
}
