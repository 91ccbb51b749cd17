"""A server written with the Python SDK, for our client to talk to.

On stdio; with --http on a port of its own, and it says on stderr where.
"""

import asyncio
import socket
import sys

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:  # the 1.x line calls it FastMCP
    from mcp.server.fastmcp import FastMCP as Server

server = Server("python-echo")


@server.tool()
def echo(text: str) -> str:
    """Answers with the same text."""
    return text


cancelled = 0


@server.tool()
async def pause(milliseconds: int) -> str:
    """Answers after a while."""
    global cancelled
    try:
        await asyncio.sleep(milliseconds / 1000)
    except asyncio.CancelledError:
        cancelled += 1
        raise
    return "done"


@server.tool()
def stopped() -> str:
    """How many pauses were cancelled."""
    return str(cancelled)


def serve_http() -> None:
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    host, port = listener.getsockname()
    print(f"listening on http://{host}:{port}/mcp", file=sys.stderr, flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    if "--http" in sys.argv:
        serve_http()
    else:
        server.run("stdio")
