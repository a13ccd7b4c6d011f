// What all pages are made of.
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { setParams } from "./route.js";

export const Badge = ({ kind = "", children }) =>
  html`<span class=${"badge " + kind}>${children}</span>`;

const STATES = {
  Stable: "good",
  Empty: "quiet",
  Dead: "quiet",
  up: "good",
  RUNNING: "good",
  running: "good",
  done: "good",
  PAUSED: "quiet",
  STOPPED: "quiet",
  FAILED: "bad",
  failed: "bad",
  died: "bad",
  lost: "bad",
  stopped: "quiet",
  down: "bad",
  fenced: "bad",
  unreachable: "bad",
  "not registered": "bad",
};
export const State = ({ of }) => html`<${Badge} kind=${STATES[of] ?? "warning"}>${of}<//>`;

export function ErrorBox({ error, retry }) {
  if (!error) return null;
  return html`<div class="notice bad" role="alert"><div><strong>${error.message}</strong>${error.hint ? html`<p>${error.hint}</p>` : null}</div>
    ${retry ? html`<button type="button" onClick=${retry}>Try again</button>` : null}</div>`;
}

export const Empty = ({ title, children }) =>
  html`<div class="empty"><p class="empty-title">${title}</p><div class="muted">${children}</div></div>`;

export const Loading = ({ what }) =>
  html`<p class="muted loading" role="status">Loading ${what}…</p>`;

export const Fact = ({ name, children, title }) =>
  html`<div class="fact" title=${title}><dt>${name}</dt><dd>${children}</dd></div>`;

export function Tabs({ tabs, current, param = "tab" }) {
  return html`<nav class="tabs" aria-label="Sections">${tabs.map(
    ([id, label]) => html`
    <a key=${id} href=${linkWith(param, id, tabs[0][0])} aria-current=${id === current ? "page" : undefined}>${label}</a>`,
  )}</nav>`;
}

function linkWith(name, value, first) {
  const params = new URLSearchParams();
  for (const kept of ["id"])
    if (new URLSearchParams(location.search).has(kept))
      params.set(kept, new URLSearchParams(location.search).get(kept));
  if (value !== first) params.set(name, value);
  const text = params.toString();
  return location.pathname + (text ? "?" + text : "");
}

// A heading that sorts; `columns` are [key, label, numeric?]; a key of null does not sort.
export function SortHead({ columns, sort, descending }) {
  const turn = (key, numeric) =>
    setParams({ sort: key, desc: sort === key ? !descending : numeric, page: null });
  return html`<thead><tr>${columns.map(
    ([key, label, numeric]) => html`
    <th scope="col" class=${numeric ? "num" : ""} aria-sort=${key && sort === key ? (descending ? "descending" : "ascending") : undefined}>
      ${key ? html`<button type="button" class="sort" onClick=${() => turn(key, Boolean(numeric))}>${label}<span aria-hidden="true" class="arrow">${sort === key ? (descending ? "↓" : "↑") : ""}</span></button>` : label}
    </th>`,
  )}</tr></thead>`;
}

export function Pager({ page, size, total }) {
  const pages = Math.max(1, Math.ceil(total / size));
  if (pages === 1) return null;
  const go = (to) => setParams({ page: to === 1 ? null : to });
  return html`<nav class="pager" aria-label="Pages">
    <button type="button" disabled=${page <= 1} onClick=${() => go(page - 1)}>Previous</button>
    <span>Page ${page} of ${pages}</span>
    <button type="button" disabled=${page >= pages} onClick=${() => go(page + 1)}>Next</button></nav>`;
}

export function SearchBox({ value, onSearch, label, placeholder }) {
  const [text, setText] = useState(value);
  const timer = useRef();
  useEffect(() => setText(value), [value]);
  const typed = (event) => {
    const next = event.target.value;
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onSearch(next), 150);
  };
  return html`<input id="search" type="search" class="search" aria-label=${label} placeholder=${placeholder ?? label + "  ( / )"}
    value=${text} onInput=${typed} autocomplete="off" spellcheck=${false} />`;
}

export function Modal({ title, onClose, children, wide }) {
  const ref = useRef();
  useEffect(() => {
    ref.current?.showModal();
  }, []);
  return html`<dialog ref=${ref} class=${wide ? "wide" : ""} aria-label=${title} onClose=${onClose}
      onClick=${(event) => {
        if (event.target === ref.current) ref.current.close();
      }}>
    <div class="dialog-body"><header class="dialog-head"><h2>${title}</h2>
      <button type="button" class="plain" aria-label="Close" onClick=${() => ref.current.close()}>✕</button></header>${children}</div></dialog>`;
}

// A change: asks, sends, says what went wrong, and stays open until it has worked.
export function ActionForm({ submit, label, danger, disabled, children, onDone }) {
  const [state, setState] = useState({ busy: false, error: null });
  const send = async (event) => {
    event.preventDefault();
    setState({ busy: true, error: null });
    try {
      const result = await submit(new FormData(event.target));
      setState({ busy: false, error: null });
      onDone?.(result);
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  return html`<form onSubmit=${send} class="form">${children}<${ErrorBox} error=${state.error} />
    <div class="form-end"><button class=${danger ? "danger" : "primary"} disabled=${state.busy || disabled}>${state.busy ? "Working…" : label}</button></div></form>`;
}

// What can't be undone needs the name once more.
export function ConfirmName({ name, label, onSubmit, onDone, children }) {
  const [typed, setTyped] = useState("");
  return html`<${ActionForm} danger label=${label} disabled=${typed !== name} submit=${() => onSubmit(typed)} onDone=${onDone}>
    ${children}<label>Type <code>${name}</code> to confirm
      <input value=${typed} onInput=${(e) => setTyped(e.target.value)} autocomplete="off" spellcheck=${false} /></label><//>`;
}

let toastTarget = () => {};
export const toast = (text, kind = "good") => toastTarget({ text, kind });

export function Toasts() {
  const [shown, setShown] = useState(null);
  useEffect(() => {
    let timer;
    toastTarget = (next) => {
      clearTimeout(timer);
      setShown(next);
      timer = setTimeout(() => setShown(null), 5000);
    };
  }, []);
  return html`<div class="toasts" role="status" aria-live="polite">${shown ? html`<div class=${"toast " + shown.kind}>${shown.text}</div>` : null}</div>`;
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied ${what}.`);
  } catch {
    toast("The browser does not allow copying here; use the download.", "bad");
  }
}
