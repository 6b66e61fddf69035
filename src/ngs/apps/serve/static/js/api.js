// Requests to the server, and their failures in words.

const ATTEMPTS = 5; // while the server is busy
const PATIENCE = 10; // seconds between them at most, whatever the server says
const AGAIN = 5; // seconds until a lost stream is asked for again

export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export const get = (path) => request(path, {});

export const post = (path, body = {}) =>
  request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

async function request(path, options) {
  let response = await sent(path, options);
  for (let attempt = 1; response.status === 503 && attempt < ATTEMPTS; attempt++) {
    const seconds = Number(response.headers.get("Retry-After")) || 1;
    await new Promise((resolve) => setTimeout(resolve, 1000 * Math.min(seconds, PATIENCE)));
    response = await sent(path, options);
  }
  const body = await response.json().catch(() => null);
  if (!response.ok) throw new Refused(body?.error ?? `The server refused this (${response.status}).`, response.status);
  return body;
}

async function sent(path, options) {
  try {
    return await fetch(`/api${path}`, { credentials: "same-origin", ...options });
  } catch {
    throw new Refused("The server does not answer. Is `ngs serve` still running?", 0);
  }
}

// A call of which only the newest counts: the answer or failure of one that a newer has overtaken is undefined.
export function latest(call) {
  let newest = 0;
  return async (...args) => {
    const mine = ++newest;
    const current = () => mine === newest;
    try {
      const answer = await call(...args);
      return current() ? answer : undefined;
    } catch (error) {
      if (current()) throw error;
      return undefined;
    }
  };
}

// Server-sent events: `row(data, id)` for each message, `done` after the last, `others` by name. A browser resumes an
// interrupted stream by itself, but not one that was refused: then `lost` is called, and `path()` requested again.
export function follow(path, { row, done, lost, ...others }) {
  let source = null;
  let timer = 0;
  const stop = () => {
    clearTimeout(timer);
    source.close();
  };
  const start = () => {
    source = new EventSource(`/api${path()}`);
    source.addEventListener("message", (event) => row(JSON.parse(event.data), event.lastEventId));
    source.addEventListener("done", () => {
      stop();
      done();
    });
    for (const [name, listener] of Object.entries(others)) source.addEventListener(name, listener);
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(start, 1000 * AGAIN);
      lost();
    });
  };
  start();
  return stop;
}
