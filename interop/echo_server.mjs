// A server written with the TypeScript SDK 2.x, for our client to talk to.
//
// It answers both eras on stdio; `--legacy` keeps to the handshake era.

import { McpServer, acceptedContent, inputRequired } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

function build() {
  const server = new McpServer({ name: "typescript-echo", version: "1.0.0" });
  server.registerTool(
    "echo",
    { description: "Answers with the same text.", inputSchema: z.object({ text: z.string() }) },
    async ({ text }) => ({ content: [{ type: "text", text }] }),
  );
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

if (process.argv.includes("--legacy")) {
  await build().connect(new StdioServerTransport());
} else {
  serveStdio(build);
}
