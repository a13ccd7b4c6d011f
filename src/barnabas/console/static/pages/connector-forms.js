// Forms that create a connector, change its settings, or start a new version of it.
import { html, useState } from "../vendor/htm-preact.js";
import { api } from "../lib/api.js";
import { connectorPath, navigate } from "../lib/route.js";
import { ActionForm, Modal, toast } from "../lib/ui.js";

const EXAMPLE = {
  "connector.class": "pipeline",
  "pipeline.sql":
    '-- source orders: topic orders schema="customer STRING, amount DOUBLE"\n-- sink: topic large-orders key=customer\nSELECT customer, amount FROM orders WHERE amount > 100',
};

const write = (config) => JSON.stringify(config, null, 2);

const SQL = "pipeline.sql";

// The settings of a form; the lines of a query have a field of their own.
function parse(form) {
  let found;
  try {
    found = JSON.parse(form.get("config"));
  } catch (error) {
    throw Object.assign(new Error(`The settings are not JSON: ${error.message}`), { hint: "" });
  }
  if (found === null || typeof found !== "object" || Array.isArray(found))
    throw Object.assign(new Error("The settings have to be a JSON object of names and values."), {
      hint: "",
    });
  return form.get("sql") ? { ...found, [SQL]: form.get("sql") } : found;
}

function Config({ config: { [SQL]: sql, ...others } }) {
  return html`${sql === undefined ? null : html`<label>Query <textarea name="sql" class="mono" rows="7" spellcheck=${false} defaultValue=${sql}></textarea></label>`}
    <label>Settings, as JSON <textarea name="config" class="mono" rows=${sql === undefined ? 12 : 5} required spellcheck=${false} defaultValue=${write(others)}></textarea></label>`;
}

// With `like`, a new version that runs alongside: hidden settings are those of the original.
export function NewConnector({ like, onClose, onDone }) {
  const { name: _, ...config } = like?.config ?? EXAMPLE;
  const [name, setName] = useState(like ? `${like.name}-v2` : "");
  const create = async (form) =>
    api("/api/connectors", {
      method: "POST",
      body: { name, config: parse(form), like: like?.name },
    });
  const done = () => {
    toast(`Created connector ${name}.`);
    onClose();
    onDone?.();
    navigate(connectorPath(name));
  };
  return html`<${Modal} wide title=${like ? `New version of ${like.name}` : "New connector"} onClose=${onClose}>
    <p class="muted">${like ? "It runs alongside the original, under its own name and from the beginning. Let it write to another topic or table, compare, then stop the original." : "The Connect service checks the settings before it takes them."}</p>
    <${ActionForm} label=${like ? "Start the new version" : "Create connector"} submit=${create} onDone=${done}>
      <label>Name <input value=${name} onInput=${(e) => setName(e.target.value)} required autocomplete="off" spellcheck=${false} autofocus /></label><${Config} config=${config} /><//><//>`;
}

export function ChangeConnector({ connector, onClose, onDone }) {
  const change = async (form) => {
    const config = parse(form);
    for (const gone of Object.keys(connector.config)) if (!(gone in config)) config[gone] = null;
    return api(`/api/connectors/${encodeURIComponent(connector.name)}`, {
      method: "PUT",
      body: { config },
    });
  };
  return html`<${Modal} wide title=${`Settings of ${connector.name}`} onClose=${onClose}><p class="muted">It is restarted with these settings, and goes on from its checkpoint. Hidden values stay as they are.</p>
    <${ActionForm} label="Save and restart" submit=${change} onDone=${() => {
      toast(`Changed ${connector.name}.`);
      onClose();
      onDone();
    }}><${Config} config=${connector.config} /><//><//>`;
}
