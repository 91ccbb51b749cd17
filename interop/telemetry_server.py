"""A server written with the Python SDK that says what it was told of the trace of a call.

On stdio. With --http it listens on a port of its own, prints one line of JSON when it does, and
ends with its standard input.
"""

import asyncio
import json
import os
import socket
import sys
import threading

from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from opentelemetry import trace

server = MCPServer("told")


@server.tool()
def told(context: Context) -> str:
    """The id of this request, its `_meta`, and the trace that the SDK itself finds there."""
    span = trace.get_current_span().get_span_context()
    request = context.request_context
    return json.dumps(
        {
            "id": request.request_id,
            "meta": dict(request.meta or {}),
            "trace_id": trace.format_trace_id(span.trace_id),
            "span_id": trace.format_span_id(span.span_id),
        }
    )


@server.tool()
def fails() -> str:
    """Cannot do its work."""
    raise ValueError("it cannot be done")


@server.tool()
def refuses() -> str:
    """Is no tool after all."""
    raise MCPError(-32602, "it cannot be done")


@server.tool()
def ends() -> str:
    """Ends the server."""
    os._exit(1)


@server.prompt()
async def plan() -> str:
    """Takes for ever."""
    await asyncio.sleep(3600)
    return ""


@server.resource("postgres://user:secret@db/customers?key=secret")
async def customers() -> str:
    """Takes for ever."""
    await asyncio.sleep(3600)
    return ""


def end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


def serve_http() -> None:
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=end_with_input, daemon=True).start()
    host, port = listener.getsockname()
    print(json.dumps({"url": f"http://{host}:{port}/mcp"}), flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    if "--http" in sys.argv:
        serve_http()
    else:
        server.run("stdio")
