// Numbers, sizes, times and hostile text, as people read them.
import { html } from "../vendor/htm-preact.js";

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const count = (n) => (n === null || n === undefined ? "–" : whole.format(n));
export const compact = (n) =>
  n === null || n === undefined
    ? "–"
    : Math.abs(n) < 10000
      ? whole.format(Math.round(n))
      : short.format(n);

export function rate(n) {
  if (n === null || n === undefined) return "–";
  if (n > 0 && n < 0.05) return "<0.1";
  if (n > 0 && n < 10) return n.toFixed(1);
  return compact(n);
}

export function bytes(n) {
  if (n === null || n === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (n >= 1000 && at < units.length - 1) {
    n /= 1000;
    at += 1;
  }
  return `${at === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[at]}`;
}

// With `brief`, in one unit, as the axis of a plot has it.
export function duration(ms, brief = false) {
  if (ms === null || ms === undefined) return "–";
  const s = ms / 1000;
  if (brief && s >= 60)
    return s < 7200
      ? `${round(s / 60)} min`
      : s < 172800
        ? `${round(s / 3600)} h`
        : `${round(s / 86400)} d`;
  if (s < 1) return `${Math.round(ms)} ms`;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.round((s % 86400) / 3600)} h`;
}

const round = (n) => Math.round(n * 10) / 10;
const two = (n) => String(n).padStart(2, "0");

// In the viewer's zone; the date only where it is not today.
export function time(ms, { precise = false } = {}) {
  if (ms === null || ms === undefined || ms < 0) return "–";
  const at = new Date(ms),
    now = new Date();
  const clock =
    `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}` +
    (precise ? `.${String(at.getMilliseconds()).padStart(3, "0")}` : "");
  const today = at.toDateString() === now.toDateString();
  return today
    ? clock
    : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock}`;
}

export const iso = (ms) => {
  try {
    return new Date(ms).toISOString();
  } catch {
    return "";
  }
};
export const Time = ({ ms, precise }) =>
  html`<time datetime=${iso(ms)} title=${iso(ms)}>${time(ms, { precise })}</time>`;

// Control characters, and those that turn the direction of text, become visible marks.
const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]/g;

export function Visible({ text }) {
  if (!text) return null;
  const parts = [];
  let last = 0;
  for (const found of text.matchAll(INVISIBLE)) {
    if (found.index > last) parts.push(text.slice(last, found.index));
    const code = found[0].charCodeAt(0);
    parts.push(
      html`<span class="mark" title=${"control character U+" + code.toString(16).padStart(4, "0").toUpperCase()}>${code < 256 ? "\\x" + code.toString(16).padStart(2, "0") : "U+" + code.toString(16).toUpperCase()}</span>`,
    );
    last = found.index + 1;
    if (parts.length > 2000) break;
  }
  if (last < text.length) parts.push(text.slice(last));
  return html`<bdi>${parts}</bdi>`;
}

export function hexDump(data, limit = 4096) {
  const rows = [];
  for (let at = 0; at < Math.min(data.length, limit); at += 16) {
    const part = [...data.slice(at, at + 16)];
    const codes = part
      .map((b) => b.toString(16).padStart(2, "0"))
      .join(" ")
      .padEnd(47);
    const text = part.map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : "·")).join("");
    rows.push(`${at.toString(16).padStart(8, "0")}  ${codes}  ${text}`);
  }
  if (data.length > limit) rows.push(`… ${whole.format(data.length - limit)} more bytes`);
  return rows.join("\n");
}

export const fromHex = (text) =>
  Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
