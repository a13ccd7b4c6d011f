// One helper for all requests: errors have a message and a hint, polls stop while nobody looks.
import { useCallback, useEffect, useRef, useState } from "../vendor/htm-preact.js";

export const session = { token: null, current: null, onSignedOut: () => {} };

export class ApiError extends Error {
  constructor(status, message, hint) {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}

export async function api(path, { method = "GET", body, signal } = {}) {
  const headers = {};
  if (method !== "GET") headers["X-Barnabas-Token"] = session.token ?? "";
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(
      0,
      "The console does not answer.",
      "Check that `barnabas console` is still running; this page tries again.",
    );
  }
  return read(response);
}

async function read(response) {
  if (response.ok) return response.json();
  let said = {};
  try {
    said = (await response.json()).error ?? {};
  } catch {
    /* not ours: a proxy, perhaps */
  }
  if (response.status === 401 && session.current?.signed_in) session.onSignedOut();
  throw new ApiError(
    response.status,
    said.message || `The console answered ${response.status}.`,
    said.hint || "",
  );
}

export const query = (values) => {
  const given = Object.entries(values).filter(
    ([, v]) => v !== undefined && v !== null && v !== "" && v !== false,
  );
  return given.length ? "?" + new URLSearchParams(given.map(([k, v]) => [k, String(v)])) : "";
};

// What a path answers, again and again; the last answer stays while the next one is on its way.
export function usePoll(path, everyMs = 0) {
  const [state, setState] = useState({ data: null, error: null, path: null });
  const refresh = useRef(() => {});
  useEffect(() => {
    if (!path) return undefined;
    let timer,
      controller,
      ended = false;
    const load = async () => {
      clearTimeout(timer);
      controller?.abort();
      controller = new AbortController();
      try {
        const data = await api(path, { signal: controller.signal });
        if (!ended) setState({ data, error: null, path });
      } catch (error) {
        if (ended || error.name === "AbortError") return;
        setState((before) => ({ data: before.path === path ? before.data : null, error, path }));
      }
      if (!ended && everyMs && !document.hidden) timer = setTimeout(load, everyMs);
    };
    const wake = () => {
      if (!document.hidden && everyMs) load();
    };
    refresh.current = load;
    document.addEventListener("visibilitychange", wake);
    load();
    return () => {
      ended = true;
      clearTimeout(timer);
      controller?.abort();
      document.removeEventListener("visibilitychange", wake);
    };
  }, [path, everyMs]);
  const stable = useCallback(() => refresh.current(), []);
  const fresh = state.path === path;
  return { data: state.data, error: fresh ? state.error : null, loading: !fresh, refresh: stable };
}

// Lines of JSON as they come; returns a function that stops.
export function stream(path, { onLine, onEnd }) {
  const controller = new AbortController();
  (async () => {
    try {
      const response = await fetch(path, { signal: controller.signal });
      if (!response.ok) await read(response);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        const parsed = lines.filter(Boolean).map((line) => JSON.parse(line));
        if (parsed.length) onLine(parsed);
      }
      onEnd(null);
    } catch (error) {
      onEnd(error.name === "AbortError" ? null : error);
    }
  })();
  return () => controller.abort();
}
