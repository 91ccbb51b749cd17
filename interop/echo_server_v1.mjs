// A server written with the TypeScript SDK 1.x, for our client to talk to.
//
// On stdio; with `--http` or `--sse` on a port of its own, and it says on stderr where.
// `--sse` is the transport of 2024-11-05.

import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

import { listening } from "./listening.mjs";
import { inSessions } from "./sessions_v1.mjs";

// How many calls of `pause` were cancelled, in all sessions.
let stopped = 0;

function build() {
  const server = new McpServer({ name: "typescript-echo", version: "1.0.0" });
  server.registerTool(
    "echo",
    { description: "Answers with the same text.", inputSchema: { text: z.string() } },
    async ({ text }) => ({ content: [{ type: "text", text }] }),
  );
  server.registerTool(
    "pause",
    { description: "Answers after a while.", inputSchema: { milliseconds: z.number() } },
    async ({ milliseconds }, { signal }) => {
      await sleep(milliseconds, undefined, { signal }).catch((error) => {
        stopped += 1;
        throw error;
      });
      return { content: [{ type: "text", text: "done" }] };
    },
  );
  server.registerTool("stopped", { description: "How many pauses were cancelled." }, async () => ({
    content: [{ type: "text", text: String(stopped) }],
  }));
  server.registerTool("ask", { description: "Asks for a name and greets." }, async () => {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    const answer = await server.server.elicitInput({ message: "Who is there?", requestedSchema });
    return { content: [{ type: "text", text: `Hello, ${answer.content?.name}` }] };
  });
  return server;
}

const sessions = new Map();

async function sse(request, response) {
  if (request.method === "GET") {
    const transport = new SSEServerTransport("/messages", response);
    sessions.set(transport.sessionId, transport);
    transport.onclose = () => sessions.delete(transport.sessionId);
    return build().connect(transport);
  }
  const id = new URL(request.url, "http://127.0.0.1").searchParams.get("sessionId");
  const transport = sessions.get(id);
  if (!transport) return response.writeHead(404).end();
  await transport.handlePostMessage(request, response);
}

if (process.argv.includes("--http")) {
  listening(createServer(inSessions(build)), "/mcp");
} else if (process.argv.includes("--sse")) {
  listening(createServer(sse), "/sse");
} else {
  await build().connect(new StdioServerTransport());
}
