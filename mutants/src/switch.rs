//! A source file in which every mutant can be switched on while the program runs.
//!
//! Where a mutant is, the code asks whether it is the one that was chosen, and does the one thing or
//! the other. Only one is ever on, so what stands within the changed code is the text as it was:
//! however deep expressions are, the file grows by little.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use crate::mutant::{Kind, Mutant};

/// What became of a file.
pub(crate) struct Switched {
    pub(crate) text: String,
    /// Where the code of each mutant stands in it, and what else is at fault if it does not compile.
    pub(crate) places: Vec<(usize, Range<usize>)>,
    /// Those that are no code: names would be bound on one side of an "or" only.
    pub(crate) refused: Vec<usize>,
}

/// Makes it so. Mutants go by their numbers; functions of these names stay `const`, and have none.
///
/// # Errors
/// Why the file cannot be read.
pub(crate) fn switch(
    text: &str,
    mutants: &BTreeMap<usize, &Mutant>,
    kept_const: &BTreeSet<String>,
) -> Result<Switched, String> {
    let file = syn::parse_file(text).map_err(|error| error.to_string())?;
    let lines = Lines::of(text);
    let mut at: BTreeMap<usize, Vec<(usize, &Mutant)>> = BTreeMap::new();
    for (&number, &mutant) in mutants {
        let place = lines.place(text, mutant.start);
        at.entry(place).or_default().push((number, mutant));
    }
    let mut finder = Finder {
        text,
        at,
        kept_const,
        nodes: Vec::new(),
        refused: Vec::new(),
    };
    finder.visit_file(&file);
    let (mut nodes, refused) = (finder.nodes, finder.refused);
    // What is only put in first, then the outer before the inner, where they begin at the same letter.
    nodes.sort_by_key(|node| {
        let range = &node.range;
        (range.start, !range.is_empty(), Reverse(range.end))
    });
    let mut writer = Writer {
        text,
        nodes: &nodes,
        out: String::with_capacity(text.len() * 2),
        places: Vec::new(),
        open: Vec::new(),
    };
    writer.write(0..text.len(), None);
    Ok(Switched {
        text: writer.out,
        places: writer.places,
        refused,
    })
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let ends = text.match_indices('\n').map(|(place, _)| place + 1);
        Self(std::iter::once(0).chain(ends).collect())
    }

    /// The byte at a line and a column, both from 1 on and the column in letters.
    fn place(&self, text: &str, (line, column): (usize, usize)) -> usize {
        let start = self.0.get(line - 1).copied().unwrap_or(text.len());
        let letters = text[start..].chars().take(column - 1);
        start + letters.map(char::len_utf8).sum::<usize>()
    }
}

/// A piece of code that is written in another way.
struct Node {
    range: Range<usize>,
    parts: Vec<Part>,
}

enum Part {
    Text(String),
    /// As it was.
    Raw(Range<usize>),
    /// With what can be switched in it.
    Switched(Range<usize>),
    Begin(usize),
    End,
}

struct Finder<'a> {
    text: &'a str,
    at: BTreeMap<usize, Vec<(usize, &'a Mutant)>>,
    kept_const: &'a BTreeSet<String>,
    nodes: Vec<Node>,
    refused: Vec<usize>,
}

impl<'a> Finder<'a> {
    /// The mutants of a kind that begin here.
    fn take(&self, place: usize, kind: Kind) -> Vec<(usize, &'a Mutant)> {
        let here = self.at.get(&place).into_iter().flatten();
        here.filter(|(_, mutant)| mutant.kind == kind)
            .copied()
            .collect()
    }

    fn push(&mut self, range: Range<usize>, parts: Vec<Part>) {
        self.nodes.push(Node { range, parts });
    }

    /// A function: what is put before its body, and what is within.
    fn function(
        &mut self,
        signature: &syn::Signature,
        block: &syn::Block,
        visit: impl FnOnce(&mut Self),
    ) {
        if let Some(word) = &signature.constness {
            if self.kept_const.contains(&signature.ident.to_string()) {
                return;
            }
            // What is switched is no constant.
            self.push(word.span().byte_range(), vec![Part::Text(String::new())]);
        }
        // A function that names no type gives one, and the other value would be of another.
        let is_open = self.text[signature.output.span().byte_range()].contains("impl ");
        if let Some(first) = block.stmts.first()
            && !is_open
        {
            let begin = block.brace_token.span.open().byte_range().end;
            let mut parts = Vec::new();
            for (number, mutant) in self.take(first.span().byte_range().start, Kind::Function) {
                parts.push(Part::Text(format!(" if {} {{ return ", on(number))));
                parts.push(Part::Begin(number));
                parts.push(Part::Text(mutant.replacement.clone()));
                parts.push(Part::End);
                parts.push(Part::Text("; }".to_owned()));
            }
            if !parts.is_empty() {
                self.push(begin..begin, parts);
            }
        }
        let whole = block.span().byte_range();
        let parts = vec![
            Part::Begin(FUNCTION),
            Part::Switched(whole.clone()),
            Part::End,
        ];
        self.push(whole, parts);
        visit(self);
    }

