// One subject: two versions side by side, who uses it, and a check of a change.
import { html, useState } from "../vendor/htm-preact.js";
import { api, query, usePoll } from "../lib/api.js";
import { count } from "../lib/format.js";
import { setParams, subjectPath, topicPath, useLocation } from "../lib/route.js";
import { ActionForm, Badge, ErrorBox, Fact, Loading } from "../lib/ui.js";

export function Subject({ name }) {
  const { data, error, refresh } = usePoll("/api/schemas/subject" + query({ subject: name }), 10000);
  const head = html`<nav class="crumbs" aria-label="Path"><a href="/schemas">Schemas</a></nav><header class="page-head"><h1 class="name">${name}</h1>
    ${data ? html`<${Badge} kind="quiet">${data.latest.kind}<//>` : null}</header>`;
  if (!data)
    return html`${head}${error ? html`<${ErrorBox} error=${error} retry=${refresh} />` : html`<${Loading} what="the subject" />`}`;
  return html`${head}<${ErrorBox} error=${error} />
    <dl class="facts small"><${Fact} name="Versions">${count(data.versions.length)}<//><${Fact} name="Latest">${data.latest.number}<//><${Fact} name="Id of the latest">${data.latest.schema_id}<//><${Fact} name="Compatibility">${data.compatibility}<//></dl>
    <${Uses} subject=${data} />
    <${Versions} key=${data.latest.number} subject=${data} />
    <${Check} name=${name} text=${data.latest.text} />`;
}

function Uses({ subject }) {
  const links = (names, path) =>
    names.map((each, n) => html`${n ? ", " : ""}<a key=${each} href=${path(each)}>${each}</a>`);
  const references = subject.latest.refers_to;
  return html`${subject.topics.length ? html`<p>Used by the topic ${links(subject.topics, topicPath)}, whose page shows its readers.</p>` : null}
    ${references.length ? html`<p>Refers to ${links(references, subjectPath)}.</p>` : null}
    ${subject.referenced_by.length ? html`<p>Referred to by ${links(subject.referenced_by, subjectPath)}.</p>` : null}`;
}

function Versions({ subject }) {
  const { params } = useLocation();
  const { versions } = subject;
  const right = Number(params.get("right") ?? versions.at(-1)),
    left = Number(params.get("left") ?? versions.at(-2) ?? right);
  const { data, error } = usePoll(
    "/api/schemas/differences" + query({ subject: subject.subject, left, right }),
  );
  const choice = (label, side, value) =>
    html`<label class="inline">${label} <select value=${String(value)} onChange=${(e) => setParams({ [side]: e.target.value })}>${versions.map((each) => html`<option key=${each} value=${String(each)}>${each}</option>`)}</select></label>`;
  return html`<section class="card"><h2>${versions.length > 1 ? "Versions" : "Schema"}</h2>
    ${versions.length > 1 ? html`<div class="toolbar">${choice("Version", "left", left)}${choice("beside version", "right", right)}</div>` : null}
    <${ErrorBox} error=${error} />
    ${data ? (left === right ? html`<pre class="tall">${data.right.text}</pre>` : html`<${Lines} lines=${data.lines} left=${left} right=${right} />`) : null}</section>`;
}

function Lines({ lines, left, right }) {
  const cell = (text, other, kind) =>
    html`<td class=${text === null ? "" : kind}><code>${text === null ? "" : text}</code>${text !== null && kind ? html`<span class="sr"> (${other})</span>` : null}</td>`;
  return html`<div class="scroll"><table class="beside"><thead><tr><th scope="col">Version ${left}</th><th scope="col">Version ${right}</th></tr></thead>
    <tbody>${lines.map(
      ([one, two, same], n) =>
        html`<tr key=${n}>${cell(one, "removed", same ? "" : "old")}${cell(two, "added", same ? "" : "new")}</tr>`,
    )}</tbody></table></div>`;
}

function Check({ name, text }) {
  const [found, setFound] = useState(null);
  const submit = (form) =>
    api("/api/schemas/check", { method: "POST", body: { subject: name, schema: form.get("schema") } });
  return html`<section class="card"><h2>Check a change</h2><p class="muted">Asks whether this text could be registered as the next version. Nothing is registered.</p>
    <${ActionForm} label="Check" submit=${submit} onDone=${setFound}><label class="sr" for="changed">Schema</label><textarea id="changed" name="schema" rows="10" spellcheck=${false} class="mono">${text}</textarea>
      ${
        found
          ? found.compatible
            ? html`<div class="notice good" role="status"><strong>Compatible.</strong></div>`
            : html`<div class="notice bad" role="alert"><div><strong>Not compatible.</strong>${found.reasons.map((each) => html`<p class="pre">${each}</p>`)}</div></div>`
          : null
      }<//></section>`;
}
