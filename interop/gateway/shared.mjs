// What the servers of both TypeScript SDKs have in common: words, and who waits.

import { setTimeout as sleep } from "node:timers/promises";

/** A block of each kind. */
export function media(scheme) {
  const uri = `${scheme}://today`;
  return [
    { type: "text", text: "an image, a sound, a link and a note" },
    { type: "image", data: PIXEL, mimeType: "image/png", annotations: { audience: ["user"], priority: 0.5 } },
    { type: "audio", data: SILENCE, mimeType: "audio/wav" },
    { type: "resource_link", uri, name: "today", mimeType: "text/plain" },
    { type: "resource", resource: { uri, mimeType: "text/plain", text: "note of today" } },
  ];
}

export const NAME_FORM = {
  type: "object",
  properties: { name: { type: "string", title: "Name", minLength: 1 } },
  required: ["name"],
};

export function text(value) {
  return { content: [{ type: "text", text: String(value) }] };
}

export function question(prompt) {
  return { messages: [{ role: "user", content: { type: "text", text: prompt } }], maxTokens: 100 };
}

/** Some libraries drop progress that comes together with the answer. */
export function later() {
  return sleep(100);
}

/** Names that fit what was typed. */
export function suggest(typed) {
  return ["Ada", "Alan", "Grace"].filter((name) => name.toLowerCase().startsWith(typed.toLowerCase()));
}

/** Calls that wait until they are cancelled, by the key that their callers gave them. */
export class Waiting {
  started = new Set();
  stopped = new Set();

  until(signal, key) {
    this.started.add(key);
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        this.stopped.add(key);
        reject(new Error("cancelled"));
      });
    });
  }
}

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
