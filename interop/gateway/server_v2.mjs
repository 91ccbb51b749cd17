// A server of the stateless era alone, written with the TypeScript SDK 2.x, on stdio.

import { McpServer, ResourceTemplate, completable, inputRequired, inputResponse } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

import { NAME_FORM, Waiting, later, media, question, suggest, text } from "./shared.mjs";

const waiting = new Waiting();

function build() {
  const capabilities = { logging: {}, resources: { subscribe: true } };
  const server = new McpServer({ name: "stateless-typescript", version: "1.0.0" }, { capabilities });
  const tool = (name, inputs, body, more) => {
    server.registerTool(name, { description: name, inputSchema: z.object(inputs), ...more }, body);
  };

  tool("echo", { text: z.string() }, async (given) => text(given.text));
  const outputSchema = z.object({ city: z.string(), degrees: z.number() });
  tool("weather", { city: z.string() }, async ({ city }) => {
    const structuredContent = { city, degrees: 21.5 };
    return { ...text(JSON.stringify(structuredContent)), structuredContent };
  }, { outputSchema });
  tool("media", {}, async () => ({ content: media("note") }));
  tool("fails", {}, async () => ({ ...text("it is broken"), isError: true }));

  const asking = (name, inputs, request, answer) => {
    tool(name, inputs, async (given, context) => {
      const came = inputResponse(context.mcpReq.inputResponses, "it");
      if (came.kind !== "missing") return text(answer(came));
      return inputRequired({ inputRequests: { it: request(given) } });
    });
  };
  asking(
    "ask",
    { message: z.string() },
    ({ message }) => inputRequired.elicit({ message, requestedSchema: NAME_FORM }),
    (came) => `${came.action}: ${came.content?.name}`,
  );
  asking(
    "visit",
    { url: z.string() },
    ({ url }) => inputRequired.elicitUrl({ message: "Please look at this", url }),
    (came) => came.action,
  );
  asking(
    "sample",
    { prompt: z.string() },
    ({ prompt }) => inputRequired.createMessage(question(prompt)),
    (came) => came.result.content.text,
  );
  asking("roots", {}, () => inputRequired.listRoots(), (came) => came.roots.map((root) => root.uri).join(" "));

  tool("count", { to: z.number() }, async ({ to }, context) => {
    const progressToken = context.mcpReq._meta?.progressToken;
    for (let progress = 1; progress <= to && progressToken !== undefined; progress += 1) {
      const params = { progressToken, progress, total: to, message: `step ${progress}` };
      await context.mcpReq.notify({ method: "notifications/progress", params });
    }
    await later();
    return text("counted");
  });
  tool("tell", { text: z.string() }, async (given, context) => {
    await context.mcpReq.log("debug", `${given.text}, in detail`, "teller");
    await context.mcpReq.log("warning", given.text, "teller");
    return text("told");
  });
  tool("wait", { key: z.string() }, ({ key }, context) => waiting.until(context.mcpReq.signal, key));
  tool("waiting", { key: z.string() }, async ({ key }) => text(waiting.started.has(key)));
  tool("stopped", { key: z.string() }, async ({ key }) => text(waiting.stopped.has(key)));
  tool("touch", { name: z.string() }, async ({ name }) => {
    await server.server.sendResourceUpdated({ uri: `note://${name}` });
    return text("touched");
  });

  const note = (uri, name) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: `note of ${name}` }] });
  server.registerResource("today", "note://today", { mimeType: "text/plain" }, async (uri) => note(uri, "today"));
  const template = new ResourceTemplate("note://{name}", { list: undefined, complete: { name: suggest } });
  server.registerResource("note", template, { mimeType: "text/plain" }, async (uri, { name }) => note(uri, name));
  const argsSchema = z.object({ name: completable(z.string(), suggest) });
  server.registerPrompt("greet", { description: "greet", argsSchema }, ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Please greet ${name}` } }],
  }));
  return server;
}

serveStdio(build, { legacy: "reject" });
