// The TypeScript SDK 2.x as a client of our server: both eras.
//
//     node typescript_v2.mjs <command> [argument …]

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { User, callsWork } from "./client.mjs";
import { check, expect, finish } from "./report.mjs";

const [command, ...args] = process.argv.slice(2);

await talk("typescript sdk 2.x, legacy", "legacy", "2025-11-25");
await talk("typescript sdk 2.x, auto", "auto", "2026-07-28");
await talk("typescript sdk 2.x, pinned", { pin: "2026-07-28" }, "2026-07-28");
finish();

async function talk(label, mode, revision) {
  const user = new User();
  const options = { capabilities: { elicitation: {} }, versionNegotiation: { mode } };
  const client = new Client({ name: "interop", version: "1.0.0" }, options);
  client.setRequestHandler("elicitation/create", async (request) => user.answer(request));

  await check(`${label}: open`, async () => {
    await client.connect(new StdioClientTransport({ command, args, stderr: "inherit" }));
    expect(client.getNegotiatedProtocolVersion(), revision, "revision");
  });
  await callsWork(label, client, user, { handshake: mode === "legacy", resultSchemaFirst: false });
  await check(`${label}: close`, () => client.close());
}
