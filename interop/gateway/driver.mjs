// How a client of the TypeScript SDKs is told what to do, and says what came of it.
//
//     node client_vN.mjs <name> <era> <address, or command …>
//
// A line on stdin is an order, `{"id": 1, "do": "call", …}`; a line on stdout is what came of one,
// `{"id": 1, "result": …}` or `{"id": 1, "error": …}`, or what the client was asked or told meanwhile,
// `{"event": "asked", "method": …, "params": …}`. The first line is of the connection itself, `{"id": 0, …}`.
// Whatever is asked is answered with the client's own name, so that it is seen whose answer it is.

import { createInterface } from "node:readline";

import { plausible } from "../plausible.mjs";

export const [, , name, era, ...server] = process.argv;
export const isStateless = era === "stateless";
export const url = server[0].startsWith("http://") ? new URL(server[0]) : undefined;

export function say(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

export const CAPABILITIES = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: { listChanged: true },
};

/** Answers what a server asks. */
export function answer(request) {
  const { method, params } = request;
  say({ event: "asked", method, params });
  switch (method) {
    case "elicitation/create": {
      if (params.mode === "url") return { action: "accept" };
      const fields = Object.entries(params.requestedSchema.properties);
      return { action: "accept", content: Object.fromEntries(fields.map(([field, schema]) => [field, plausible(schema, name)])) };
    }
    case "sampling/createMessage": {
      const { content } = params.messages.at(-1);
      const text = `${name} heard ${[content].flat()[0].text}`;
      return { role: "assistant", content: { type: "text", text }, model: "none", stopReason: "endTurn" };
    }
    default:
      return { roots: [{ uri: `file:///${name}`, name }] };
  }
}

export function told({ method, params }) {
  say({ event: "told", method, params });
}

/** Opens the connection, then takes every order by the verb of its name, without waiting for the one before. */
export async function obey(open, verbs) {
  try {
    say({ id: 0, result: { revision: await open() } });
  } catch (error) {
    say({ id: 0, error: wordsOf(error) });
    process.exit(1);
  }
  const running = new Map();
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    if (order.do === "cancel") {
      running.get(order.of)?.abort("the user changed their mind");
      say({ id: order.id, result: {} });
      continue;
    }
    const abort = new AbortController();
    running.set(order.id, abort);
    const onprogress = ({ progress, total, message }) => {
      say({ event: "progress", of: order.id, params: { progress, total, message } });
    };
    const options = { signal: abort.signal, onprogress };
    Promise.resolve(verbs[order.do]?.(order, options) ?? Promise.reject(new Error("there is no such verb")))
      .then((result) => say({ id: order.id, result: result ?? {} }))
      .catch((error) => say({ id: order.id, error: wordsOf(error), code: error?.code }))
      .finally(() => running.delete(order.id));
  }
  await verbs.close();
  process.exit(0);
}

/** Every page of a list. */
export async function pages(member, page) {
  const all = [];
  let cursor;
  do {
    const answer = await page(cursor === undefined ? undefined : { cursor });
    all.push(...answer[member]);
    cursor = answer.nextCursor;
  } while (cursor !== undefined);
  return { [member]: all };
}

function wordsOf(error) {
  return String(error?.message ?? error);
}
