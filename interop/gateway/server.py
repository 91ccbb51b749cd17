"""A server written with the Python SDK 2.x, which the gateway is told to meet in the stateless era.

It serves HTTP on a port of its own, and says on stderr where. Its tools are those of server_v2.mjs.
"""

import asyncio
import json
import socket
import sys
import warnings
from typing import TypedDict

import uvicorn
from mcp import types
from mcp.server.mcpserver import Context, MCPServer

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
NAME_FORM = {
    "type": "object",
    "properties": {"name": {"type": "string", "title": "Name", "minLength": 1}},
    "required": ["name"],
}

server = MCPServer("stateless-python")
started: set[str] = set()
ended: set[str] = set()


@server.tool(structured_output=False)
def echo(text: str) -> str:
    return text


class Weather(TypedDict):
    city: str
    degrees: float


@server.tool()
def weather(city: str) -> Weather:
    return {"city": city, "degrees": 21.5}


@server.tool(structured_output=False)
def media() -> types.CallToolResult:
    note = types.TextResourceContents(uri="memo://today", mime_type="text/plain", text="note of today")
    marks = types.Annotations(audience=["user"], priority=0.5)
    content = [
        types.TextContent(type="text", text="an image, a sound, a link and a note"),
        types.ImageContent(type="image", data=PIXEL, mime_type="image/png", annotations=marks),
        types.AudioContent(type="audio", data=SILENCE, mime_type="audio/wav"),
        types.ResourceLink(type="resource_link", uri="memo://today", name="today", mime_type="text/plain"),
        types.EmbeddedResource(type="resource", resource=note),
    ]
    return types.CallToolResult(content=content)


@server.tool(structured_output=False)
def fails() -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text="it is broken")], is_error=True)


def asking(context: Context, request, read):
    """What comes of the answer, or the question."""
    came = (context.input_responses or {}).get("it")
    if came is None:
        return types.InputRequiredResult(input_requests={"it": request})
    return types.CallToolResult(content=[types.TextContent(type="text", text=read(came))])


@server.tool(structured_output=False)
def ask(message: str, context: Context) -> types.CallToolResult | types.InputRequiredResult:
    params = types.ElicitRequestFormParams(message=message, requested_schema=NAME_FORM)
    return asking(context, types.ElicitRequest(params=params), lambda came: f"{came.action}: {came.content['name']}")


@server.tool(structured_output=False)
def visit(url: str, context: Context) -> types.CallToolResult | types.InputRequiredResult:
    params = types.ElicitRequestURLParams(message="Please look at this", url=url)
    return asking(context, types.ElicitRequest(params=params), lambda came: came.action)


@server.tool(structured_output=False)
def sample(prompt: str, context: Context) -> types.CallToolResult | types.InputRequiredResult:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
    params = types.CreateMessageRequestParams(messages=[message], max_tokens=100)
    return asking(context, types.CreateMessageRequest(params=params), lambda came: came.content.text)


@server.tool(structured_output=False)
def roots(context: Context) -> types.CallToolResult | types.InputRequiredResult:
    return asking(context, types.ListRootsRequest(), lambda came: " ".join(str(root.uri) for root in came.roots))


@server.tool(structured_output=False)
async def count(to: int, context: Context) -> str:
    for step in range(1, to + 1):
        await context.report_progress(step, to, f"step {step}")
    # Some libraries drop progress that comes together with the answer.
    await asyncio.sleep(0.1)
    return "counted"


@server.tool(structured_output=False)
async def tell(text: str, context: Context) -> str:
    await context.log("debug", f"{text}, in detail", logger_name="teller")
    await context.log("warning", text, logger_name="teller")
    return "told"


@server.tool(structured_output=False)
async def wait(key: str) -> str:
    started.add(key)
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        ended.add(key)
        raise
    return "nobody cancelled it"


@server.tool(structured_output=False)
def waiting(key: str) -> str:
    return json.dumps(key in started)


@server.tool(structured_output=False)
def stopped(key: str) -> str:
    return json.dumps(key in ended)


@server.tool(structured_output=False)
async def touch(name: str, context: Context) -> str:
    await context.notify_resource_updated(f"memo://{name}")
    return "touched"


@server.resource("memo://today", name="today", mime_type="text/plain")
def today() -> str:
    return "note of today"


@server.resource("memo://{name}", name="note", mime_type="text/plain")
def note(name: str) -> str:
    return f"note of {name}"


@server.prompt()
def greet(name: str) -> str:
    return f"Please greet {name}"


@server.completion()
async def complete(_ref, argument, _context) -> types.Completion:
    names = ["Ada", "Alan", "Grace"]
    return types.Completion(values=[name for name in names if name.lower().startswith(argument.value.lower())])


if __name__ == "__main__":
    # Logging, sampling and roots are on their way out, and are what this is about.
    warnings.simplefilter("ignore")
    listener = socket.create_server(("127.0.0.1", 0))
    host, port = listener.getsockname()
    print(f"listening on http://{host}:{port}/mcp", file=sys.stderr, flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])
