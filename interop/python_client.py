"""The Python SDK as a client of our server; runs with the 1.x and the 2.x line.

    python python_client.py <command> [argument …]

Prints one line per check, as report.mjs describes.
"""

import sys
import warnings
from contextlib import asynccontextmanager

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

try:
    from mcp import Client
except ImportError:
    Client = None

DEADLINE_SECONDS = 20
failed = False
questions: list[str] = []


async def main(command: list[str]) -> None:
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    if Client is None:
        await talk("python sdk 1.x", open_session(parameters), "2025-11-25", ping=True)
        return
    for mode, revision in [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]:
        connection = open_client(parameters, mode)
        await talk(f"python sdk 2.x, {mode}", connection, revision, ping=mode == "legacy")


async def talk(label: str, connection, revision: str, ping: bool) -> None:
    """Everything one connection is put through."""
    tools: list[str] = []
    try:
        with anyio.fail_after(3 * DEADLINE_SECONDS):
            async with connection as (client, negotiated):

                async def opens() -> None:
                    expect(negotiated, revision, "revision")

                async def pings() -> None:
                    await client.send_ping()

                async def lists() -> None:
                    tools.extend(tool.name for tool in (await client.list_tools()).tools)
                    expect("echo" in tools, True, f"echo among {tools}")

                async def cancels() -> None:
                    # Whether it has reached the wire or not, nothing may be left behind.
                    with anyio.CancelScope() as scope:
                        async with anyio.create_task_group() as group:
                            group.start_soon(echoes, client, "never mind")
                            await anyio.lowlevel.checkpoint()
                            scope.cancel()
                    await echoes(client, "still here")

                async def together() -> None:
                    async with anyio.create_task_group() as group:
                        for index in range(50):
                            group.start_soon(echoes, client, f"call {index}")

                async def asks() -> None:
                    before = len(questions)
                    result = await client.call_tool("ask", {})
                    expect(is_error(result), False, "is_error")
                    expect(len(questions) - before, 1, "times asked")

                await check(f"{label}: open", opens)
                if ping:
                    await check(f"{label}: ping", pings)
                await check(f"{label}: tools/list", lists)
                await check(f"{label}: tools/call", lambda: echoes(client, "hello"))
                await check(
                    f"{label}: text beyond ASCII and newlines arrive unchanged",
                    lambda: echoes(client, 'żółw 🐢 "quoted"\r\nsecond line\u2028third'),
                )
                await check(f"{label}: a large text arrives unchanged", lambda: echoes(client, "x" * (1 << 20)))
                await check(f"{label}: calls in flight at once each get their own answer", together)
                await check(f"{label}: an unknown tool is refused", lambda: refused(client))
                await check(f"{label}: a cancelled call leaves the connection usable", cancels)
                name = f"{label}: a tool that asks the user gets the answer"
                if "ask" in tools:
                    await check(name, asks)
                else:
                    print(f"skipped {name}: the server lists no tool named ask", flush=True)
    except (Exception, BaseExceptionGroup) as error:
        report(f"{label}: connection", error)
    else:
        report(f"{label}: close", None)


@asynccontextmanager
async def open_session(parameters):
    async with stdio_client(parameters) as (read, write):
        async with ClientSession(read, write, elicitation_callback=answer_form) as session:
            opened = await session.initialize()
            yield session, opened.protocolVersion


@asynccontextmanager
async def open_client(parameters, mode: str):
    async with Client(parameters, mode=mode, elicitation_callback=answer_form) as client:
        yield client, client.protocol_version


async def answer_form(_context, params) -> types.ElicitResult:
    """Accepts any form, with a plausible value in every field."""
    questions.append(params.message)
    schema = getattr(params, "requested_schema", None) or getattr(params, "requestedSchema", None) or {}
    content = {name: plausible(field) for name, field in schema.get("properties", {}).items()}
    return types.ElicitResult(action="accept", content=content)


def plausible(field: dict):
    if "default" in field:
        return field["default"]
    if "enum" in field:
        return field["enum"][0]
    if "oneOf" in field:
        return field["oneOf"][0]["const"]
    return {"boolean": True, "number": 1, "integer": 1, "array": []}.get(field.get("type"), "Ada")


async def echoes(client, text: str) -> None:
    result = await client.call_tool("echo", {"text": text})
    expect([block.type for block in result.content], ["text"], "blocks")
    if result.content[0].text != text:
        raise AssertionError(f"the text changed: {result.content[0].text[:80]}")


async def refused(client) -> None:
    """Refused either way counts: as a JSON-RPC error, or as a result that says so."""
    try:
        result = await client.call_tool("no-such-tool", {})
    except Exception as error:
        expect(hasattr(error, "error") or hasattr(error, "code"), True, f"has a code: {error!r}")
        return
    expect(is_error(result), True, "is_error")


def is_error(result) -> bool:
    return bool(getattr(result, "is_error", None) or getattr(result, "isError", None))


def expect(actual, wanted, what: str) -> None:
    if actual != wanted:
        raise AssertionError(f"{what}: wanted {wanted!r}, came {actual!r}")


async def check(name: str, body) -> None:
    try:
        with anyio.fail_after(DEADLINE_SECONDS):
            await body()
    except Exception as error:
        report(name, error)
    else:
        report(name, None)


def report(name: str, error: BaseException | None) -> None:
    global failed
    if error is None:
        print(f"ok {name}", flush=True)
        return
    failed = True
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    print(f"FAILED {name}: {reason}", flush=True)


if __name__ == "__main__":
    # The 2.x line warns that ping has gone; that is what the legacy mode is for.
    warnings.simplefilter("ignore")
    anyio.run(main, sys.argv[1:])
    sys.exit(1 if failed else 0)
