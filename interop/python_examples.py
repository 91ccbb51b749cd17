"""The Python SDK as a client of our example servers; runs with the 1.x and the 2.x line.

    python python_examples.py --examples <JSON> --revisions <revision,…>

Takes the steps of examples.json and prints one line per example and revision, as report.mjs
describes. The JSON names a server for each example: a command and its arguments, or an address.
Among the revisions, `auto` leaves it to the client to find the newest.
"""

import json
import sys
import warnings
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import mcp.client.session
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

import python_client
from python_client import Client, expect, is_error, report

NAME = "python sdk 1.x" if Client is None else "python sdk 2.x"
STATELESS = "2026-07-28"
STEP_SECONDS = 20
PATIENCE_SECONDS = 10
POLL_SECONDS = 0.01


async def main(_option: str, examples: str, _other: str, revisions: str) -> None:
    steps = json.loads(Path(__file__).with_name("examples.json").read_text("utf-8"))
    for example, target in json.loads(examples).items():
        transport = "http" if target[0].startswith("http://") else "stdio"
        for wanted in revisions.split(","):
            failure = None
            try:
                await visit(steps[example], wanted, target)
            except (Exception, BaseExceptionGroup) as error:
                failure = error
            report(f"{NAME}, {wanted}, {transport}, {example}", failure)


async def visit(steps: list[dict], wanted: str, target) -> None:
    revision = STATELESS if wanted == "auto" else wanted
    host = Host()
    connect = open_session if Client is None else open_client
    async with connect(wanted, target, host) as (client, agreed):
        expect(agreed, revision, "revision")
        visit = Visit(client, host, revision)
        for step in steps:
            # Revisions are dates, so their order is that of their text.
            if revision < step.get("since", ""):
                continue
            try:
                with anyio.fail_after(STEP_SECONDS):
                    await getattr(visit, step["do"])(step)
            except (Exception, BaseExceptionGroup) as error:
                while isinstance(error, BaseExceptionGroup):
                    error = error.exceptions[0]
                subject = step.get("tool") or step.get("uri") or step.get("name") or ""
                raise AssertionError(f"{step['do']} {subject}: {type(error).__name__}: {error}") from error


@asynccontextmanager
async def open_session(revision: str, target, host):
    # There is no setting for an older offer than the newest.
    types.LATEST_PROTOCOL_VERSION = revision
    url = target[0] if target[0].startswith("http://") else None
    opened = streamable_http_client(url) if url else stdio_client(parameters(target))
    async with opened as (read, write, *_):
        async with ClientSession(read, write, **host.callbacks()) as session:
            agreed = await session.initialize()
            yield session, agreed.protocolVersion


@asynccontextmanager
async def open_client(revision: str, target, host):
    mode = revision
    if revision not in ("auto", STATELESS):
        mcp.client.session.LATEST_HANDSHAKE_VERSION = revision
        mode = "legacy"
    server = target[0] if target[0].startswith("http://") else parameters(target)
    async with Client(server, mode=mode, log_level="debug", **host.callbacks()) as client:
        yield client, client.protocol_version


def parameters(command) -> StdioServerParameters:
    return StdioServerParameters(command=command[0], args=list(command[1:]))


class Host:
    """The application around a client: it answers what a server asks and counts what it is told."""

    def __init__(self) -> None:
        self.asked: Counter = Counter()
        self.told: Counter = Counter()

    def callbacks(self) -> dict:
        return {
            "elicitation_callback": self.elicit,
            "sampling_callback": self.sample,
            "list_roots_callback": self.roots,
            "logging_callback": self.log,
            "message_handler": self.message,
        }

    async def elicit(self, context, params):
        self.asked["elicitation"] += 1
        return await python_client.answer_form(context, params)

    async def sample(self, _context, _params):
        self.asked["sampling"] += 1
        content = types.TextContent(type="text", text="Paris")
        return types.CreateMessageResult(role="assistant", content=content, model="none")

    async def roots(self, _context):
        self.asked["roots"] += 1
        return types.ListRootsResult(roots=[types.Root(uri="file:///project", name="project")])

    async def log(self, _params) -> None:
        self.told["log"] += 1

    async def message(self, message) -> None:
        # The 1.x line wraps a notification.
        inner = getattr(message, "root", message)
        if isinstance(inner, types.ToolListChangedNotification):
            self.told["tools"] += 1
        if isinstance(inner, types.ResourceUpdatedNotification):
            self.told["updated"] += 1


