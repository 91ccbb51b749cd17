// The TypeScript SDK 2.x as a client of our servers: both eras.
//
//     node typescript_v2.mjs <command> [argument …]
//     node typescript_v2.mjs --examples <JSON> --revisions <revision,…>
//
// Among the revisions, `auto` leaves it to the client to find the newest.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { User, callsWork } from "./client.mjs";
import { Host, exercise, meet, readArguments } from "./examples.mjs";
import { check, expect, finish } from "./report.mjs";

const given = readArguments(process.argv.slice(2));
const NAME = "typescript sdk 2.x";
const STATELESS = "2026-07-28";

if (given.examples) {
  await meet(NAME, given, visit);
} else {
  await talk(`${NAME}, legacy`, "legacy", "2025-11-25");
  await talk(`${NAME}, auto`, "auto", STATELESS);
  await talk(`${NAME}, pinned`, { pin: STATELESS }, STATELESS);
}
finish();

async function visit({ example, revision: wanted, url, command }) {
  const host = new Host();
  const client = new Client({ name: "interop", version: "1.0.0" }, { capabilities: Host.capabilities, ...asking(wanted) });
  client.setRequestHandler("elicitation/create", async (request) => host.elicit(request));
  client.setRequestHandler("sampling/createMessage", async () => host.sample());
  client.setRequestHandler("roots/list", async () => host.roots());
  client.setNotificationHandler("notifications/message", () => void (host.told.log += 1));
  client.setNotificationHandler("notifications/tools/list_changed", () => void (host.told.tools += 1));
  client.setNotificationHandler("notifications/resources/updated", () => void (host.told.updated += 1));

  const transport = url ? new StreamableHTTPClientTransport(url) : stdio(command);
  const revision = wanted === "auto" ? STATELESS : wanted;
  try {
    await client.connect(transport);
    expect(client.getNegotiatedProtocolVersion(), revision, "revision");
    await exercise(example, client, host, { revision, resultSchemaFirst: false });
    if (revision !== STATELESS) await transport.terminateSession?.();
  } finally {
    await client.close();
  }
}

function asking(revision) {
  switch (revision) {
    case "auto":
      return { versionNegotiation: { mode: "auto" } };
    case STATELESS:
      return { versionNegotiation: { mode: { pin: revision } } };
    default:
      return { versionNegotiation: { mode: "legacy" }, supportedProtocolVersions: [revision] };
  }
}

async function talk(label, mode, revision) {
  const user = new User();
  const options = { capabilities: { elicitation: {} }, versionNegotiation: { mode } };
  const client = new Client({ name: "interop", version: "1.0.0" }, options);
  client.setRequestHandler("elicitation/create", async (request) => user.answer(request));

  await check(`${label}: open`, async () => {
    await client.connect(stdio(given.command));
    expect(client.getNegotiatedProtocolVersion(), revision, "revision");
  });
  await callsWork(label, client, user, { handshake: mode === "legacy", resultSchemaFirst: false });
  await check(`${label}: close`, () => client.close());
}

function stdio([program, ...args]) {
  return new StdioClientTransport({ command: program, args, stderr: "inherit" });
}
