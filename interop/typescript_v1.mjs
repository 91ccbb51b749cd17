// The TypeScript SDK 1.x as a client of our server: the handshake era.
//
//     node typescript_v1.mjs <command> [argument …]

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

import { User, callsWork } from "./client.mjs";
import { check, expect, finish } from "./report.mjs";

const [command, ...args] = process.argv.slice(2);
const label = "typescript sdk 1.x";
const user = new User();
const client = new Client({ name: "interop", version: "1.0.0" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async (request) => user.answer(request));

await check(`${label}: initialize`, async () => {
  const transport = new StdioClientTransport({ command, args, stderr: "inherit" });
  await client.connect(transport);
  expect(typeof client.getServerVersion()?.name, "string", "server name");
});
await callsWork(label, client, user, { handshake: true, resultSchemaFirst: true });
await check(`${label}: close`, () => client.close());
finish();
