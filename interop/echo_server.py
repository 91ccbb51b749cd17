"""A server written with the Python SDK, for our client to talk to."""

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:  # the 1.x line calls it FastMCP
    from mcp.server.fastmcp import FastMCP as Server

server = Server("python-echo")


@server.tool()
def echo(text: str) -> str:
    """Answers with the same text."""
    return text


if __name__ == "__main__":
    server.run("stdio")
