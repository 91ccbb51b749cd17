// What is filled in where a server asks for something.

/** A value that fits a field of a form; this text where any text does. */
export function plausible(schema, text = "Ada") {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (schema.oneOf) return schema.oneOf[0].const;
  switch (schema.type) {
    case "boolean":
      return true;
    case "number":
    case "integer":
      return schema.minimum ?? 1;
    case "array":
      return [];
    default:
      return FORMATS[schema.format] ?? text;
  }
}

const FORMATS = { email: "ada@example.com", uri: "https://example.com", date: "2026-07-28" };
