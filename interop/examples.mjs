// What every TypeScript client does with our example servers: the steps of examples.json.
//
// The scripts beside this one open the connection: typescript_v1.mjs and
// typescript_v2.mjs. python_examples.py and rmcp/ take the same steps.

import { readFileSync } from "node:fs";

import { plausible } from "./plausible.mjs";
import { check, expect, withDeadline } from "./report.mjs";

const EXAMPLES = JSON.parse(readFileSync(new URL("./examples.json", import.meta.url), "utf8"));

/** `--examples {"NAME": SERVER, …} --revisions A,B`, or nothing of it but a command. */
export function readArguments(words) {
  if (words[0] !== "--examples") return { command: words };
  const [, examples, , revisions] = words;
  return { examples: JSON.parse(examples), revisions: revisions.split(",") };
}

/** Meets every example in every revision. A server is a command and its arguments, or an address. */
export async function meet(client, { examples, revisions }, visit) {
  for (const [example, server] of Object.entries(examples)) {
    const url = server[0].startsWith("http://") ? new URL(server[0]) : undefined;
    for (const revision of revisions) {
      const name = `${client}, ${revision}, ${url ? "http" : "stdio"}, ${example}`;
      await check(name, () => visit({ example, revision, url, command: server }), VISIT_DEADLINE_MS);
    }
  }
}

/** The application around a client: it answers what a server asks and counts what it is told. */
export class Host {
  asked = { elicitation: 0, sampling: 0, roots: 0 };
  told = { log: 0, tools: 0, updated: 0 };

  static capabilities = { elicitation: {}, sampling: {}, roots: { listChanged: true } };

  elicit(request) {
    this.asked.elicitation += 1;
    const fields = Object.entries(request.params.requestedSchema?.properties ?? {});
    return { action: "accept", content: Object.fromEntries(fields.map(([name, schema]) => [name, plausible(schema)])) };
  }

  sample() {
    this.asked.sampling += 1;
    return { role: "assistant", content: { type: "text", text: "Paris" }, model: "none", stopReason: "endTurn" };
  }

  roots() {
    this.asked.roots += 1;
    return { roots: [{ uri: "file:///project", name: "project" }] };
  }
}

/** Takes every step of an example that exists in this revision. The first that fails is named. */
export async function exercise(example, client, host, { revision, resultSchemaFirst }) {
  const visit = new Visit(client, host, revision, resultSchemaFirst);
  for (const step of EXAMPLES[example]) {
    // Revisions are dates, so their order is that of their text.
    if (step.since && revision < step.since) continue;
    try {
      await withDeadline(visit[step.do](step), STEP_DEADLINE_MS);
    } catch (error) {
      const subject = step.tool ?? step.uri ?? step.name ?? "";
      throw new Error(`${step.do} ${subject}: ${error?.message ?? error}`);
    }
  }
}

/** One connection; a method for each kind of step. */
class Visit {
  constructor(client, host, revision, resultSchemaFirst) {
    Object.assign(this, { client, host, resultSchemaFirst, handshake: revision < STATELESS });
    // The 2.x line leaves tasks to an extension that we do not use.
    this.knowsTasks = resultSchemaFirst && revision === "2025-11-25";
  }

  async tools({ has }) {
    includes((await this.client.listTools()).tools.map((tool) => tool.name), has);
  }

  async call(step) {
    const before = this.host.asked[step.asks];
    const result = await this.send(step);
    const text = textOf(result.content);
    expect(result.isError ?? false, step.error !== undefined, `isError of ${text}`);
    contains(text, step.error ?? step.contains ?? "");
    if (step.text !== undefined) expect(text, step.text, "text");
    if (step.kinds) expect(result.content.map((block) => block.type), step.kinds, "kinds");
    if (step.asks) expect(this.host.asked[step.asks] - before, step.times ?? 1, "times asked");
    if (step.keep) this.kept = JSON.parse(text)[step.keep];
  }

  // A client that knows no tasks waits for the answer.
  async task(step) {
    if (!this.knowsTasks) return this.call(step);
    const options = { task: { ttl: TASK_MS } };
    const messages = [];
    for await (const message of this.client.experimental.tasks.callToolStream(this.params(step), undefined, options)) {
      messages.push(message);
    }
    expect(messages[0].type, "taskCreated", "first message");
    contains(textOf(messages.at(-1).result?.content ?? []), step.contains);
  }

  async large({ tool, argument, size }) {
    await this.gives({ tool, arguments: { [argument]: "x".repeat(size) } }, argument);
  }

  async together({ tool, argument, times }) {
    const texts = Array.from({ length: times }, (_, index) => `call ${index}`);
    await Promise.all(texts.map((text) => this.gives({ tool, arguments: { [argument]: text } }, argument)));
  }

