// A server written with the TypeScript SDK 2.x, for our client to talk to.
//
// It answers both eras on stdio; `--legacy` keeps to the handshake era. With `--http` it
// answers both on a port of its own, and says on stderr where.

import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer, acceptedContent, createMcpHandler, inputRequired } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

import { listening } from "./listening.mjs";

// How many calls of `pause` were cancelled, in all sessions.
let stopped = 0;

function build() {
  const server = new McpServer({ name: "typescript-echo", version: "1.0.0" });
  server.registerTool(
    "echo",
    { description: "Answers with the same text.", inputSchema: z.object({ text: z.string() }) },
    async ({ text }) => ({ content: [{ type: "text", text }] }),
  );
  server.registerTool(
    "pause",
    { description: "Answers after a while.", inputSchema: z.object({ milliseconds: z.number() }) },
    async ({ milliseconds }, context) => {
      await sleep(milliseconds, undefined, { signal: context.mcpReq.signal }).catch((error) => {
        stopped += 1;
        throw error;
      });
      return { content: [{ type: "text", text: "done" }] };
    },
  );
  server.registerTool("stopped", { description: "How many pauses were cancelled." }, async () => ({
    content: [{ type: "text", text: String(stopped) }],
  }));
  server.registerTool("ask", { description: "Asks for a name and greets." }, async (context) => {
    const answer = acceptedContent(context.mcpReq.inputResponses, "who");
    if (answer) return { content: [{ type: "text", text: `Hello, ${answer.name}` }] };
    const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    return inputRequired({
      inputRequests: { who: inputRequired.elicit({ message: "Who is there?", requestedSchema }) },
    });
  });
  return server;
}

if (process.argv.includes("--http")) {
  listening(createServer(toNodeHandler(createMcpHandler(build))), "/mcp");
} else if (process.argv.includes("--legacy")) {
  await build().connect(new StdioServerTransport());
} else {
  serveStdio(build);
}
