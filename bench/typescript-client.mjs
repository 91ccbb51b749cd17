// The TypeScript SDK 2.x as a client. The contract is that of the Rust clients here:
//
//     node typescript-client.mjs (--cmd 'SERVER' | --url URL) --n N --conc C --payload BYTES [--era legacy|modern]
//
// It runs beside the packages that `interop/package.json` names.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const given = { n: 10_000, conc: 1, payload: 32 };
for (let words = process.argv.slice(2); words.length > 1; words = words.slice(2)) {
  given[words[0].replace(/^--/, "")] = words[1];
}
const count = Number(given.n);
const inFlight = Number(given.conc);
const bytes = Number(given.payload);

const [program, ...args] = (given.cmd ?? "").split(/\s+/);
const transport = given.url
  ? new StreamableHTTPClientTransport(new URL(given.url))
  : new StdioClientTransport({ command: program, args, stderr: "inherit" });
const mode = { legacy: "legacy", modern: { pin: "2026-07-28" } }[given.era] ?? "auto";
const client = new Client({ name: "bench", version: "1.0.0" }, { versionNegotiation: { mode } });
await client.connect(transport);

const warmUp = Math.max(Math.floor(count / 10), inFlight);
await drive(0, warmUp);
const cpu = process.cpuUsage();
const begun = process.hrtime.bigint();
const times = await drive(warmUp, count);
const elapsed = Number(process.hrtime.bigint() - begun) / 1e9;
const used = process.cpuUsage(cpu);
await client.close();

times.sort((one, other) => one - other);
const at = (share) => times[Math.min(Math.floor(times.length * share), times.length - 1)];
console.log(
  JSON.stringify({
    n: count,
    conc: inFlight,
    payload: bytes,
    elapsed_s: elapsed,
    per_s: count / elapsed,
    p50_us: at(0.5),
    p99_us: at(0.99),
    cpu_us_per_call: (used.user + used.system) / count,
  }),
);

async function drive(first, calls) {
  const times = [];
  let next = first;
  const worker = async () => {
    while (next < first + calls) {
      const number = String(next++).padStart(8, "0").slice(-8);
      const text = (number + "x".repeat(Math.max(bytes - 8, 0))).slice(0, bytes);
      const sent = process.hrtime.bigint();
      const result = await client.callTool({ name: "echo", arguments: { text } });
      times.push(Number(process.hrtime.bigint() - sent) / 1e3);
      if (result.content[0]?.text !== text) throw new Error(`not the text: ${JSON.stringify(result)}`);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return times;
}
