// A server of the handshake era, written with the TypeScript SDK 1.x: what server-everything has not, or
// not so that one could see whose it is. It serves sessions over HTTP, and says on stderr where.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  ListRootsResultSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";

import { listening } from "../listening.mjs";
import { inSessions } from "../sessions_v1.mjs";
import { NAME_FORM, Waiting, later, media, question, suggest, text } from "./shared.mjs";

const waiting = new Waiting();

function build() {
  const capabilities = { logging: {}, resources: { subscribe: true } };
  const server = new McpServer({ name: "handshake-typescript", version: "1.0.0" }, { capabilities });
  const watched = new Set();
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => void watched.add(params.uri) ?? {});
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => void watched.delete(params.uri) ?? {});
  const tool = (name, inputSchema, body, more) => {
    server.registerTool(name, { description: name, inputSchema, ...more }, body);
  };

  tool("echo", { text: z.string() }, async (given) => text(given.text));
  const outputSchema = { city: z.string(), degrees: z.number() };
  tool("weather", { city: z.string() }, async ({ city }) => {
    const structuredContent = { city, degrees: 21.5 };
    return { ...text(JSON.stringify(structuredContent)), structuredContent };
  }, { outputSchema });
  tool("media", {}, async () => ({ content: media("card") }));
  tool("fails", {}, async () => ({ ...text("it is broken"), isError: true }));

  tool("ask", { message: z.string() }, async ({ message }, { sendRequest }) => {
    const params = { message, requestedSchema: NAME_FORM };
    const came = await sendRequest({ method: "elicitation/create", params }, ElicitResultSchema);
    return text(`${came.action}: ${came.content?.name}`);
  });
  tool("visit", { url: z.string() }, async ({ url }, { sendRequest }) => {
    const params = { mode: "url", message: "Please look at this", url, elicitationId: randomUUID() };
    const came = await sendRequest({ method: "elicitation/create", params }, ElicitResultSchema);
    return text(came.action);
  });
  tool("sample", { prompt: z.string() }, async ({ prompt }, { sendRequest }) => {
    const params = question(prompt);
    const came = await sendRequest({ method: "sampling/createMessage", params }, CreateMessageResultSchema);
    return text(came.content.text);
  });
  tool("roots", {}, async (_given, { sendRequest }) => {
    const came = await sendRequest({ method: "roots/list" }, ListRootsResultSchema);
    return text(came.roots.map((root) => root.uri).join(" "));
  });

  tool("count", { to: z.number() }, async ({ to }, { _meta, sendNotification }) => {
    const progressToken = _meta?.progressToken;
    for (let progress = 1; progress <= to && progressToken !== undefined; progress += 1) {
      const params = { progressToken, progress, total: to, message: `step ${progress}` };
      await sendNotification({ method: "notifications/progress", params });
    }
    await later();
    return text("counted");
  });
  tool("tell", { text: z.string() }, async (given, { sendNotification }) => {
    const tell = (level, data) => {
      return sendNotification({ method: "notifications/message", params: { level, data, logger: "teller" } });
    };
    await tell("debug", `${given.text}, in detail`);
    await tell("warning", given.text);
    return text("told");
  });
  tool("wait", { key: z.string() }, ({ key }, { signal }) => waiting.until(signal, key));
  tool("waiting", { key: z.string() }, async ({ key }) => text(waiting.started.has(key)));
  tool("stopped", { key: z.string() }, async ({ key }) => text(waiting.stopped.has(key)));
  tool("touch", { name: z.string() }, async ({ name }) => {
    const uri = `card://${name}`;
    if (watched.has(uri)) await server.server.sendResourceUpdated({ uri });
    return text("touched");
  });

  const note = (uri, name) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: `note of ${name}` }] });
  server.registerResource("today", "card://today", { mimeType: "text/plain" }, async (uri) => note(uri, "today"));
  const template = new ResourceTemplate("card://{name}", { list: undefined, complete: { name: suggest } });
  server.registerResource("note", template, { mimeType: "text/plain" }, async (uri, { name }) => note(uri, name));
  const argsSchema = { name: completable(z.string(), suggest) };
  server.registerPrompt("greet", { description: "greet", argsSchema }, ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Please greet ${name}` } }],
  }));
  return server;
}

listening(createServer(inSessions(build)), "/mcp");
