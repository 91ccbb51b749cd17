// Programs as they are written against the declarations: what is right is accepted, what is wrong
// is not. `tsc` looks at it together with what `switchboard codegen` wrote.

async function everything(): Promise<string> {
  const result: mcp.ToolResult = await mcp.everything.echo({ message: "hi" });
  await mcp.everything.get_sum({ a: 2, b: 3 });
  await mcp.everything.get_env();
  await mcp.everything.get_annotated_message({ messageType: "success", includeImage: true });
  // @ts-expect-error: it is a text.
  await mcp.everything.echo({ message: 1 });
  // @ts-expect-error: it is required.
  await mcp.everything.get_sum({ a: 2 });
  // @ts-expect-error: it is none of the values.
  await mcp.everything.get_annotated_message({ messageType: "sucess" });
  // @ts-expect-error: there is no such argument.
  await mcp.everything.echo({ message: "hi", loud: true });
  const weather: number = (await mcp.everything.get_structured_content({ location: "New York" })).temperature;
  const sum: mcp.everything.Tools["get-sum"]["input"] = { a: weather, b: 3 };
  const first = result.content[0];
  return first?.type === "text" ? first.text : String(sum.a);
}

async function github(): Promise<void> {
  await mcp.github.create_issue({ owner: "o", repo: "r", title: "It broke", labels: ["bug"] });
  // @ts-expect-error: labels are texts.
  await mcp.github.create_issue({ owner: "o", repo: "r", title: "It broke", labels: [1] });
}

void everything;
void github;
