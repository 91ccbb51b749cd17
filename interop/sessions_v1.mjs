// Sessions over HTTP, of a server written with the TypeScript SDK 1.x.

import { randomUUID } from "node:crypto";

import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

/** Answers requests, with a server for each session. */
export function inSessions(build) {
  const sessions = new Map();
  // A request without a session begins one, if it is `initialize`; the transport sees to that.
  return async (request, response) => {
    const id = request.headers["mcp-session-id"];
    const known = sessions.get(id);
    if (known) return known.handleRequest(request, response);
    if (id) return response.writeHead(404).end();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    transport.onclose = () => sessions.delete(transport.sessionId);
    await build().connect(transport);
    await transport.handleRequest(request, response);
  };
}
