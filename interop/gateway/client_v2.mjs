// The TypeScript SDK 2.x as a client of the gateway, in either era, which does what `driver.mjs` is told.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { CAPABILITIES, answer, isStateless, name, obey, pages, server, told, url } from "./driver.mjs";

const mode = isStateless ? { pin: "2026-07-28" } : "legacy";
const client = new Client({ name, version: "1.0.0" }, { capabilities: CAPABILITIES, versionNegotiation: { mode } });
for (const method of ["elicitation/create", "sampling/createMessage", "roots/list"]) {
  client.setRequestHandler(method, async (request) => answer(request));
}
client.fallbackNotificationHandler = async (notification) => told(notification);

const [command, ...args] = server;
const transport = url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport({ command, args });
const watched = new Map();
let _meta;

async function open() {
  await client.connect(transport);
  return client.getNegotiatedProtocolVersion();
}

await obey(open, {
  tools: () => pages("tools", (params) => client.listTools(params)),
  prompts: () => pages("prompts", (params) => client.listPrompts(params)),
  resources: () => pages("resources", (params) => client.listResources(params)),
  templates: () => pages("resourceTemplates", (params) => client.listResourceTemplates(params)),
  call: ({ tool, arguments: given }, options) => client.callTool({ name: tool, arguments: given, _meta }, options),
  prompt: ({ prompt, arguments: given }) => client.getPrompt({ name: prompt, arguments: given }),
  read: ({ uri }) => client.readResource({ uri }),
  complete: ({ ref, argument }) => client.complete({ ref, argument }),
  async watch({ uri }) {
    if (!isStateless) return client.subscribeResource({ uri });
    watched.set(uri, await client.listen({ resourceSubscriptions: [uri] }));
  },
  async unwatch({ uri }) {
    if (!isStateless) return client.unsubscribeResource({ uri });
    await watched.get(uri).close();
  },
  async listen() {
    if (isStateless) await client.listen({ toolsListChanged: true });
  },
  async level({ level }) {
    if (!isStateless) return client.setLoggingLevel(level);
    _meta = { "io.modelcontextprotocol/logLevel": level };
  },
  async close() {
    if (!isStateless) await transport.terminateSession?.();
    await client.close();
  },
});