class Visit:
    """One connection; a method for each kind of step."""

    def __init__(self, client, host: Host, revision: str) -> None:
        self.client, self.host, self.handshake = client, host, revision < STATELESS
        self.kept = None
        # The 2.x line knows no tasks.
        self.knows_tasks = Client is None and revision == "2025-11-25"

    async def tools(self, step) -> None:
        includes([tool.name for tool in (await self.client.list_tools()).tools], step["has"])

    async def call(self, step) -> None:
        before = self.host.asked[step.get("asks")]
        result = await self.send(step)
        text = text_of(result.content)
        expect(is_error(result), "error" in step, f"is_error of {text}")
        contains(text, step.get("error", step.get("contains", "")))
        expect(text, step.get("text", text), "text")
        kinds = [block.type for block in result.content]
        expect(kinds, step.get("kinds", kinds), "kinds")
        if "asks" in step:
            expect(self.host.asked[step["asks"]] - before, step.get("times", 1), "times asked")
        if "keep" in step:
            self.kept = json.loads(text)[step["keep"]]

    async def task(self, step) -> None:
        """A client that knows no tasks waits for the answer."""
        if not self.knows_tasks:
            await self.call(step)
            return
        tasks = self.client.experimental
        created = await tasks.call_tool_as_task(step["tool"], step["arguments"])
        async for _ in tasks.poll_task(created.task.taskId):
            pass
        result = await tasks.get_task_result(created.task.taskId, types.CallToolResult)
        contains(text_of(result.content), step["contains"])

    async def large(self, step) -> None:
        await self.gives(step, "x" * step["size"])

    async def together(self, step) -> None:
        async with anyio.create_task_group() as group:
            for index in range(step["times"]):
                group.start_soon(self.gives, step, f"call {index}")

    async def gives(self, step, text: str) -> None:
        result = await self.client.call_tool(step["tool"], {step["argument"]: text})
        if text_of(result.content) != text:
            raise AssertionError(f"the text changed: {text_of(result.content)[:80]}")

    async def cancel(self, step) -> None:
        """A call that is answered while the slow one runs shows that the slow one is under way."""
        answered = []

        async def slow() -> None:
            answered.append(await self.send(step))

        # The 1.x line counts its requests, and leaves it to the application to tell the server.
        request_id = getattr(self.client, "_request_id", None)
        async with anyio.create_task_group() as group:
            group.start_soon(slow)
            await anyio.lowlevel.checkpoint()
            await self.call(step["meanwhile"])
            group.cancel_scope.cancel()
        expect(answered, [], "answers")
        if Client is None:
            params = types.CancelledNotificationParams(requestId=request_id)
            notification = types.CancelledNotification(method="notifications/cancelled", params=params)
            await self.client.send_notification(types.ClientNotification(notification))

    async def refused(self, step) -> None:
        """Refused either way counts: as a JSON-RPC error, or as a result that says so."""
        try:
            result = await self.send(step)
        except Exception as error:
            expect(hasattr(error, "error") or hasattr(error, "code"), True, f"has a code: {error!r}")
            return
        expect(is_error(result), True, "is_error")

    async def progress(self, step) -> None:
        seen = []

        async def note(progress, _total, _message) -> None:
            seen.append(progress)

        await self.send(step, progress_callback=note)
        expect(len(seen) >= step["times"], True, f"at least {step['times']} among {seen}")
        expect(seen, sorted(seen), "order")

    async def log(self, step) -> None:
        if self.handshake:
            await self.client.set_logging_level("debug")
        before = self.host.told["log"]
        await self.send(step)
        await until(lambda: self.host.told["log"] - before >= step["times"], "log messages")

    async def resources(self, step) -> None:
        listed = (await self.client.list_resources()).resources
        includes([str(resource.uri) for resource in listed], step["has"])

    async def templates(self, step) -> None:
        listed = await self.client.list_resource_templates()
        templates = getattr(listed, "resource_templates", None) or listed.resourceTemplates
        includes([getattr(one, "uri_template", None) or one.uriTemplate for one in templates], step["has"])

    async def read(self, step) -> None:
        [content] = (await self.client.read_resource(step["uri"])).contents
        expect(str(content.uri), step["uri"], "uri")
        expect(hasattr(content, "blob"), step.get("blob", False), "is binary")
        contains(getattr(content, "text", ""), step.get("contains", ""))

    async def subscribe(self, step) -> None:
        if self.handshake:
            await self.client.subscribe_resource(step["uri"])
            await self.hears("updated", step)
            await self.client.unsubscribe_resource(step["uri"])
            return
        async with self.client.listen(resource_subscriptions=[step["uri"]]) as subscription:
            expect(list(subscription.honored.resource_subscriptions or ()), [step["uri"]], "agreed to")
            await self.send(step)
            await anext(subscription)

    async def prompts(self, step) -> None:
        includes([prompt.name for prompt in (await self.client.list_prompts()).prompts], step["has"])

    async def prompt(self, step) -> None:
        before = self.host.asked[step.get("asks")]
        result = await self.client.get_prompt(step["name"], step["arguments"])
        if "asks" in step:
            expect(self.host.asked[step["asks"]] - before, 1, "times asked")
        contains(text_of([message.content for message in result.messages]), step["contains"])

    async def complete(self, step) -> None:
        ref = types.PromptReference(type="ref/prompt", name=step["prompt"])
        result = await self.client.complete(ref, {"name": step["argument"], "value": step["value"]})
        includes(result.completion.values, step["has"])

    async def changed(self, step) -> None:
        if not self.handshake:
            async with self.client.listen(tools_list_changed=True) as subscription:
                await self.send(step)
                await anext(subscription)
            return
        await self.hears("tools", step)

    async def hears(self, what: str, step) -> None:
        before = self.host.told[what]
        await self.send(step)
        await until(lambda: self.host.told[what] > before, "word of the change")

    async def send(self, step, **options):
        given = {name: self.kept if value == "$id" else value for name, value in step["arguments"].items()}
        return await self.client.call_tool(step["tool"], given, **options)


def text_of(content) -> str:
    return "".join(getattr(block, "text", "") for block in content)


def contains(text: str, part: str) -> None:
    expect(part in text, True, f"{part!r} in {text[:200]!r}")


def includes(names: list[str], wanted: list[str]) -> None:
    expect([name for name in wanted if name not in names], [], f"missing among {names}")


async def until(condition, what: str) -> None:
    with anyio.move_on_after(PATIENCE_SECONDS):
        while not condition():
            await anyio.sleep(POLL_SECONDS)
        return
    raise AssertionError(f"no {what} within {PATIENCE_SECONDS} s")


if __name__ == "__main__":
    # The 2.x line warns of what the stateless era has not; the older revisions are for that.
    warnings.simplefilter("ignore")
    anyio.run(main, *sys.argv[1:])
    sys.exit(1 if python_client.failed else 0)
