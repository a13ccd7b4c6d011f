// Settings of a topic or a node: values, where they come from, what they mean; changed one by one.
import { html, useState } from "../vendor/htm-preact.js";
import { api, session, usePoll } from "../lib/api.js";
import { duration } from "../lib/format.js";
import { ActionForm, Badge, Empty, ErrorBox, Loading, Modal, SearchBox, toast } from "../lib/ui.js";

export function Settings({ path, what }) {
  const { data, error, refresh } = usePoll(path);
  const [search, setSearch] = useState("");
  const [own, setOwn] = useState(false);
  const [editing, setEditing] = useState(null);
  if (!data)
    return error
      ? html`<${ErrorBox} error=${error} retry=${refresh} />`
      : html`<${Loading} what="settings" />`;
  const shown = data.settings.filter(
    (s) =>
      (!own || s.own) &&
      (s.name + " " + s.explanation).toLowerCase().includes(search.toLowerCase()),
  );
  return html`<div class="toolbar"><${SearchBox} label="Search settings" value=${search} onSearch=${setSearch} />
      <label class="check"><input type="checkbox" checked=${own} onChange=${(e) => setOwn(e.target.checked)} /> Only those that were set</label></div>
    ${
      shown.length
        ? html`<div class="scroll card flush"><table class="list settings"><thead><tr><th scope="col">Setting</th><th scope="col">Value</th><th scope="col">From</th><th scope="col"><span class="sr">Change</span></th></tr></thead>
      <tbody>${shown.map(
        (
          s,
        ) => html`<tr key=${s.name}><th scope="row"><code>${s.name}</code><p class="muted">${s.explanation}</p></th>
        <td class="value"><${Value} setting=${s} /></td><td>${s.own ? html`<${Badge} kind="accent">${s.source}<//>` : html`<span class="muted">${s.source}</span>`}</td>
        <td>${session.current.read_only || s.read_only ? null : html`<button type="button" aria-label=${`Change ${s.name}`} onClick=${() => setEditing(s)}>Change</button>`}</td></tr>`,
      )}</tbody></table></div>`
        : html`<${Empty} title="No setting matches.">Clear the search to see all.<//>`
    }
    ${editing ? html`<${Edit} setting=${editing} path=${path} what=${what} onClose=${() => setEditing(null)} onDone=${refresh} />` : null}`;
}

function Value({ setting: s }) {
  if (s.sensitive) return html`<span class="muted">(hidden)</span>`;
  if (s.value === null || s.value === "") return html`<span class="muted">(empty)</span>`;
  const ms =
    s.name.endsWith(".ms") && /^\d{4,15}$/.test(s.value)
      ? html`<span class="muted"> ${duration(Number(s.value))}</span>`
      : null;
  return html`<code>${s.value}</code>${ms}`;
}

function Edit({ setting: s, path, what, onClose, onDone }) {
  const save = (value) => api(path, { method: "PUT", body: { settings: { [s.name]: value } } });
  const done = () => {
    toast(`Changed ${s.name} of ${what}.`);
    onClose();
    onDone();
  };
  return html`<${Modal} title=${s.name} onClose=${onClose}><p>${s.explanation}</p>
    <p class="muted">${s.default === null ? "" : html`Default of Barnabas: <code>${s.default || "(empty)"}</code>`}</p>
    <${ActionForm} label="Save" submit=${(form) => save(form.get("value"))} onDone=${done}>
      <label>Value ${
        s.choices.length && !s.name.includes("policy")
          ? html`<select name="value">${s.choices.map((c) => html`<option key=${c} selected=${c === s.value}>${c}</option>`)}</select>`
          : html`<input name="value" defaultValue=${s.value ?? ""} autocomplete="off" spellcheck=${false} autofocus />`
      }</label><//>
    ${s.own ? html`<${ActionForm} label="Restore the default" submit=${() => save(null)} onDone=${done} />` : null}<//>`;
}
