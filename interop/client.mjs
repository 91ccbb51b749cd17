// What every TypeScript client does with our server, whichever SDK it is from.
//
// The scripts beside this one open the connection: typescript_v1.mjs and
// typescript_v2.mjs.

import { plausible } from "./plausible.mjs";
import { check, expect, skip } from "./report.mjs";

export async function callsWork(label, client, user, { handshake, resultSchemaFirst }) {
  let tools = [];

  // The 1.x line takes a result schema between the parameters and the options.
  function callWith(abort, params) {
    const options = { signal: abort.signal };
    const call = resultSchemaFirst
      ? client.callTool(params, undefined, options)
      : client.callTool(params, options);
    return call.then(() => "answered", () => "cancelled");
  }

  // 2026-07-28 has no ping.
  if (handshake) {
    await check(`${label}: ping`, () => client.ping());
  }
  await check(`${label}: tools/list`, async () => {
    tools = (await client.listTools()).tools.map((tool) => tool.name);
    expect(tools.includes("echo"), true, `echo among ${tools}`);
  });
  await check(`${label}: tools/call`, async () => {
    await echoes(client, "hello");
  });
  await check(`${label}: text beyond ASCII and newlines arrive unchanged`, async () => {
    await echoes(client, 'żółw 🐢 "quoted"\r\nsecond line\u2028third');
  });
  await check(`${label}: a large text arrives unchanged`, async () => {
    await echoes(client, "x".repeat(1 << 20));
  });
  await check(`${label}: calls in flight at once each get their own answer`, async () => {
    await Promise.all(Array.from({ length: 50 }, (_, index) => echoes(client, `call ${index}`)));
  });
  await check(`${label}: an unknown tool is refused`, async () => {
    await refused(client, { name: "no-such-tool", arguments: {} });
  });
  await check(`${label}: a cancelled call leaves the connection usable`, async () => {
    const abort = new AbortController();
    const call = callWith(abort, { name: "echo", arguments: { text: "never mind" } });
    abort.abort("the user changed their mind");
    const outcome = await call;
    expect(outcome, "cancelled", "outcome");
    await echoes(client, "still here");
  });
  if (!tools.includes("ask")) {
    skip(`${label}: a tool that asks the user`, "the server lists no tool named ask");
    return;
  }
  await check(`${label}: a tool that asks the user gets the answer`, async () => {
    const result = await client.callTool({ name: "ask", arguments: {} });
    expect(result.isError ?? false, false, "isError");
    expect(user.asked, 1, "times asked");
  });
  // In the stateless era nothing is in flight while the user thinks.
  if (!handshake) return;
  await check(`${label}: a call cancelled while the user thinks leaves the connection usable`, async () => {
    const abort = new AbortController();
    user.thinks = () => abort.abort("the user walked away");
    const outcome = await callWith(abort, { name: "ask", arguments: {} });
    expect(outcome, "cancelled", "outcome");
    await echoes(client, "still here");
  });
}

/** Whoever sits in front of a client: accepts any form, unless `thinks` is set; then never answers. */
export class User {
  asked = 0;
  thinks = undefined;

  answer(request) {
    this.asked += 1;
    if (this.thinks) {
      setTimeout(this.thinks);
      return new Promise(() => {});
    }
    const fields = Object.entries(request.params.requestedSchema?.properties ?? {});
    const content = Object.fromEntries(fields.map(([name, schema]) => [name, plausible(schema)]));
    return { action: "accept", content };
  }
}

async function echoes(client, text) {
  const result = await client.callTool({ name: "echo", arguments: { text } });
  const [block, ...rest] = result.content;
  expect(rest.length, 0, "further blocks");
  expect(block.type, "text", "kind");
  if (block.text !== text) throw new Error(`the text changed: ${block.text.slice(0, 80)}`);
}

// Refused either way counts: as a JSON-RPC error, or as a result that says so.
async function refused(client, params) {
  let result;
  try {
    result = await client.callTool(params);
  } catch (error) {
    expect(Number.isInteger(error.code), true, "has a code");
    return;
  }
  expect(result.isError, true, "isError");
}