  async gives(step, argument) {
    const text = textOf((await this.send(step)).content);
    if (text !== step.arguments[argument]) throw new Error(`the text changed: ${text.slice(0, 80)}`);
  }

  // A call that is answered while the slow one runs shows that the slow one is under way.
  async cancel(step) {
    const abort = new AbortController();
    const slow = this.send(step, { signal: abort.signal }).then(() => "answered", () => "cancelled");
    await this.call(step.meanwhile);
    abort.abort("the user changed their mind");
    expect(await slow, "cancelled", "outcome");
  }

  // Refused either way counts: as a JSON-RPC error, or as a result that says so.
  async refused(step) {
    const result = await this.send(step).catch((error) => error);
    expect(Number.isInteger(result.code) || result.isError === true, true, "refused");
  }

  async progress(step) {
    const seen = [];
    await this.send(step, { onprogress: ({ progress }) => seen.push(progress) });
    expect(seen.length >= step.times, true, `at least ${step.times} among ${seen}`);
    expect(seen, seen.toSorted((left, right) => left - right), "order");
  }

  async log(step) {
    const before = this.host.told.log;
    if (this.handshake) await this.client.setLoggingLevel("debug");
    const meta = this.handshake ? undefined : { "io.modelcontextprotocol/logLevel": "debug" };
    await this.send(step, undefined, meta);
    await until(() => this.host.told.log - before >= step.times, "log messages");
  }

  async resources({ has }) {
    includes((await this.client.listResources()).resources.map((resource) => resource.uri), has);
  }

  async templates({ has }) {
    const { resourceTemplates } = await this.client.listResourceTemplates();
    includes(resourceTemplates.map((template) => template.uriTemplate), has);
  }

  async read(step) {
    const { contents } = await this.client.readResource({ uri: step.uri });
    expect(contents[0].uri, step.uri, "uri");
    expect(contents[0].blob !== undefined, step.blob ?? false, "is binary");
    contains(contents[0].text ?? "", step.contains ?? "");
  }

  async subscribe(step) {
    const { uri } = step;
    if (this.handshake) {
      await this.client.subscribeResource({ uri });
      await this.hears("updated", step);
      await this.client.unsubscribeResource({ uri });
      return;
    }
    const subscription = await this.client.listen({ resourceSubscriptions: [uri] });
    expect(subscription.honoredFilter.resourceSubscriptions, [uri], "agreed to");
    await this.hears("updated", step);
    await subscription.close();
  }

  async prompts({ has }) {
    includes((await this.client.listPrompts()).prompts.map((prompt) => prompt.name), has);
  }

  async prompt(step) {
    const before = this.host.asked[step.asks];
    const { messages } = await this.client.getPrompt({ name: step.name, arguments: step.arguments });
    if (step.asks) expect(this.host.asked[step.asks] - before, 1, "times asked");
    contains(textOf(messages.map((message) => message.content)), step.contains);
  }

  async complete({ prompt, argument, value, has }) {
    const params = { ref: { type: "ref/prompt", name: prompt }, argument: { name: argument, value } };
    includes((await this.client.complete(params)).completion.values, has);
  }

  async changed(step) {
    const subscription = this.handshake ? undefined : await this.client.listen({ toolsListChanged: true });
    await this.hears("tools", step);
    await subscription?.close();
  }

  async hears(what, step) {
    const before = this.host.told[what];
    await this.send(step);
    await until(() => this.host.told[what] > before, "word of the change");
  }

  // The 1.x line takes a result schema between the parameters and the options.
  send(step, options, _meta) {
    const params = { ...this.params(step), ...(_meta && { _meta }) };
    return this.resultSchemaFirst
      ? this.client.callTool(params, undefined, options)
      : this.client.callTool(params, options);
  }

  params({ tool, arguments: given }) {
    const filled = Object.entries(given).map(([name, value]) => [name, value === "$id" ? this.kept : value]);
    return { name: tool, arguments: Object.fromEntries(filled) };
  }
}

function textOf(content) {
  return content.map((block) => block.text ?? "").join("");
}

function contains(text, part) {
  if (!text.includes(part)) throw new Error(`no ${JSON.stringify(part)} in ${JSON.stringify(text.slice(0, 200))}`);
}

function includes(names, wanted) {
  expect(wanted.filter((name) => !names.includes(name)), [], `missing among ${names}`);
}

async function until(condition, what) {
  for (let waited = 0; !condition(); waited += POLL_MS) {
    if (waited > PATIENCE_MS) throw new Error(`no ${what} within ${PATIENCE_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

const STATELESS = "2026-07-28";
const STEP_DEADLINE_MS = 20_000;
const VISIT_DEADLINE_MS = 120_000;
const POLL_MS = 10;
const TASK_MS = 60_000;
const PATIENCE_MS = 10_000;
