// The Inspector's page before the gateway, in a browser: what somebody sees who calls a tool, and one that asks.
//
//     node inspector.mjs <address of the page> <browser> <folder for the pictures>

// It comes with @playwright/mcp.
import { chromium } from "playwright-core";

const [, , address, executablePath, folder] = process.argv;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
page.setDefaultTimeout(30_000);

await page.goto(address);
await page.locator("label:has(input[role=switch])").first().click();
await page.getByText("Tools", { exact: true }).first().click();

await choose("everything__get-sum");
await page.getByLabel(/^a\b/).fill("2");
await page.getByLabel(/^b\b/).fill("40");
await execute();
await page.getByText("The sum of 2 and 40 is 42").first().waitFor();
await page.getByText("Protocol", { exact: true }).click();
await take("inspector-call");

await choose("everything__trigger-elicitation-request");
await execute();
await page.getByText("Your full, legal name").first().waitFor();
await take("inspector-form");
await browser.close();

async function choose(tool) {
  await page.getByPlaceholder("Search tools...").fill(tool.split("__")[1]);
  await page.getByText(tool, { exact: true }).click();
}

function execute() {
  return page.getByRole("button", { name: "Execute Tool" }).click();
}

async function take(name) {
  // What moves is at rest then.
  await page.waitForTimeout(1000);
  await page.screenshot({ path: `${folder}/${name}.png`, animations: "disabled" });
}
