//! The rules, in one table: what each is called, how bad it is, whose it is, what to do.
//!
//! Limits of providers change. What is here is what their documentation and the errors of their
//! services said in 2026; a rule that only one of their modes has says so.

use super::finding::Severity::{self, Error, Note, Warning};

/// One thing that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Its name, for filters.
    pub(crate) id: &'static str,
    /// How bad it is.
    pub(crate) severity: Severity,
    /// Who has this rule.
    pub(crate) whose: Whose,
    /// What is wrong, in a few words.
    pub(crate) summary: &'static str,
    /// What to do about it.
    pub(crate) cure: &'static str,
}

/// Who has a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The specification of MCP, or JSON Schema.
    Protocol,
    /// Declarations for programs that models write: closed, described, enumerated.
    CodeMode,
    /// OpenAI and others who check alike.
    OpenAi,
    /// OpenAI with `strict`.
    OpenAiStrict,
    /// Anthropic.
    Anthropic,
    /// Anthropic with `strict`.
    AnthropicStrict,
    /// Gemini, in the field `parameters`.
    Gemini,
    /// Several of them.
    Providers,
    /// Nobody is to be deceived.
    Safety,
    /// The context of a model is not free.
    Cost,
}

impl Whose {
    /// For people.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Protocol => "MCP and JSON Schema",
            Self::CodeMode => "Code Mode",
            Self::OpenAi => "OpenAI",
            Self::OpenAiStrict => "OpenAI, strict mode",
            Self::Anthropic => "Anthropic",
            Self::AnthropicStrict => "Anthropic, strict mode",
            Self::Gemini => "Gemini",
            Self::Providers => "OpenAI, Anthropic, Gemini",
            Self::Safety => "safety",
            Self::Cost => "cost",
        }
    }
}

