"""Tools with random schemas, as JSON: what no author would write, and some generator will.

    python3 random_tools.py SEED COUNT

The same seed gives the same tools. Names, values and texts are those that languages stumble over.
"""

import json
import random
import sys

NAMES = [
    "type", "self", "Self", "crate", "new", "async", "default", "constructor", "__proto__", "$ref",
    "Option", "String", "Value", "Vec", "others", "choice", "a", "b-c", "fooBar", "foo_bar", "1st",
    "é", "", "*/", "a b", 'x"y', "\\", "\u202e", "r#type",
]
VALUES = [
    None, True, False, 0, 1, -5, 2.5, 1e30, "a", "b", "A", "", "*/", "a b", "1", "é", '\\"', "Self",
    "\n", [], [1, "x"], {"k": 1}, {},
]
TEXTS = [
    "Plain.", "*/ x /*", "line\nline", "```\ncode", "```rust\nfn x() {}", "    indented",
    "\u202etrick", "@foo {bar}", "// # <a>", "\r\n\r",
]
TYPES = ["string", "number", "integer", "boolean", "null", "array", "object"]
PLACES = ["#", "#/$defs/a", "#/$defs/b", "#/$defs/c", "#/$defs/zz", "#/properties/a", "http://x", "#anchor"]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, part):
        return self.random.random() < part

    def some(self, make, most):
        return [make() for _ in range(self.random.randint(0, most))]

    def schema(self, depth):
        if self.chance(0.04):
            return self.random.choice([True, False])
        schema = {}
        if self.chance(0.4):
            schema["description"] = self.random.choice(TEXTS)
        if self.chance(0.1):
            schema["default"] = self.random.choice(VALUES)
        if self.chance(0.05):
            schema["nullable"] = True
        kinds = [self.simple, self.simple, self.values, self.reference]
        if depth > 0:
            kinds += [self.object, self.object, self.list, self.tuple, self.choice, self.joined]
        self.random.choice(kinds)(schema, depth - 1)
        return schema

    def simple(self, schema, depth):
        several = self.random.sample(TYPES, self.random.randint(0, 4))
        schema["type"] = several if self.chance(0.3) else self.random.choice(TYPES + ["weird"])

    def values(self, schema, depth):
        if self.chance(0.3):
            schema["const"] = self.random.choice(VALUES)
        else:
            schema["enum"] = self.some(lambda: self.random.choice(VALUES), 5)

    def reference(self, schema, depth):
        schema["$ref"] = self.random.choice(PLACES)

    def object(self, schema, depth):
        if self.chance(0.8):
            schema["type"] = "object"
        names = self.random.sample(NAMES, self.random.randint(0, 5))
        schema["properties"] = {name: self.schema(depth) for name in names}
        if self.chance(0.6):
            schema["required"] = self.random.sample(names, self.random.randint(0, len(names)))
            schema["required"] += ["extra"] if self.chance(0.1) else []
        if self.chance(0.6):
            rest = [False, False, True, self.schema(depth)]
            schema["additionalProperties"] = self.random.choice(rest)
        if self.chance(0.1):
            schema["patternProperties"] = {"^x": self.schema(depth)}

    def list(self, schema, depth):
        schema["type"] = "array"
        schema["items"] = self.schema(depth)

    def tuple(self, schema, depth):
        places = self.some(lambda: self.schema(depth), 4)
        if self.chance(0.3):
            schema["items"] = places
            schema["additionalItems"] = self.random.choice([False, True, {"type": "string"}])
            return
        schema["prefixItems"] = places
        for keyword in ["minItems", "maxItems"]:
            if self.chance(0.5):
                schema[keyword] = self.random.randint(0, len(places) + 1)
        if self.chance(0.3):
            schema["items"] = self.schema(depth)

    def choice(self, schema, depth):
        if self.chance(0.4):
            self.object(schema, depth)
        schema[self.random.choice(["anyOf", "oneOf"])] = self.some(lambda: self.schema(depth), 4)

    def joined(self, schema, depth):
        if self.chance(0.4):
            self.object(schema, depth)
        schema["allOf"] = self.some(lambda: self.schema(depth), 3)

    def tool(self, number):
        schema = {}
        self.object(schema, 2)
        schema["type"] = "object"
        schema["$defs"] = {name: self.schema(2) for name in "abc"}
        name = self.random.choice(["tool", "get-x", "delete", "2x", "ü", "Tool", "default", "a.b"])
        tool = {"name": name + (str(number) if self.chance(0.9) else ""), "inputSchema": schema}
        if self.chance(0.5):
            tool["description"] = self.random.choice(TEXTS)
        if self.chance(0.6):
            tool["outputSchema"] = self.schema(4)
        return tool if isinstance(tool.get("outputSchema", {}), dict) else self.tool(number)


maker = Maker(int(sys.argv[1]))
json.dump([maker.tool(number) for number in range(int(sys.argv[2]))], sys.stdout)
