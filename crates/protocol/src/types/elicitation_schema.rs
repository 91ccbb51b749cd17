//! The schema of a form, read as its fields.
//!
//! The text of the schema is what counts on the wire; this is for those who
//! draw a form or write one. The kinds of fields are in `elicitation_primitive`
//! and `elicitation_choice`.
//!
//! Specification: client/elicitation (requested schema).

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::types::tagged;
use crate::types::{
    BooleanSchema, EnumOption, Extra, LegacyTitledEnumSchema, NumberSchema, StringSchema,
    TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema, UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
};

/// A flat object of primitive fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitSchema {
    /// The dialect, if it is named.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    #[serde(rename = "type")]
    kind: ObjectKind,
    /// The fields in the order in which they were written.
    #[serde(with = "ordered")]
    pub properties: Vec<(String, PrimitiveSchemaDefinition)>,
    /// The fields that must be filled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<Vec<String>>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ElicitSchema {
    /// A form with these fields, none of them required.
    pub fn new(properties: Vec<(String, PrimitiveSchemaDefinition)>) -> Self {
        Self {
            properties,
            ..Self::default()
        }
    }

    /// The field with this name.
    pub fn property(&self, name: &str) -> Option<&PrimitiveSchemaDefinition> {
        let found = self.properties.iter().find(|(key, _)| key == name);
        found.map(|(_, definition)| definition)
    }

    /// Must the field be filled?
    pub fn is_required(&self, name: &str) -> bool {
        self.required
            .as_ref()
            .is_some_and(|names| names.iter().any(|n| n == name))
    }
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PrimitiveSchemaDefinition {
    /// Free text.
    String(StringSchema),
    /// A number.
    Number(NumberSchema),
    /// Yes or no.
    Boolean(BooleanSchema),
    /// One of several values.
    SingleSelect(UntitledSingleSelectEnumSchema),
    /// One of several values that have titles (since 2025-11-25).
    TitledSingleSelect(TitledSingleSelectEnumSchema),
    /// Some of several values (since 2025-11-25).
    MultiSelect(UntitledMultiSelectEnumSchema),
    /// Some of several values that have titles (since 2025-11-25).
    TitledMultiSelect(TitledMultiSelectEnumSchema),
    /// One of several values that have titles, as written before 2025-11-25.
    LegacyTitled(LegacyTitledEnumSchema),
}

impl PrimitiveSchemaDefinition {
    /// The values to choose from, each with the title to show; empty if it is no choice.
    pub fn options(&self) -> Vec<(&str, &str)> {
        fn plain(values: &[String]) -> Vec<(&str, &str)> {
            values.iter().map(|v| (v.as_str(), v.as_str())).collect()
        }
        fn titled(options: &[EnumOption]) -> Vec<(&str, &str)> {
            options
                .iter()
                .map(|o| (o.value.as_str(), o.title.as_str()))
                .collect()
        }
        match self {
            Self::String(_) | Self::Number(_) | Self::Boolean(_) => Vec::new(),
            Self::SingleSelect(schema) => plain(&schema.values),
            Self::TitledSingleSelect(schema) => titled(&schema.options),
            Self::MultiSelect(schema) => plain(&schema.items.values),
            Self::TitledMultiSelect(schema) => titled(&schema.items.options),
            Self::LegacyTitled(schema) => {
                let titles = schema.titles.iter().flatten().map(String::as_str);
                // A value without a title of its own shows itself.
                let titles = titles.map(Some).chain(std::iter::repeat(None));
                let values = schema.values.iter().map(String::as_str);
                values
                    .zip(titles)
                    .map(|(v, t)| (v, t.unwrap_or(v)))
                    .collect()
            }
        }
    }
}