/// Makes the table and the rules by name, so that none is in one of them only.
macro_rules! rules {
    ($($name:ident = $id:literal, $severity:ident, $whose:ident, $summary:literal, $cure:literal;)*) => {
        $(pub(super) static $name: Rule = Rule {
            id: $id, severity: $severity, whose: Whose::$whose, summary: $summary, cure: $cure,
        };)*
        /// Every rule.
        pub(crate) static RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    NAME_LENGTH = "name-length", Error, Providers, "the name is longer than 64 characters",
        "shorten it: OpenAI and Gemini refuse the request";
    NAME_CHARACTERS = "name-characters", Error, Providers, "the name has other characters than A-Z a-z 0-9 _ -",
        "use only these: OpenAI and Anthropic refuse the request";
    NAME_START = "name-start", Warning, Gemini, "the name begins with neither a letter nor _",
        "begin it with a letter";
    NAME_PREFIXED = "name-prefixed", Note, Providers, "with the server's name before it, the name is longer than 64 characters",
        "shorten the name of the tool or of the server: some hosts cut it, some leave the tool out";
    NAME_DUPLICATE = "name-duplicate", Error, Protocol, "two tools of the server have this name",
        "rename one: names are unique";
    NAME_SHADOWED = "name-shadowed", Warning, Safety, "a tool of another server has this name",
        "let the host put the server's name before it, or filter one of them";
    NAME_LOOK_ALIKE = "name-look-alike", Error, Safety, "the name looks like that of another tool",
        "rename one: people who approve a call see no difference";
    NAME_NEAR = "name-near", Warning, Providers, "the name is nearly that of another tool",
        "rename one, or make it one tool with an argument: models mix them up";
    NAME_IMITATED = "name-imitated", Warning, Safety, "the name is nearly that of a tool of another server",
        "find out which of them is meant, and filter the other: nobody sees the difference for long";
    SERVER_LOOK_ALIKE = "server-look-alike", Error, Safety, "the name of the server looks like that of another",
        "rename one: people who approve a call see no difference";
    NAMES_OTHER = "names-other-tool", Warning, Safety, "the text speaks of a tool of another server",
        "say what this tool does: a server has nothing to say about the tools of others";
    DESCRIPTION_MISSING = "description-missing", Warning, Providers, "the tool has no description",
        "say what it does and when to use it: models choose tools by this";
    DESCRIPTION_LONG = "description-long", Warning, OpenAi, "the description is longer than 1024 characters",
        "shorten it: some of OpenAI's services refuse it, some cut it off";
    HIDDEN_TEXT = "hidden-text", Error, Safety, "the text has characters that nobody sees",
        "remove them: a model reads what a person cannot";
    TERMINAL = "terminal-escape", Error, Safety, "the text commands a terminal",
        "remove the escapes: they hide or rewrite what a person is shown";
    MIXED_SCRIPTS = "mixed-scripts", Error, Safety, "a word has letters of another script that look like Latin ones",
        "write it in one script: it is not the word that a person reads";
    PADDED = "padded-text", Warning, Safety, "the text goes on behind a long gap",
        "remove the gap: what is behind it is not seen by people";
    UNRENDERED = "unrendered-text", Error, Safety, "the text has a part that is not shown where it is rendered",
        "write it plainly or remove it: a model reads what a person is not shown";
    ENCODED_TEXT = "encoded-text", Warning, Safety, "the text has a long encoded part",
        "write it plainly: nobody can read what it tells a model";
    OVERRIDE = "instruction-override", Error, Safety, "the text tells a model to leave its instructions",
        "remove it, and do not trust the server until it is known why it was there";
    SECRECY = "instruction-secrecy", Error, Safety, "the text tells a model to keep something from its user",
        "remove it, and do not trust the server until it is known why it was there";
    CONSENT = "instruction-consent", Warning, Safety, "the text tells a model not to ask",
        "remove it: whether somebody is asked is for the host and its user to decide";
    MARKUP = "instruction-markup", Error, Safety, "the text imitates the marks of a conversation",
        "remove the marks: the description of a tool is no message of a system";
    STEERING = "instruction-steering", Warning, Safety, "the text says how other tools are to be used",
        "say what this tool does; what comes first is for the model and its user to decide";
    EXFILTRATION = "exfiltration", Error, Safety, "the text asks for what no tool needs to be told",
        "remove it: keys, settings and conversations are nothing to pass as an argument";
    SCHEMA_OBJECT = "schema-object", Error, Protocol, "the schema is not an object",
        "write an object with `type: object`";
    ROOT_TYPE = "root-type", Error, Protocol, "the schema does not say `type: object`",
        "say it: providers refuse what they cannot know to be an object";
    OUTPUT_ROOT_TYPE = "output-root-type", Warning, Protocol, "the output schema does not say `type: object`",
        "put the value into a member: until 2025-11-25 results are objects";
    ROOT_CHOICE = "root-choice", Error, Providers, "the schema is a choice at its root",
        "put the choice into a property, or merge the parts: Anthropic and OpenAI refuse the request";
    ROOT_PROPERTIES = "root-properties", Error, OpenAi, "the schema has no `properties`",
        "write `properties`, if need be an empty object: OpenAI refuses the request";
    OPEN_OBJECT = "open-object", Warning, CodeMode, "an object does not say `additionalProperties`",
        "write `additionalProperties: false`";
    REQUIRED_MISSING = "required-missing", Warning, CodeMode, "an object does not say what is `required`",
        "write `required`, if need be an empty list";
    PROPERTY_UNDESCRIBED = "property-undescribed", Warning, CodeMode, "a property has no description",
        "describe it: it is the comment in generated code, and what a model goes by";
    ENUM_WANTED = "enum-wanted", Note, CodeMode, "the description lists the values, the schema does not",
        "write them as `enum`";
    NUMBER_FORMAT = "number-format", Note, OpenAi, "a number has a format that few know",
        "leave it out, or write `minimum` and `maximum`";
    FORMAT = "string-format", Note, OpenAiStrict, "a text has a format that providers do not know",
        "use date-time, date, time, duration, email, hostname, ipv4, ipv6 or uuid, or describe it";
    ARRAY_ITEMS = "array-items", Error, OpenAi, "an array does not say what its `items` are",
        "write `items`: OpenAI and Gemini refuse the request";
    ENUM_EMPTY = "enum-empty", Error, Providers, "`enum` is empty",
        "list the values, or leave it out";
    ENUM_MISMATCH = "enum-mismatch", Error, Protocol, "a value of `enum` is not of the `type` beside it",
        "make them agree: no value fits both";
    ENUM_TEXTS = "enum-texts", Note, Gemini, "`enum` has values that are no texts",
        "use texts, or bounds for numbers";
    PROPERTY_NAME = "property-name", Error, Anthropic, "a property's name is longer than 64 characters, or has others than A-Z a-z 0-9 _ . -",
        "rename it: Anthropic refuses the request";
    REQUIRED_UNKNOWN = "required-unknown", Error, Gemini, "`required` names what is not in `properties`",
        "describe the property or take it out of the list: Gemini refuses the request";
    REQUIRED_FORM = "required-form", Error, Protocol, "`required` is no list of names",
        "write a list of names in the object, not a flag in the property";
    TYPE_UNKNOWN = "type-unknown", Error, Protocol, "`type` names no type of JSON Schema",
        "use string, number, integer, boolean, object, array or null";
    TYPE_LIST = "type-list", Note, Gemini, "`type` is a list",
        "use one type; leave an optional property out of `required` instead of allowing null";
    UNTYPED = "untyped", Warning, OpenAiStrict, "a property has no type",
        "say its `type`: strict modes refuse it, and models guess";
    BOOLEAN_SCHEMA = "boolean-schema", Warning, Providers, "the schema of a property is `true` or `false`",
        "write an object: OpenAI and Gemini know no others";
    REFERENCE = "reference", Note, Gemini, "the schema has references",
        "write definitions in place";
    REFERENCE_OUTSIDE = "reference-outside", Error, Protocol, "a reference leads out of the schema",
        "write the definition into `$defs`: nobody fetches it";
    REFERENCE_BROKEN = "reference-broken", Error, Protocol, "a reference leads nowhere",
        "write the definition that it names";
    REFERENCE_CYCLE = "reference-cycle", Warning, AnthropicStrict, "a definition contains itself",
        "end it after a few levels: Anthropic's strict mode and Gemini refuse it";
    KEYWORD_OPENAI = "keyword-openai", Warning, OpenAiStrict, "the schema has keywords that strict mode refuses",
        "say it in the description, or in another way";
    KEYWORD_ANTHROPIC = "keyword-anthropic", Note, AnthropicStrict, "the schema has keywords that strict mode refuses",
        "hosts take them out before they ask for strict mode; say in the description what matters";
    KEYWORD_GEMINI = "keyword-gemini", Note, Gemini, "the schema has keywords that `parameters` refuses",
        "hosts take them out or use `parametersJsonSchema`; say in the description what matters";
    STRICT_OPTIONAL = "strict-optional", Note, OpenAiStrict, "not every property is required",
        "hosts make optional ones nullable for strict mode; nothing is to be done";
    TOO_DEEP = "too-deep", Warning, OpenAiStrict, "objects are nested more than 10 levels deep",
        "make it flatter, or two tools of it";
    TOO_MANY_PROPERTIES = "too-many-properties", Warning, OpenAiStrict, "the schema has more than 5000 properties",
        "make several tools of it";
    TOO_MANY_VALUES = "too-many-values", Warning, OpenAiStrict, "the schema has more than 1000 values in `enum`",
        "take the value as text and check it, or offer a tool that searches the values";
    TOKENS_TOOL = "tokens-tool", Warning, Cost, "the definition takes much of a model's context",
        "shorten descriptions, take out what is optional, or make two tools of it";
    TOKENS_SERVER = "tokens-server", Warning, Cost, "the tools of the server take much of a model's context",
        "offer fewer at once: filter them, or let the model search";
    TOOLS_TOO_MANY = "tools-too-many", Warning, OpenAi, "the server has more tools than one request takes",
        "filter them in the configuration: OpenAI refuses more than 128";
}
