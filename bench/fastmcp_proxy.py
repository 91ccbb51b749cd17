"""A proxy as FastMCP has it, before one server: for scale beside ours.

    fastmcp_proxy.py [--http PORT] -- COMMAND ...
"""

import logging
import sys

from fastmcp.server import create_proxy

words = sys.argv[1:]
split = words.index("--")
options, (program, *arguments) = words[:split], words[split + 1 :]
server = {"command": program, "args": arguments}
proxy = create_proxy({"mcpServers": {"echo": server}}, name="proxy")
logging.disable(logging.CRITICAL)
if "--http" in options:
    port = int(options[options.index("--http") + 1])
    proxy.run(transport="http", host="127.0.0.1", port=port, path="/mcp", show_banner=False)
else:
    proxy.run(show_banner=False)