    /// An expression, and what is done instead for each mutant.
    fn expression(&mut self, range: Range<usize>, instead: Vec<(usize, Vec<Part>)>) {
        if instead.is_empty() {
            return;
        }
        let mut parts = vec![Part::Text("(".to_owned())];
        for (number, code) in instead {
            parts.push(Part::Text(format!("if {} {{ ", on(number))));
            parts.push(Part::Begin(number));
            parts.extend(code);
            parts.push(Part::End);
            parts.push(Part::Text(" } else ".to_owned()));
        }
        parts.push(Part::Text("{ ".to_owned()));
        parts.push(Part::Switched(range.clone()));
        parts.push(Part::Text(" })".to_owned()));
        self.push(range, parts);
    }

    /// Does it bind names, so that it cannot be moved into another expression?
    fn has_let(expression: &syn::Expr) -> bool {
        match expression {
            syn::Expr::Let(_) => true,
            syn::Expr::Binary(inner) => Self::has_let(&inner.left) || Self::has_let(&inner.right),
            _ => false,
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block, |this| {
            visit::visit_item_fn(this, item)
        });
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block, |this| {
            visit::visit_impl_item_fn(this, item)
        });
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block, |this| {
                visit::visit_trait_item_fn(this, item)
            });
        }
    }

    // What is computed when it is compiled has no switches.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}

    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}

    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}

    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}

    fn visit_variant(&mut self, _: &'ast syn::Variant) {}

    fn visit_angle_bracketed_generic_arguments(
        &mut self,
        _: &'ast syn::AngleBracketedGenericArguments,
    ) {
    }

    fn visit_expr_repeat(&mut self, expression: &'ast syn::ExprRepeat) {
        self.visit_expr(&expression.expr);
    }

    fn visit_expr_binary(&mut self, expression: &'ast syn::ExprBinary) {
        let operator = expression.op.span().byte_range();
        let range = expression.span().byte_range();
        let found = self.take(operator.start, Kind::Binary);
        if Self::has_let(&expression.left) || Self::has_let(&expression.right) {
            self.refused.extend(found.iter().map(|(number, _)| *number));
        } else {
            let length = operator_length(&self.text[operator.start..]);
            let instead = found.into_iter().map(|(number, mutant)| {
                let code = vec![
                    Part::Raw(range.start..operator.start),
                    Part::Text(mutant.replacement.clone()),
                    Part::Raw(operator.start + length..range.end),
                ];
                (number, code)
            });
            let instead = instead.collect();
            self.expression(range, instead);
        }
        visit::visit_expr_binary(self, expression);
    }

    fn visit_expr_unary(&mut self, expression: &'ast syn::ExprUnary) {
        let range = expression.span().byte_range();
        let operand = expression.expr.span().byte_range();
        let found = self.take(range.start, Kind::Unary).into_iter();
        let instead = found
            .map(|(number, _)| (number, vec![Part::Raw(operand.clone())]))
            .collect();
        self.expression(range, instead);
        visit::visit_expr_unary(self, expression);
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        let arms = expression.arms.iter();
        let without: Vec<usize> = arms
            .flat_map(|arm| self.take(arm.span().byte_range().start, Kind::Arm))
            .map(|(number, _)| number)
            .collect();
        if !without.is_empty() {
            // A match that is not complete any more is at fault as a whole.
            let range = expression.expr.span().byte_range();
            let mut parts: Vec<Part> = without.iter().map(|&number| Part::Begin(number)).collect();
            parts.push(Part::Switched(range.clone()));
            parts.extend(without.iter().map(|_| Part::End));
            self.push(range, parts);
        }
        visit::visit_expr_match(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let (pattern, guard) = match &arm.pat {
            syn::Pat::Guard(guarded) => (&*guarded.pat, Some(&*guarded.guard)),
            pattern => (pattern, None),
        };
        let pattern = pattern.span().byte_range();
        let mut conditions = Vec::new();
        for (number, _) in self.take(arm.span().byte_range().start, Kind::Arm) {
            conditions.push(Part::Begin(number));
            conditions.push(Part::Text(format!("!{}", on(number))));
            conditions.push(Part::End);
            conditions.push(Part::Text(" && ".to_owned()));
        }
        match guard {
            None => {
                if conditions.pop().is_some() {
                    conditions.insert(0, Part::Text(" if ".to_owned()));
                    self.push(pattern.end..pattern.end, conditions);
                }
            }
            Some(guard) if !Self::has_let(guard) => {
                let range = guard.span().byte_range();
                let mut parts = conditions;
                let mut otherwise = Vec::new();
                parts.push(Part::Text("(".to_owned()));
                for (number, mutant) in self.take(range.start, Kind::Guard) {
                    let (word, list) = match mutant.replacement.as_str() {
                        "true" => (" || ", &mut parts),
                        _ => (" && ", &mut otherwise),
                    };
                    let not = if word == " && " { "!" } else { "" };
                    list.push(Part::Begin(number));
                    list.push(Part::Text(format!("{not}{}", on(number))));
                    list.push(Part::End);
                    list.push(Part::Text(word.to_owned()));
                }
                parts.extend(otherwise);
                parts.push(Part::Text("(".to_owned()));
                parts.push(Part::Switched(range.clone()));
                parts.push(Part::Text("))".to_owned()));
                // Only what has a mutant is another text.
                if parts.iter().any(|part| matches!(part, Part::Begin(_))) {
                    self.push(range, parts);
                }
            }
            Some(_) => {}
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, expression: &'ast syn::ExprStruct) {
        let rest = expression
            .rest
            .as_ref()
            .map(|rest| rest.span().byte_range());
        for field in &expression.fields {
            let (Some(rest), Some(_)) = (&rest, &field.colon_token) else {
                continue;
            };
            let found = self.take(field.span().byte_range().start, Kind::Field);
            let name = field.member.span().byte_range();
            let value = field.expr.span().byte_range();
            let path = expression.path.span().byte_range();
            let instead = found.into_iter().map(|(number, _)| {
                let code = vec![
                    Part::Text("{ let rest: ".to_owned()),
                    Part::Raw(path.clone()),
                    Part::Text(" = ".to_owned()),
                    Part::Raw(rest.clone()),
                    Part::Text("; rest.".to_owned()),
                    Part::Raw(name.clone()),
                    Part::Text(" }".to_owned()),
                ];
                (number, code)
            });
            let instead = instead.collect();
            self.expression(value, instead);
        }
        visit::visit_expr_struct(self, expression);
    }
}

/// How long the operator is with which a text begins.
fn operator_length(text: &str) -> usize {
    const LONG: &[&str] = &[
        "<<=", ">>=", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
        "^=", "<<", ">>",
    ];
    let long = LONG.iter().find(|operator| text.starts_with(*operator));
    long.map_or(1, |operator| operator.len())
}

/// Asks whether this mutant is the one.
fn on(number: usize) -> String {
    format!("crate::{SWITCH}::on({number})")
}

/// In the place of a mutant: where a whole function stands.
pub(crate) const FUNCTION: usize = usize::MAX;

/// The module in which it is asked.
pub(crate) const SWITCH: &str = "switched_by_mutants";

struct Writer<'a> {
    text: &'a str,
    nodes: &'a [Node],
    out: String,
    places: Vec<(usize, Range<usize>)>,
    open: Vec<(usize, usize)>,
}

impl Writer<'_> {
    /// Writes what is here, with all that can be switched in it but for the node itself.
    fn write(&mut self, range: Range<usize>, within: Option<usize>) {
        let mut done = range.start;
        let mut next = within.map_or(0, |node| node + 1);
        while let Some(node) = self.nodes.get(next) {
            let place = node.range.clone();
            if place.start >= range.end {
                break;
            }
            if place.start < done || place.end > range.end {
                next += 1;
                continue;
            }
            self.out.push_str(&self.text[done..place.start]);
            self.write_node(next);
            done = place.end;
            next += 1;
        }
        self.out.push_str(&self.text[done..range.end]);
    }

    fn write_node(&mut self, place: usize) {
        let node = &self.nodes[place];
        for part in &node.parts {
            match part {
                Part::Text(text) => self.out.push_str(text),
                Part::Raw(range) => self.out.push_str(&self.text[range.clone()]),
                Part::Switched(range) => self.write(range.clone(), Some(place)),
                Part::Begin(number) => self.open.push((*number, self.out.len())),
                Part::End => {
                    if let Some((number, begin)) = self.open.pop() {
                        self.places.push((number, begin..self.out.len()));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code with these mutants in it, each a kind, a line, a column and what stands there instead.
    fn switched(source: &str, mutants: &[(Kind, usize, usize, &str)], kept: &[&str]) -> Switched {
        let mutants: Vec<Mutant> = mutants
            .iter()
            .map(|&(kind, line, column, replacement)| Mutant {
                file: "a.rs".to_owned(),
                kind,
                start: (line, column),
                replacement: replacement.to_owned(),
                name: String::new(),
            })
            .collect();
        let kept = kept.iter().map(|&name| name.to_owned()).collect();
        switch(source, &mutants.iter().enumerate().collect(), &kept).unwrap()
    }

    fn check(source: &str, mutants: &[(Kind, usize, usize, &str)], expected: &str) {
        let Switched { text, places, .. } = switched(source, mutants, &[]);
        let text = text.replace("crate::switched_by_mutants::", "");
        assert_eq!(text, expected);
        let found: BTreeSet<usize> = places.iter().map(|(number, _)| *number).collect();
        assert!((0..mutants.len()).all(|number| found.contains(&number)));
    }

    #[test]
    fn a_function_may_give_something_else_at_once() {
        check(
            "fn f() -> u8 {\n    g();\n    1\n}\n",
            &[(Kind::Function, 2, 5, "0"), (Kind::Function, 2, 5, "1")],
            "fn f() -> u8 { if on(0) { return 0; } if on(1) { return 1; }\n    g();\n    1\n}\n",
        );
    }

    #[test]
    fn what_is_within_a_changed_expression_is_as_it_was() {
        check(
            "fn f() { a + b * c }",
            &[(Kind::Binary, 1, 12, "-"), (Kind::Binary, 1, 16, "/")],
            "fn f() { (if on(0) { a - b * c } else { a + (if on(1) { b / c } else { b * c }) }) }",
        );
        check(
            "fn f() { !é == x }",
            &[(Kind::Unary, 1, 10, ""), (Kind::Binary, 1, 13, "!=")],
            "fn f() { (if on(1) { !é != x } else { (if on(0) { é } else { !é }) == x }) }",
        );
    }

    #[test]
    fn an_arm_may_be_gone_and_its_condition_decided() {
        check(
            "fn f() { match x { 1 => a, n if n > 2 => b, _ => c } }",
            &[
                (Kind::Arm, 1, 20, ""),
                (Kind::Arm, 1, 28, ""),
                (Kind::Guard, 1, 33, "true"),
                (Kind::Guard, 1, 33, "false"),
                (Kind::Binary, 1, 35, "<"),
            ],
            "fn f() { match x { 1 if !on(0) => a, \
             n if !on(1) && (on(2) || !on(3) && ((if on(4) { n < 2 } else { n > 2 }))) => b, _ => c } }",
        );
    }

    #[test]
    fn a_field_may_have_the_value_of_the_rest() {
        check(
            "fn f() { S { a: 1, ..S::new() } }",
            &[(Kind::Field, 1, 14, "")],
            "fn f() { S { a: (if on(0) { { let rest: S = S::new(); rest.a } } else { 1 }), ..S::new() } }",
        );
    }

    #[test]
    fn what_is_a_constant_has_no_switch() {
        let source = "const fn f() -> u8 { 1 + 1 }\nconst fn g() -> [u8; 2 + 2] { [0; 2 + 2] }";
        let mutants = [
            (Kind::Binary, 1, 24, "-"),
            (Kind::Binary, 2, 24, "-"),
            (Kind::Binary, 2, 37, "-"),
        ];
        let Switched { text, places, .. } = switched(source, &mutants, &["f"]);
        assert_eq!(text, source.replace("const fn g", " fn g"));
        assert!(places.iter().all(|(number, _)| *number == FUNCTION));
    }

    #[test]
    fn names_that_a_condition_binds_stay_where_they_are() {
        let source = "fn f() { if let Some(a) = b && a == c { d } }";
        let mutants = [(Kind::Binary, 1, 29, "||"), (Kind::Binary, 1, 34, "!=")];
        let Switched { text, refused, .. } = switched(source, &mutants, &[]);
        assert!(text.contains("let Some(a) = b && (if"), "{text}");
        assert_eq!(refused, [0]);
    }
}
