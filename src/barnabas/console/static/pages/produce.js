// A form that sends one message: as it is, or as JSON by a schema of the topic.
import { html, useState } from "../vendor/htm-preact.js";
import { api, session, usePoll } from "../lib/api.js";
import { ActionForm, ErrorBox, Modal, toast } from "../lib/ui.js";

const KINDS = { avro: "Avro", protobuf: "Protobuf", json: "JSON Schema" };
const PLAIN = [
  ["text", "text or JSON"],
  ["base64", "base64"],
  ["hex", "hex"],
];

export function Produce({ base, topic, partitions, onClose }) {
  const [headers, setHeaders] = useState([]);
  const schemas = usePoll(session.current.registry ? base + "/schemas" : null);
  const submit = (form) => {
    const body = { value: form.get("null") ? undefined : form.get("value") };
    if (form.get("key") !== "") body.key = form.get("key");
    for (const part of ["key", "value"])
      for (const name of [`${part}_encoding`, `${part}_message`])
        if (form.get(name)) body[name] = form.get(name);
    if (form.get("partition") !== "") body.partition = Number(form.get("partition"));
    const pairs = headers
      .map((_, n) => [form.get(`name-${n}`), form.get(`value-${n}`)])
      .filter(([name]) => name);
    if (pairs.length) body.headers = pairs;
    return api(base + "/messages", { method: "POST", body });
  };
  if (session.current.registry && !schemas.data && !schemas.error)
    return html`<${Modal} title=${`Send a message to ${topic}`} onClose=${onClose} wide><p class="muted" role="status">Asking the schema registry…</p><//>`;
  return html`<${Modal} title=${`Send a message to ${topic}`} onClose=${onClose} wide>
    ${schemas.error ? html`<${ErrorBox} error=${schemas.error} retry=${schemas.refresh} />` : null}
    <${ActionForm} label="Send" submit=${submit} onDone=${(sent) => toast(`Sent to partition ${sent.partition}, offset ${sent.offset}.`)}>
      <div class="pair"><label>Key <input name="key" placeholder="none" autocomplete="off" spellcheck=${false} /></label>
        <label>Partition <select name="partition"><option value="">by the key</option>${Array.from({ length: Math.min(partitions, 1000) }, (_, n) => html`<option key=${n}>${n}</option>`)}</select></label></div>
      ${schemas.data?.key ? html`<${Encoding} part="key" offer=${schemas.data.key} />` : null}
      <${Value} />
      <${Encoding} part="value" offer=${schemas.data?.value} />
      <label class="check"><input type="checkbox" name="null" /> Send null (a tombstone)</label>
      ${headers.map((n) => html`<div class="pair" key=${n}><label>Header <input name=${`name-${n}`} spellcheck=${false} /></label><label>Value <input name=${`value-${n}`} spellcheck=${false} /></label></div>`)}
      <div><button type="button" onClick=${() => setHeaders([...headers, headers.length])}>Add a header</button></div><//><//>`;
}

function Value() {
  const [problem, setProblem] = useState("");
  const looked = (event) => {
    const text = event.target.value.trim();
    let wrong = "";
    if (text.startsWith("{") || text.startsWith("[")) {
      try {
        JSON.parse(text);
      } catch (error) {
        wrong = `Not valid JSON: ${error.message}`;
      }
    }
    setProblem(wrong);
  };
  return html`<label>Value <textarea name="value" rows="10" class="mono" spellcheck=${false} onInput=${looked} autofocus></textarea></label>
    ${problem ? html`<p class="muted" role="status">${problem}</p>` : null}`;
}

// How a part is encoded; a schema that can be used is chosen at first.
function Encoding({ part, offer }) {
  const usable = offer && !offer.problem;
  const [chosen, setChosen] = useState(usable ? "schema" : "text");
  const kind = offer ? (KINDS[offer.kind] ?? offer.kind) : "";
  const choices = usable
    ? [["schema", `JSON by schema ${offer.subject}, version ${offer.version} (${kind})`], ...PLAIN]
    : PLAIN;
  return html`<div class="pair"><label>The ${part} is <select name=${`${part}_encoding`} value=${chosen} onChange=${(e) => setChosen(e.target.value)}>${choices.map(([id, label]) => html`<option key=${id} value=${id}>${label}</option>`)}</select></label>
      ${chosen === "schema" && offer.messages.length > 1 ? html`<label>Message <select name=${`${part}_message`}>${offer.messages.map((name) => html`<option key=${name}>${name}</option>`)}</select></label>` : null}</div>
    ${offer?.problem ? html`<p class="notice warning">Schema ${offer.subject} can't be used: ${offer.problem}</p>` : null}
    ${
      chosen === "schema"
        ? html`<details><summary>Schema ${offer.subject}</summary><pre class="tall" tabindex="0" aria-label=${`Schema of the ${part}`}>${pretty(offer.definition)}</pre></details>
      ${offer.checks_fields ? null : html`<p class="muted">The fields are not checked: the console does not know the rules of JSON Schema.</p>`}`
        : null
    }`;
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
