// A person at a browser as far as a login needs one: follows redirects, keeps cookies, fills in
// every form and sends it, until there is none left. `node cli_browser.mjs URL` prints the last page.

const cookies = new Map();
let [, , url] = process.argv;
let form;

for (let pages = 0; pages < 20; pages += 1) {
  const response = await fetch(url, {
    method: form ? "POST" : "GET",
    body: form,
    headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
    redirect: "manual",
  });
  for (const cookie of response.headers.getSetCookie()) {
    const [, name, value] = cookie.match(/^([^=]+)=([^;]*)/);
    cookies.set(name, value);
  }
  const text = await response.text();
  const location = response.headers.get("location");
  form = undefined;
  if (location) {
    url = new URL(location, url).href;
    continue;
  }
  const [, attributes, fields] = text.match(/<form([^>]*)>([^]*?)<\/form>/) ?? [];
  if (attributes === undefined) {
    console.log(text);
    process.exit(response.ok ? 0 : 1);
  }
  form = new URLSearchParams();
  for (const [field] of fields.matchAll(/<input[^>]*>/g)) {
    const of = (name) => field.match(new RegExp(`\\b${name}="([^"]*)"`))?.[1];
    if (of("name")) form.set(of("name"), of("value") ?? "alice");
  }
  url = new URL(attributes.match(/action="([^"]*)"/)?.[1] ?? url, url).href;
}
console.error("it does not come to an end");
process.exit(1);
