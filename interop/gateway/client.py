"""The Python SDKs, 1.x and 2.x, as clients of the gateway: they do what `driver.mjs` describes.

    python client.py <name> <handshake or stateless> <address, or command …>
"""

import json
import sys
import warnings
from contextlib import asynccontextmanager

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel

try:
    from mcp import Client
except ImportError:
    Client = None

NAME, ERA, *SERVER = sys.argv[1:]
STATELESS = ERA == "stateless"
FORMATS = {"email": "ada@example.com", "uri": "https://example.com", "date": "2026-07-28"}


def say(**line) -> None:
    print(json.dumps(line), flush=True)


def plain(value):
    """As it is on the wire."""
    return value.model_dump(mode="json", by_alias=True, exclude_none=True) if isinstance(value, BaseModel) else value


async def elicit(_context, params):
    params = plain(params)
    say(event="asked", method="elicitation/create", params=params)
    if params.get("mode") == "url":
        return types.ElicitResult(action="accept")
    fields = params["requestedSchema"]["properties"]
    return types.ElicitResult(action="accept", content={field: fit(schema) for field, schema in fields.items()})


async def sample(_context, params):
    params = plain(params)
    say(event="asked", method="sampling/createMessage", params=params)
    content = params["messages"][-1]["content"]
    content = content[0] if isinstance(content, list) else content
    answer = types.TextContent(type="text", text=f"{NAME} heard {content['text']}")
    return types.CreateMessageResult(role="assistant", content=answer, model="none")


async def roots(_context):
    say(event="asked", method="roots/list", params={})
    return types.ListRootsResult(roots=[types.Root(uri=f"file:///{NAME}", name=NAME)])


async def told(message) -> None:
    """Everything that comes unasked; the 1.x line wraps it."""
    message = getattr(message, "root", message)
    if isinstance(message, BaseModel) and hasattr(message, "method"):
        say(event="told", method=message.method, params=plain(message.params) or {})


CALLBACKS = {
    "elicitation_callback": elicit,
    "sampling_callback": sample,
    "list_roots_callback": roots,
    "message_handler": told,
}


@asynccontextmanager
async def connection():
    url = SERVER[0] if SERVER[0].startswith("http://") else None
    parameters = StdioServerParameters(command=SERVER[0], args=SERVER[1:])
    info = types.Implementation(name=NAME, version="1.0.0")
    if Client is not None:
        mode = "2026-07-28" if STATELESS else "legacy"
        async with Client(url or parameters, mode=mode, client_info=info, **CALLBACKS) as client:
            yield client, client.protocol_version
        return
    async with streamable_http_client(url) if url else stdio_client(parameters) as (read, write, *_):
        async with ClientSession(read, write, client_info=info, **CALLBACKS) as session:
            yield session, (await session.initialize()).protocolVersion


class Orders:
    """One connection; a method for each verb."""

    def __init__(self, client, group) -> None:
        self.client, self.group = client, group
        self.running: dict = {}
        self.listening: dict = {}
        self.meta = None

    async def obey(self, order) -> None:
        with anyio.CancelScope() as scope:
            # The 1.x line counts its requests.
            self.running[order["id"]] = (scope, getattr(self.client, "_request_id", None))
            try:
                result = plain(await getattr(self, order["do"])(order))
                say(id=order["id"], result={} if result is None else result)
            except Exception as error:
                while isinstance(error, BaseExceptionGroup):
                    error = error.exceptions[0]
                say(id=order["id"], error=str(error), code=getattr(getattr(error, "error", None), "code", None))
        if scope.cancel_called:
            say(id=order["id"], error="cancelled")

    async def cancel(self, order) -> None:
        scope, request_id = self.running[order["of"]]
        scope.cancel()
        # The 1.x line leaves it to the application to tell the server.
        if Client is None:
            params = types.CancelledNotificationParams(requestId=request_id)
            notification = types.CancelledNotification(method="notifications/cancelled", params=params)
            await self.client.send_notification(types.ClientNotification(notification))

    async def tools(self, _order):
        return await pages("tools", self.client.list_tools)

    async def prompts(self, _order):
        return await pages("prompts", self.client.list_prompts)

    async def resources(self, _order):
        return await pages("resources", self.client.list_resources)

    async def templates(self, _order):
        return await pages("resourceTemplates", self.client.list_resource_templates)

    async def call(self, order):
        async def progressed(progress, total, message) -> None:
            say(event="progress", of=order["id"], params={"progress": progress, "total": total, "message": message})

        given = order.get("arguments", {})
        return await self.client.call_tool(order["tool"], given, progress_callback=progressed, meta=self.meta)

    async def prompt(self, order):
        return await self.client.get_prompt(order["prompt"], order["arguments"])

    async def read(self, order):
        return await self.client.read_resource(order["uri"])

    async def complete(self, order):
        kinds = {"ref/prompt": types.PromptReference, "ref/resource": types.ResourceTemplateReference}
        ref = kinds[order["ref"]["type"]].model_validate(order["ref"])
        return await self.client.complete(ref, order["argument"])

    async def watch(self, order):
        if not STATELESS:
            return await self.client.subscribe_resource(order["uri"])
        await self.follow(order["uri"], resource_subscriptions=[order["uri"]])

    async def unwatch(self, order):
        if not STATELESS:
            return await self.client.unsubscribe_resource(order["uri"])
        self.listening.pop(order["uri"]).cancel()

    async def listen(self, _order):
        if STATELESS:
            await self.follow("tools", tools_list_changed=True)

    async def follow(self, name, **wanted) -> None:
        """Listens until it is cancelled, from when the server has agreed."""

        async def run(*, task_status) -> None:
            with anyio.CancelScope() as self.listening[name]:
                async with self.client.listen(**wanted) as subscription:
                    task_status.started()
                    # What comes is told to the message handler too.
                    async for event in subscription:
                        say(event="heard", what=repr(event))

        await self.group.start(run)

    async def level(self, order):
        if not STATELESS:
            return await self.client.set_logging_level(order["level"])
        self.meta = {"io.modelcontextprotocol/logLevel": order["level"]}

    async def task(self, order):
        tasks = self.client.experimental
        created = await tasks.call_tool_as_task(order["tool"], order["arguments"])
        async for _ in tasks.poll_task(created.task.taskId):
            pass
        result = await tasks.get_task_result(created.task.taskId, types.CallToolResult)
        return {"first": "taskCreated", "result": plain(result)}


async def pages(member: str, page) -> dict:
    entries, cursor = [], None
    while True:
        answer = plain(await page(cursor=cursor) if cursor else await page())
        entries += answer[member]
        cursor = answer.get("nextCursor")
        if cursor is None:
            return {member: entries}


def fit(schema):
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    if "oneOf" in schema:
        return schema["oneOf"][0]["const"]
    simple = {"boolean": True, "number": 1, "integer": schema.get("minimum", 1), "array": []}
    return simple.get(schema["type"], FORMATS.get(schema.get("format"), NAME))


async def main() -> None:
    async with connection() as (client, revision), anyio.create_task_group() as group:
        say(id=0, result={"revision": revision})
        orders = Orders(client, group)
        async for line in anyio.wrap_file(sys.stdin):
            group.start_soon(orders.obey, json.loads(line))
        group.cancel_scope.cancel()


if __name__ == "__main__":
    # What is on its way out is what the older revisions are about.
    warnings.simplefilter("ignore")
    anyio.run(main)
