// Paths and queries of pages: what is shown is in the address, so that it can be shared.
import { useEffect, useState } from "../vendor/htm-preact.js";

const listeners = new Set();
const tell = () => listeners.forEach((each) => each());

export function navigate(to, { replace = false } = {}) {
  const now = location.pathname + location.search;
  if (to === now) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  if (!replace) scrollTo(0, 0);
  tell();
}

export function useLocation() {
  const [, again] = useState(0);
  useEffect(() => {
    const changed = () => again((n) => n + 1);
    listeners.add(changed);
    return () => listeners.delete(changed);
  }, []);
  return { path: location.pathname, params: new URLSearchParams(location.search) };
}

// Change some values of the query; those that are empty leave the address.
export function setParams(changes, { replace = true } = {}) {
  const params = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === null || value === "" || value === false)
      params.delete(name);
    else params.set(name, String(value));
  }
  const text = params.toString();
  navigate(location.pathname + (text ? "?" + text : ""), { replace });
}

export function followLinks() {
  addEventListener("popstate", tell);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (
      !link ||
      event.defaultPrevented ||
      event.button ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey
    )
      return;
    if (link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (link.pathname.startsWith("/api/") || link.pathname.startsWith("/static/")) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}

export const topicPath = (name, tab) =>
  `/topics/${encodeURIComponent(name)}${tab ? `?tab=${tab}` : ""}`;
export const pipelinePath = (id) => `/pipeline?id=${encodeURIComponent(id)}`;
export const connectorPath = (name) => `/connector?name=${encodeURIComponent(name)}`;
export const subjectPath = (name) => `/subject?name=${encodeURIComponent(name)}`;
export const groupPath = (id) => `/group?id=${encodeURIComponent(id)}`;
