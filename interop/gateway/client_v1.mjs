// The TypeScript SDK 1.x as a client of the gateway, which does what `driver.mjs` is told.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as types from "@modelcontextprotocol/sdk/types.js";

import { CAPABILITIES, answer, name, obey, pages, server, told, url } from "./driver.mjs";

const client = new Client({ name, version: "1.0.0" }, { capabilities: CAPABILITIES });
const asked = [types.ElicitRequestSchema, types.CreateMessageRequestSchema, types.ListRootsRequestSchema];
for (const schema of asked) client.setRequestHandler(schema, async (request) => answer(request));
client.fallbackNotificationHandler = async (notification) => told(notification);

const [command, ...args] = server;
const transport = url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport({ command, args });
let revision;
const keep = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  revision = version;
  keep?.(version);
};

async function open() {
  await client.connect(transport);
  return revision;
}

await obey(open, {
  tools: () => pages("tools", (params) => client.listTools(params)),
  prompts: () => pages("prompts", (params) => client.listPrompts(params)),
  resources: () => pages("resources", (params) => client.listResources(params)),
  templates: () => pages("resourceTemplates", (params) => client.listResourceTemplates(params)),
  call: ({ tool, arguments: given }, options) => client.callTool({ name: tool, arguments: given }, undefined, options),
  prompt: ({ prompt, arguments: given }) => client.getPrompt({ name: prompt, arguments: given }),
  read: ({ uri }) => client.readResource({ uri }),
  complete: ({ ref, argument }) => client.complete({ ref, argument }),
  watch: ({ uri }) => client.subscribeResource({ uri }),
  unwatch: ({ uri }) => client.unsubscribeResource({ uri }),
  listen: async () => ({}),
  level: ({ level }) => client.setLoggingLevel(level),
  async task({ tool, arguments: given }) {
    const messages = [];
    const options = { task: { ttl: 60_000 } };
    const stream = client.experimental.tasks.callToolStream({ name: tool, arguments: given }, undefined, options);
    for await (const message of stream) messages.push(message);
    const last = messages.at(-1);
    if (last.type === "error") throw last.error;
    return { first: messages[0].type, result: last.result };
  },
  async close() {
    // Over HTTP, closing alone leaves the session to its time limit.
    await transport.terminateSession?.();
    await client.close();
  },
});
