// MCP servers that want a token: the TypeScript SDK 2.x with its own check of bearer tokens.
//
// | path | its tokens |
// |---|---|
// | `/mcp` | are signed: issuer, audience, end and signature are checked |
// | `/opaque` | are looked up at the authorization server (RFC 7662), so that a revoked one is refused |
// | `/proof` | are signed and bound to a key (RFC 9449), which the SDK does not know: that is checked here |
//
// `whoami` is for everybody with a token; for `administer` it must allow more.

import { createHash } from "node:crypto";

import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  McpServer,
  OAuthError,
  OAuthErrorCode,
  buildOAuthProtectedResourceMetadata,
  createMcpHandler,
  getOAuthProtectedResourceMetadataUrl,
  requireBearerAuth,
  requireScopes,
} from "@modelcontextprotocol/server";
import * as jose from "jose";

import { ADMINISTER, USE } from "./authority_provider.mjs";

/** The handler of all of them, and what an administrator can do. */
export async function servers({ issuer, places, settings, count, client }) {
  const published = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
  const keys = jose.createRemoteJWKSet(new URL(published.jwks_uri));
  const handler = createMcpHandler(build);
  const seen = new Set();
  const refused = new Set();

  const signed = (resource) => async (token) => {
    const checked = await jose.jwtVerify(token, keys, { issuer, audience: resource, typ: "at+jwt" });
    return checked.payload;
  };
  const lookedUp = (resource) => async (token) => {
    const answer = await fetch(published.introspection_endpoint, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` },
      body: new URLSearchParams({ token }),
    });
    const found = await answer.json();
    if (!found.active || found.aud !== resource) throw new Error("it is not active here");
    return found;
  };

  const routes = new Map();
  for (const [name, resource] of Object.entries(places)) {
    const url = new URL(resource);
    const metadata = getOAuthProtectedResourceMetadataUrl(url);
    const find = name === "opaque" ? lookedUp(resource) : signed(resource);
    const gate = requireBearerAuth({
      verifier: { verifyAccessToken: (token) => verify(find, token) },
      requiredScopes: [USE],
      resourceMetadataUrl: metadata,
      expectedResource: url,
    });
    const description = buildOAuthProtectedResourceMetadata({
      oauthMetadata: published,
      resourceServerUrl: url,
      scopesSupported: [USE, ADMINISTER],
    });
    if (name === "proof") description.dpop_bound_access_tokens_required = true;
    routes.set(new URL(metadata).pathname, () => Response.json(description));
    routes.set(url.pathname, async (request) => {
      const proven = name === "proof" ? await prove(request, resource, metadata) : request;
      if (proven instanceof Response) return proven;
      const auth = await gate(proven);
      return auth instanceof Response ? auth : handler.fetch(request, { authInfo: auth });
    });
  }

  async function verify(find, token) {
    seen.add(token);
    if (refused.has(token)) throw new OAuthError(OAuthErrorCode.InvalidToken, "it is refused from now on");
    const claims = await find(token).catch((error) => {
      throw new OAuthError(OAuthErrorCode.InvalidToken, error.message.replaceAll('"', "'"));
    });
    return {
      token,
      clientId: claims.client_id,
      scopes: (claims.scope ?? "").split(" "),
      expiresAt: claims.exp,
      resource: new URL(claims.aud),
      extra: { subject: claims.sub, issuedAt: claims.iat, isBound: Boolean(claims.cnf?.jkt) },
    };
  }

  // RFC 9449, section 4.3. What is proven goes on as if it were a bearer token.
  const proofs = new Set();
  async function prove(request, resource, metadata) {
    const refuse = (error, headers) =>
      Response.json(
        { error },
        {
          status: 401,
          headers: {
            "www-authenticate": `DPoP error="${error}", algs="ES256", scope="${USE}", resource_metadata="${metadata}"`,
            ...headers,
          },
        },
      );
    const [scheme, token] = (request.headers.get("authorization") ?? "").split(" ");
    if (scheme.toLowerCase() !== "dpop" || !token) return refuse("invalid_token");
    let proof;
    try {
      const given = request.headers.get("dpop") ?? "";
      const checked = await jose.jwtVerify(given, jose.EmbeddedJWK, { typ: "dpop+jwt", maxTokenAge: "60s" });
      const thumbprint = await jose.calculateJwkThumbprint(checked.protectedHeader.jwk);
      proof = checked.payload;
      const bound = jose.decodeJwt(token).cnf?.jkt;
      const hash = createHash("sha256").update(token).digest("base64url");
      const wanted = [request.method, resource, hash, bound, false];
      const came = [proof.htm, proof.htu, proof.ath, thumbprint, proofs.has(proof.jti)];
      if (wanted.join() !== came.join()) throw new Error(`wanted ${wanted}, came ${came}`);
      proofs.add(proof.jti);
    } catch (error) {
      console.error(`no proof: ${error.message}`);
      return refuse("invalid_dpop_proof");
    }
    if (settings.serverNonce && proof.nonce !== settings.serverNonce) {
      return refuse("use_dpop_nonce", { "dpop-nonce": settings.serverNonce });
    }
    return new Request(request.url, { headers: { authorization: `Bearer ${token}` } });
  }

  async function answer(request) {
    const { pathname } = new URL(request.url);
    if (request.headers.has("authorization")) count(`server with a token ${pathname}`);
    const route = routes.get(pathname);
    const response = route ? await route(request) : new Response(null, { status: 404 });
    count(`server ${request.method} ${pathname} ${response.status}`);
    return response;
  }

  return {
    handle: toNodeHandler({ fetch: answer }),
    refuse() {
      for (const token of seen) refused.add(token);
      seen.clear();
    },
  };
}

function build() {
  const server = new McpServer({ name: "guarded", version: "1.0.0" });
  const tell = (context) => {
    const { clientId, scopes, extra } = context.http.authInfo;
    const text = JSON.stringify({ client: clientId, scopes: scopes.join(" "), ...extra });
    return { content: [{ type: "text", text }] };
  };
  server.registerTool("whoami", { description: "Tells whose token it is." }, tell);
  server.registerTool(
    "administer",
    { description: "The same, for administrators.", scopeChallenge: requireScopes(USE, ADMINISTER) },
    tell,
  );
  return server;
}
