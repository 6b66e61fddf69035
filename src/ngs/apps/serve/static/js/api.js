// Requests to the server, and their failures in words.

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
  let response;
  try {
    response = await fetch(`/api${path}`, { credentials: "same-origin", ...options });
  } catch {
    throw new Refused("The server does not answer. Is `ngs serve` still running?", 0);
  }
  const body = await response.json().catch(() => null);
  if (!response.ok) throw new Refused(body?.error ?? `The server refused this (${response.status}).`, response.status);
  return body;
}

// Runs one request at a time for its caller: an answer that a newer request has overtaken is undefined.
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

// Server-sent events: `row` for each message, `done` at the end, `others` by name. A lost connection is taken up again by the browser.
export function follow(path, row, done, others = {}) {
  const source = new EventSource(`/api${path}`);
  const end = () => {
    source.close();
    done();
  };
  source.addEventListener("message", (event) => row(JSON.parse(event.data)));
  source.addEventListener("done", end);
  for (const [name, listener] of Object.entries(others)) source.addEventListener(name, listener);
  source.addEventListener("error", () => source.readyState === EventSource.CLOSED && end());
  return () => source.close();
}
