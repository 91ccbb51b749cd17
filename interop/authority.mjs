// A real authorization server, and MCP servers that trust it, for our client to log in at.
//
// `node authority.mjs [--path <path of the issuer>]` prints one line of JSON when everything
// answers, and ends with its standard input:
//
//     {"issuer": "…", "jwt": "…/mcp", "opaque": "…/opaque", "proof": "…/proof", "control": "…",
//      "clients": {"basic": {"id", "secret"}, "post": {"id", "secret"}, "key": {"id", "pem"},
//                  "document": {"id"}}}
//
// 1. `authority_provider.mjs`: the authorization server, oidc-provider
// 2. `authority_servers.mjs`: the MCP servers, with the TypeScript SDK 2.x
//
// What is behind `control` stands in for the administrator of both:
//
// | request | what it does |
// |---|---|
// | `GET /counts` | how often each endpoint was asked, and what was answered to requests for tokens |
// | `POST /settings` | merges the members of the body into `settings`, below |
// | `POST /refuse` | the servers no longer take the access tokens they have seen |
// | `POST /revoke` | everything that anybody was granted is revoked |
// | `POST /forget` | the clients that registered are unknown |
//
// Each of them answers with the counts as they were, and begins to count anew.

import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { parseArgs } from "node:util";

import { authority } from "./authority_provider.mjs";
import { servers } from "./authority_servers.mjs";

const settings = {
  // How long an access token lasts.
  accessSeconds: 3600,
  // Must a proof of possession hold a nonce: at the authorization server, at the MCP servers?
  nonce: false,
  serverNonce: null,
};

let counts = {};

function count(name) {
  counts[name] = (counts[name] ?? 0) + 1;
}

async function main() {
  const { path } = parseArgs({ options: { path: { type: "string", default: "" } } }).values;
  // What depends on an address is made when the address is known.
  const [provider, resource, control] = await Promise.all([listen(), listen(), listen()]);
  const issuer = `${provider.url}${path}`;
  const places = Object.fromEntries(PATHS.map(([name, path]) => [name, `${resource.url}${path}`]));

  const given = await authority({ issuer, path, places, settings, count });
  provider.answer(given.handle);
  const guarded = await servers({ issuer, places, settings, count, client: given.clients.server });
  resource.answer(guarded.handle);
  control.answer(
    administer({
      "/settings": (body) => Object.assign(settings, body),
      "/refuse": guarded.refuse,
      "/revoke": given.revoke,
      "/forget": given.forget,
    }),
  );

  const { server: _, ...clients } = given.clients;
  console.log(JSON.stringify({ issuer, ...places, control: control.url, clients }));
  process.stdin.resume().on("close", () => process.exit(0));
}

// A port of its own; requests wait until there is an answer to them.
async function listen() {
  let answer;
  const ready = new Promise((resolve) => {
    answer = resolve;
  });
  const server = createServer(async (request, response) => {
    const handle = await ready;
    await handle(request, response);
  });
  await new Promise((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return { url: `http://127.0.0.1:${server.address().port}`, answer };
}

function administer(commands) {
  return async (request, response) => {
    try {
      if (request.method !== "GET" || request.url !== "/counts") {
        const command = request.method === "POST" && commands[request.url];
        if (!command) return response.writeHead(404).end();
        await command(request.headers["content-length"] > 0 ? await json(request) : {});
      }
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(counts));
      counts = {};
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  };
}

const PATHS = [
  ["jwt", "/mcp"],
  ["opaque", "/opaque"],
  ["proof", "/proof"],
];

await main();
