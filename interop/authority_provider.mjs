// The authorization server: oidc-provider from npm, with its own pages for login and consent.
//
// Only what MCP needs is set; what is not set is as its authors mean it to be. So a refresh
// token is given only to those who ask for `offline_access`.

import { generateKeyPairSync, randomBytes } from "node:crypto";

// Stdout has one line for whoever started us, and the library says more than that there.
console.info = console.error;

const { Provider, errors } = await import("oidc-provider");

export const USE = "mcp:use";
export const ADMINISTER = "mcp:administer";

/** The handler, the clients that are known from the start, and what an administrator can do. */
export async function authority({ issuer, path, places, settings, count }) {
  const key = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const clients = {
    // What RFC 6749 wants encoded before it goes into the header.
    basic: { id: "basic", secret: `${secret()}%+:&` },
    post: { id: "post", secret: secret() },
    key: { id: "key", pem: key.privateKey.export({ type: "pkcs8", format: "pem" }) },
    document: { id: DOCUMENT.client_id },
    server: { id: "server", secret: secret() },
  };
  const machine = (client, method, more) => ({
    client_id: client.id,
    client_secret: client.secret,
    token_endpoint_auth_method: method,
    grant_types: ["client_credentials"],
    redirect_uris: [],
    response_types: [],
    scope: `${USE} ${ADMINISTER}`,
    ...more,
  });

  const provider = new Provider(issuer, {
    clients: [
      machine(clients.basic, "client_secret_basic"),
      machine(clients.post, "client_secret_post"),
      machine(clients.key, "private_key_jwt", {
        jwks: { keys: [{ ...key.publicKey.export({ format: "jwk" }), alg: "ES256" }] },
      }),
      machine(clients.server, "client_secret_basic"),
    ],
    scopes: ["openid", "offline_access", USE, ADMINISTER],
    jwks: { keys: [signingKey("rsa", { modulusLength: 2048 }), signingKey("ec", { namedCurve: "P-256" })] },
    cookies: { keys: [secret()] },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    ttl: { AccessToken: () => settings.accessSeconds, ClientCredentials: () => settings.accessSeconds },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    features: {
      clientCredentials: { enabled: true },
      clientIdMetadataDocument: { enabled: true, ack: "draft-02" },
      deviceFlow: { enabled: true },
      dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => settings.nonce },
      introspection: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo(_, resource) {
          if (!Object.values(places).includes(resource)) throw new errors.InvalidTarget();
          return {
            audience: resource,
            scope: `${USE} ${ADMINISTER}`,
            ...(resource === places.opaque
              ? { accessTokenFormat: "opaque" }
              : { accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256" } } }),
          };
        },
      },
      revocation: { enabled: true },
    },
    // The one thing that it asks for elsewhere; there is no network.
    fetch: async (url) => {
      count("document");
      return String(url) === DOCUMENT.client_id ? Response.json(DOCUMENT) : new Response(null, { status: 404 });
    },
  });

  const grants = new Set();
  const registered = new Set();
  const grantType = ({ oidc }) => oidc.params?.grant_type ?? oidc.body?.grant_type;
  provider.on("grant.success", (context) => {
    count(`token ${grantType(context)}`);
    if (context.oidc.entities.Grant) grants.add(context.oidc.entities.Grant.jti);
  });
  provider.on("grant.error", (context, error) => count(`token ${grantType(context)} ${error.error}`));
  provider.on("registration_create.success", (_, client) => registered.add(client.clientId));
  provider.on("server_error", (_, error) => console.error(error));

  const callback = provider.callback();
  return {
    clients,
    handle(request, response) {
      const isBelow = request.url.startsWith(path);
      // As a framework does that it is mounted in.
      request.originalUrl = request.url;
      if (isBelow) request.url = request.url.slice(path.length);
      count(`${request.method} ${endpoint(request.url)}`);
      if (!isBelow) return response.writeHead(404).end();
      return callback(request, response);
    },
    async revoke() {
      for (const id of grants) {
        await provider.RefreshToken.revokeByGrantId(id);
        await provider.AccessToken.revokeByGrantId(id);
        await provider.Grant.adapter.destroy(id);
      }
      grants.clear();
    },
    async forget() {
      for (const id of registered) await provider.Client.adapter.destroy(id);
      registered.clear();
    },
  };
}

// Without the query, and without what is another one in every login.
function endpoint(url) {
  return url.split("?")[0].replace(/^\/(interaction|auth|device)\/[\w-]{16,}/, "/$1/…");
}

function signingKey(kind, options) {
  return { ...generateKeyPairSync(kind, options).privateKey.export({ format: "jwk" }), use: "sig" };
}

function secret() {
  return randomBytes(32).toString("base64url");
}

// A client whose id is the place of its description; nobody but `fetch` above reads it.
const DOCUMENT = {
  client_id: "https://client.example/switchboard.json",
  client_name: "Switchboard",
  application_type: "native",
  redirect_uris: ["http://127.0.0.1/callback"],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
  scope: `offline_access ${USE} ${ADMINISTER}`,
};
