// The TypeScript SDK 1.x as a client of our servers: the handshake era.
//
//     node typescript_v1.mjs <command> [argument …]
//     node typescript_v1.mjs --examples <JSON> --revisions <revision,…>

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

import { User, callsWork } from "./client.mjs";
import { Host, exercise, meet, readArguments } from "./examples.mjs";
import { check, expect, finish } from "./report.mjs";

const given = readArguments(process.argv.slice(2));
const NAME = "typescript sdk 1.x";

if (given.examples) {
  await meet(NAME, given, visit);
} else {
  await talk();
}
finish();

async function visit({ example, revision, url, command }) {
  const host = new Host();
  const client = new Client({ name: "interop", version: "1.0.0" }, { capabilities: Host.capabilities });
  client.setRequestHandler(ElicitRequestSchema, async (request) => host.elicit(request));
  client.setRequestHandler(CreateMessageRequestSchema, async () => host.sample());
  client.setRequestHandler(ListRootsRequestSchema, async () => host.roots());
  client.setNotificationHandler(LoggingMessageNotificationSchema, () => void (host.told.log += 1));
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (host.told.tools += 1));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => void (host.told.updated += 1));

  const transport = url ? new StreamableHTTPClientTransport(url) : stdio(command);
  const agreed = offering(transport, revision);
  try {
    await client.connect(transport);
    expect(agreed(), revision, "revision");
    await exercise(example, client, host, { revision, resultSchemaFirst: true });
    // Over HTTP, closing alone leaves the session to its time limit.
    await transport.terminateSession?.();
  } finally {
    await client.close();
  }
}

/** Offers an older revision than the newest, for which this client has no setting. Says which was agreed on. */
function offering(transport, revision) {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (message.method === "initialize") message.params.protocolVersion = revision;
    return send(message, options);
  };
  let agreed;
  const keep = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    agreed = version;
    keep?.(version);
  };
  return () => agreed;
}

async function talk() {
  const user = new User();
  const client = new Client({ name: "interop", version: "1.0.0" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, async (request) => user.answer(request));

  await check(`${NAME}: initialize`, async () => {
    await client.connect(stdio(given.command));
    expect(typeof client.getServerVersion()?.name, "string", "server name");
  });
  await callsWork(NAME, client, user, { handshake: true, resultSchemaFirst: true });
  await check(`${NAME}: close`, () => client.close());
}

function stdio([program, ...args]) {
  return new StdioClientTransport({ command: program, args, stderr: "inherit" });
}
