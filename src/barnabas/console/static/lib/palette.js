// Ctrl-K: go to anything by a part of its name.
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { query, usePoll } from "./api.js";
import { groupPath, navigate, pipelinePath, topicPath } from "./route.js";

export function Palette({ pages, onClose }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const ref = useRef();
  const { data } = usePoll("/api/find" + query({ query: text }));
  useEffect(() => {
    ref.current?.showModal();
  }, []);
  const wanted = text.toLowerCase();
  const fits = (name) => name.toLowerCase().includes(wanted); // the answer may be of what was typed before
  const found = [
    ...(data?.topics ?? []).filter(fits).map((name) => ["Topic", name, topicPath(name)]),
    ...(data?.groups ?? []).filter(fits).map((id) => ["Group", id, groupPath(id)]),
    ...(data?.pipelines ?? [])
      .filter(fits)
      .map((id) => ["Pipeline", id.slice(id.lastIndexOf("/") + 1), pipelinePath(id)]),
    ...pages.filter(([, label]) => fits(label)).map(([to, label]) => ["Page", label, to]),
  ];
  const chosen = Math.min(at, found.length - 1);
  const go = (to) => {
    ref.current.close();
    navigate(to);
  };
  const keys = (event) => {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      setAt(Math.min(chosen + 1, found.length - 1));
    } else if (event.key === "ArrowUp") {
      event.preventDefault();
      setAt(Math.max(chosen - 1, 0));
    } else if (event.key === "Enter" && found[chosen]) {
      event.preventDefault();
      go(found[chosen][2]);
    }
  };
  return html`<dialog ref=${ref} class="palette" aria-label="Go to" onClose=${onClose} onClick=${(
    e,
  ) => {
    if (e.target === ref.current) ref.current.close();
  }}>
    <div class="dialog-body"><input type="text" role="combobox" aria-expanded="true" aria-controls="found" aria-activedescendant=${found.length ? `found-${chosen}` : undefined}
      aria-label="Topic, group or page" placeholder="Topic, group or page" value=${text} autofocus autocomplete="off" spellcheck=${false}
      onInput=${(e) => {
        setText(e.target.value);
        setAt(0);
      }} onKeyDown=${keys} />
    <ul id="found" role="listbox" aria-label="Found">${found.map(
      ([kind, name, to], index) => html`
      <li key=${to} id=${`found-${index}`} role="option" aria-selected=${index === chosen} onClick=${() => go(to)}><span class="kind">${kind}</span>${name}</li>`,
    )}</ul>
    ${found.length ? null : html`<p class="muted pad">Nothing has a name like that.</p>`}</div></dialog>`;
}
