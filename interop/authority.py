"""A server that gives out its own tokens, as the Python SDK does it, for our client to log in at.

With both lines of the SDK: everything that is asked of it is answered by the SDK; what it leaves
to its user, which is to remember things and to show a page, is below. Like `authority.mjs` it
prints one line of JSON when it answers, ends with its standard input, and is administered at
`control`.
"""

import json
import os
import secrets
import socket
import sys
import threading
import time
from urllib.parse import parse_qsl

import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:  # the 1.x line calls it FastMCP
    from mcp.server.fastmcp import FastMCP as Server

USE = "mcp:use"

settings = {"accessSeconds": 3600}
counts: dict[str, int] = {}


def count(name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


class Memory:
    """Remembers what was given to whom; a refresh token counts once."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.logins: dict[str, tuple[str, AuthorizationParams]] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        login = secrets.token_urlsafe()
        self.logins[login] = (client.client_id, params)
        return f"{issuer}/login?login={login}"

    def finish(self, login: str, subject: str) -> str:
        client_id, params = self.logins.pop(login)
        code = secrets.token_urlsafe()
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [USE],
            expires_at=time.time() + 60,
            client_id=client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject=subject,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client, authorization_code: str) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code: AuthorizationCode) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self.give(authorization_code, authorization_code.scopes)

    async def load_refresh_token(self, client, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token: RefreshToken, scopes: list[str]) -> OAuthToken:
        del self.refresh[refresh_token.token]
        return self.give(refresh_token, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        for kept in (self.access, self.refresh):
            for other in [name for name, value in kept.items() if value.client_id == token.client_id]:
                del kept[other]

    def give(self, source: AuthorizationCode | RefreshToken, scopes: list[str]) -> OAuthToken:
        seconds = settings["accessSeconds"]
        access, refresh = secrets.token_urlsafe(), secrets.token_urlsafe()
        about = {
            "client_id": source.client_id,
            "scopes": scopes,
            "resource": source.resource,
            "subject": source.subject,
        }
        self.access[access] = AccessToken(token=access, expires_at=int(time.time()) + seconds, **about)
        self.refresh[refresh] = RefreshToken(token=refresh, **about)
        return OAuthToken(
            access_token=access,
            expires_in=seconds,
            refresh_token=refresh,
            scope=" ".join(scopes),
        )


listener = socket.create_server(("127.0.0.1", 0))
issuer = "http://{}:{}".format(*listener.getsockname())
memory = Memory()
server = Server(
    "guarded",
    auth_server_provider=memory,
    auth=AuthSettings(
        issuer_url=issuer,
        resource_server_url=f"{issuer}/mcp",
        required_scopes=[USE],
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=[USE]),
        revocation_options=RevocationOptions(enabled=True),
        validate_token_resource=True,
    ),
)


@server.tool()
def whoami() -> str:
    """Tells whose token it is."""
    token = get_access_token()
    return json.dumps({"client": token.client_id, "scopes": " ".join(token.scopes), "subject": token.subject})


@server.custom_route("/login", methods=["GET", "POST"])
async def login(request: Request) -> Response:
    if request.method == "GET":
        hidden = request.query_params["login"]
        return HTMLResponse(
            '<form method="post" action="/login">'
            f'<input type="hidden" name="login" value="{hidden}"><input name="subject">'
            "<button>Sign in</button></form>"
        )
    form = await request.form()
    return RedirectResponse(memory.finish(str(form["login"]), str(form["subject"])), status_code=302)


@server.custom_route("/control/{command}", methods=["GET", "POST"])
async def control(request: Request) -> Response:
    match request.method, request.path_params["command"]:
        case "GET", "counts":
            pass
        case "POST", "settings":
            settings.update(await request.json())
        case "POST", "refuse":
            memory.access.clear()
        case "POST", "revoke":
            memory.access.clear()
            memory.refresh.clear()
        case "POST", "forget":
            memory.clients.clear()
        case _:
            return Response(status_code=404)
    answer = JSONResponse(dict(counts))
    counts.clear()
    return answer


def counting(app):
    """Counts what is asked, and what the SDK answers: before the answer goes out."""

    async def counted(scope, receive, send):
        if scope["type"] != "http" or scope["path"].startswith("/control/"):
            return await app(scope, receive, send)
        path, status, form, answer = scope["path"], 0, bytearray(), bytearray()
        asked = f"{scope['method']} {path}"
        count(asked)

        async def receiving():
            message = await receive()
            if path == "/token":
                form.extend(message.get("body", b""))
            return message

        async def sending(message):
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if path == "/mcp":
                    count(f"server {asked} {status}")
            elif path == "/token":
                answer.extend(message.get("body", b""))
                if not message.get("more_body", False):
                    count_token(form, answer, status)
            await send(message)

        await app(scope, receiving, sending)

    return counted


def count_token(form: bytes, answer: bytes, status: int) -> None:
    """As `authority.mjs` does: by the kind of grant, and the error if there was one."""
    name = f"token {dict(parse_qsl(form.decode())).get('grant_type')}"
    count(name if status == 200 else f"{name} {json.loads(answer)['error']}")


def end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=end_with_input, daemon=True).start()
    app = counting(server.streamable_http_app())
    print(json.dumps({"issuer": issuer, "opaque": f"{issuer}/mcp", "control": f"{issuer}/control"}), flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
