// One connector of a Connect service: state, tasks, error, settings, and what can be done to it.
import { html, useState } from "../vendor/htm-preact.js";
import { api, session, usePoll } from "../lib/api.js";
import { count } from "../lib/format.js";
import { navigate, pipelinePath, topicPath } from "../lib/route.js";
import { ConfirmName, Empty, ErrorBox, Fact, Loading, Modal, State, toast } from "../lib/ui.js";
import { ChangeConnector, NewConnector } from "./connector-forms.js";

const DONE = { pause: "is paused", resume: "starts", stop: "stops", restart: "restarts" };

export function ConnectorActions({ connector: c, refresh }) {
  const [busy, setBusy] = useState(""),
    [open, setOpen] = useState(null);
  if (session.current.read_only) return null;
  const act = async (action) => {
    setBusy(action);
    try {
      await api(`/api/connectors/${encodeURIComponent(c.name)}/${action}`, { method: "POST" });
      toast(`${c.name} ${DONE[action]}.`);
      refresh();
    } catch (error) {
      toast(error.message, "bad");
    }
    setBusy("");
  };
  const actions =
    c.state === "PAUSED" || c.state === "STOPPED"
      ? [["resume", "Start"]]
      : [
          ["pause", "Pause"],
          ["stop", "Stop"],
          ["restart", "Restart"],
        ];
  return html`<div class="toolbar">${actions.map(([a, label]) => html`<button type="button" key=${a} disabled=${Boolean(busy)} onClick=${() => act(a)}>${busy === a ? "Working…" : label}</button>`)}
      <button type="button" onClick=${() => setOpen("change")}>Change settings</button><button type="button" onClick=${() => setOpen("version")}>New version</button><button type="button" onClick=${() => setOpen("delete")}>Delete</button></div>
    ${open === "change" ? html`<${ChangeConnector} connector=${c} onClose=${() => setOpen(null)} onDone=${refresh} />` : null}
    ${open === "version" ? html`<${NewConnector} like=${c} onClose=${() => setOpen(null)} onDone=${refresh} />` : null}
    ${
      open === "delete"
        ? html`<${Modal} title=${`Delete ${c.name}`} onClose=${() => setOpen(null)}><p class="muted">Deletes the connector. Its topics, tables and checkpoint stay.</p><${ConfirmName} name=${c.name} label="Delete connector"
      onSubmit=${(confirm) => api(`/api/connectors/${encodeURIComponent(c.name)}`, { method: "DELETE", body: { confirm } })} onDone=${() => {
        toast(`Deleted ${c.name}.`);
        navigate("/pipelines");
      }} /><//>`
        : null
    }`;
}

export function Connector({ name }) {
  const { data, error, refresh } = usePoll("/api/flow", 3000);
  const c = data?.connectors.find((each) => each.name === name);
  const pipelines = data?.pipelines.filter((p) => p.connector === name) ?? [];
  const problem =
    error ??
    (data?.connect_error
      ? { message: "Connectors can't be shown.", hint: data.connect_error }
      : null);
  return html`<nav class="crumbs" aria-label="Path"><a href="/pipelines">Pipelines</a></nav><header class="page-head"><h1 class="name">${name}</h1>${c ? html`<${State} of=${c.state} />` : null}</header>
    <${ErrorBox} error=${problem} retry=${refresh} />
    ${
      !data
        ? error
          ? null
          : html`<${Loading} what="the connector" />`
        : !c
          ? problem
            ? null
            : html`<${Empty} title="There is no connector of this name.">It may have been deleted; look at the <a href="/pipelines">list</a>.<//>`
          : html`
    <${ConnectorActions} connector=${c} refresh=${refresh} />
    <dl class="facts small"><${Fact} name="Type">${c.type}<//><${Fact} name="Class">${c.class.split(".").at(-1)}<//><${Fact} name="Tasks running">${count(c.tasks.filter((t) => t.state === "RUNNING").length)} of ${count(c.tasks.length)}<//><${Fact} name="Worker">${c.worker || "–"}<//></dl>
    ${c.error ? html`<section class="card"><h2>Last error</h2><pre class="tall" tabindex="0" aria-label="Error">${c.error}</pre></section>` : null}
    <section class="card"><h2>Topics and pipelines</h2><ul class="rows">${c.topics.map((t) => html`<li key=${t}><a href=${topicPath(t)}>${t}</a><span>topic</span></li>`)}${pipelines.map((p) => html`<li key=${p.id}><a href=${pipelinePath(p.id)}>${p.pipeline}</a><span><${State} of=${p.state} /></span></li>`)}</ul>
      ${c.topics.length || pipelines.length ? null : html`<p class="muted">It has used none yet.</p>`}</section>
    <section class="card"><h2>Settings</h2><table class="headers"><tbody>${Object.entries(c.config).map(([k, v]) => html`<tr key=${k}><th scope="row"><code>${k}</code></th><td class="mono pre">${v}</td></tr>`)}</tbody></table></section>`
    }`;
}