impl Serialize for PrimitiveSchemaDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(schema) => schema.serialize(serializer),
            Self::Number(schema) => schema.serialize(serializer),
            Self::Boolean(schema) => schema.serialize(serializer),
            Self::SingleSelect(schema) => schema.serialize(serializer),
            Self::TitledSingleSelect(schema) => schema.serialize(serializer),
            Self::MultiSelect(schema) => schema.serialize(serializer),
            Self::TitledMultiSelect(schema) => schema.serialize(serializer),
            Self::LegacyTitled(schema) => schema.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PrimitiveSchemaDefinition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Head {
            #[serde(rename = "enum")]
            values: Option<IgnoredAny>,
            enum_names: Option<IgnoredAny>,
            one_of: Option<IgnoredAny>,
            items: Option<Items>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Items {
            any_of: Option<IgnoredAny>,
        }
        let raw = tagged::object(deserializer)?;
        let head: Head = raw.decode().map_err(D::Error::custom)?;
        let titled_items = head.items.is_some_and(|items| items.any_of.is_some());
        match &*tagged::kind(&raw)? {
            "string" if head.one_of.is_some() => tagged::decode(&raw).map(Self::TitledSingleSelect),
            "string" if head.enum_names.is_some() => tagged::decode(&raw).map(Self::LegacyTitled),
            "string" if head.values.is_some() => tagged::decode(&raw).map(Self::SingleSelect),
            "string" => tagged::decode(&raw).map(Self::String),
            "number" | "integer" => tagged::decode(&raw).map(Self::Number),
            "boolean" => tagged::decode(&raw).map(Self::Boolean),
            "array" if titled_items => tagged::decode(&raw).map(Self::TitledMultiSelect),
            "array" => tagged::decode(&raw).map(Self::MultiSelect),
            other => Err(D::Error::unknown_variant(
                other,
                &["string", "number", "integer", "boolean", "array"],
            )),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum ObjectKind {
    #[default]
    #[serde(rename = "object")]
    Object,
}

/// An object whose members keep their order: a form is shown as it was written.
mod ordered {
    use super::*;

    pub(super) fn serialize<T: Serialize, S: Serializer>(
        members: &[(String, T)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(members.len()))?;
        for (name, value) in members {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(String, T)>, D::Error> {
        deserializer.deserialize_map(Members(PhantomData))
    }

    struct Members<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
        type Value = Vec<(String, T)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(members)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::NumberKind;

    fn read(text: &str) -> ElicitSchema {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn fields_keep_their_order_and_their_kind() {
        let text = r#"{"type":"object","properties":{"z":{"type":"string","format":"email"},"a":{"type":"integer","minimum":0},"m":{"type":"boolean","default":true}},"required":["z"]}"#;
        let schema = read(text);
        let names: Vec<_> = schema.properties.iter().map(|(n, _)| n.as_str()).collect();
        assert_eq!(names, ["z", "a", "m"]);
        assert!(schema.is_required("z") && !schema.is_required("a"));
        assert!(matches!(
            schema.property("a"),
            Some(PrimitiveSchemaDefinition::Number(n)) if n.kind == NumberKind::Integer
        ));
        assert_eq!(serde_json::to_string(&schema).unwrap(), text);
    }

    #[test]
    fn every_way_to_write_a_choice_gives_values_and_titles() {
        let check = |field: &str, expected: &[(&str, &str)]| {
            let definition: PrimitiveSchemaDefinition = serde_json::from_str(field).unwrap();
            assert_eq!(definition.options(), expected, "{field}");
            let written = serde_json::to_value(&definition).unwrap();
            let original: serde_json::Value = serde_json::from_str(field).unwrap();
            assert_eq!(written, original);
        };
        check(r#"{"type":"string","enum":["a"]}"#, &[("a", "a")]);
        check(
            r#"{"type":"string","enum":["a","b"],"enumNames":["A"]}"#,
            &[("a", "A"), ("b", "b")],
        );
        check(
            r#"{"type":"string","oneOf":[{"const":"a","title":"A"}]}"#,
            &[("a", "A")],
        );
        check(
            r#"{"type":"array","items":{"type":"string","enum":["a"]}}"#,
            &[("a", "a")],
        );
        check(
            r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}"#,
            &[("a", "A")],
        );
        check(r#"{"type":"string"}"#, &[]);
    }

    #[test]
    fn a_field_that_no_form_may_have_is_refused() {
        for bad in [
            r#"{"type":"object","properties":{"a":{"type":"object"}}}"#,
            r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"number"}}}}"#,
            r#"{"type":"array","properties":{}}"#,
        ] {
            assert!(serde_json::from_str::<ElicitSchema>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn fields_that_are_no_object_are_refused_as_such() {
        let bad = r#"{"type":"object","properties":[]}"#;
        let error = serde_json::from_str::<ElicitSchema>(bad).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("expected an object"), "{error}");
    }
}
