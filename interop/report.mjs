// How a script tells the runner what it found: one line per check on stdout.
//
//     ok <name>
//     FAILED <name>: <reason>
//     skipped <name>: <reason>

let failed = false;

/** Runs one check and prints its line; a check that takes too long has failed. */
export async function check(name, body, deadline = DEADLINE_MS) {
  try {
    await withDeadline(body(), deadline);
    console.log(`ok ${name}`);
  } catch (error) {
    failed = true;
    console.log(`FAILED ${name}: ${oneLine(error)}`);
  }
}

export function skip(name, reason) {
  console.log(`skipped ${name}: ${reason}`);
}

export function expect(actual, wanted, what) {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(wanted)];
  if (left !== right) throw new Error(`${what}: wanted ${right}, came ${left}`);
}

/** Ends the process even if a peer keeps a handle open. */
export function finish() {
  process.exit(failed ? 1 : 0);
}

/** What comes of a promise, or an error when it takes too long. */
export function withDeadline(promise, deadline) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no outcome within ${deadline} ms`)), deadline);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function oneLine(error) {
  return String(error?.message ?? error).replaceAll(/\s+/g, " ");
}

const DEADLINE_MS = 20_000;
