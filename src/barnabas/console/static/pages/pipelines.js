// Pipelines and connectors: the graph from topics to topics and tables, and a list of each.
import { html, useState } from "../vendor/htm-preact.js";
import { query, session, usePoll } from "../lib/api.js";
import { Time, count, duration, rate } from "../lib/format.js";
import { Graph } from "../lib/graph.js";
import { connectorPath, pipelinePath, setParams, topicPath, useLocation } from "../lib/route.js";
import { Badge, Empty, ErrorBox, Loading, State } from "../lib/ui.js";
import { NewConnector } from "./connector-forms.js";

export function Pipelines() {
  const ended = useLocation().params.get("ended") === "true";
  const [creating, setCreating] = useState(false);
  const { data, error, refresh } = usePoll("/api/flow" + query({ ended }), 2000);
  const letters = [...new Set((data?.pipelines ?? []).flatMap((p) => p.dead_letter_topics))].sort();
  return html`<header class="page-head"><h1>Pipelines</h1><span class="grow"></span>
      <label class="check"><input type="checkbox" checked=${ended} onChange=${(e) => setParams({ ended: e.target.checked })} /> Show those that ended</label>
      ${data?.configured && !session.current.read_only ? html`<button type="button" class="primary" onClick=${() => setCreating(true)}>New connector</button>` : null}</header>
    <${ErrorBox} error=${error} retry=${refresh} />
    ${data?.connect_error ? html`<${ErrorBox} error=${{ message: "Connectors can't be shown.", hint: data.connect_error }} retry=${refresh} />` : null}
    ${!data ? (error ? null : html`<${Loading} what="pipelines" />`) : null}
    ${data?.nodes.length ? html`<${Graph} flow=${data} />` : null}
    ${data?.left_out ? html`<p>The drawing leaves out ${count(data.left_out)} arrows; the tables have all pipelines and connectors.</p>` : null}
    ${data?.pipelines.length ? html`<${PipelineTable} pipelines=${data.pipelines} />` : null}
    ${data?.connectors.length ? html`<h2>Connectors</h2><${ConnectorTable} connectors=${data.connectors} />` : null}
    ${
      letters.length
        ? html`<section class="card"><h2>Dead letters</h2><ul class="rows">${letters.map(
            (
              t,
            ) => html`<li key=${t}><a href=${`/dead-letters?topic=${encodeURIComponent(t)}`}>${t}</a>
      <span class="num">${count(data.pipelines.filter((p) => p.dead_letter_topics.includes(t)).reduce((sum, p) => sum + (p.dead_letters ?? 0), 0))} in this run</span></li>`,
          )}</ul></section>`
        : null
    }
    ${
      data && !data.pipelines.length && !data.connectors.length
        ? html`<${Empty} title="No pipeline runs here.">
      <p>Pipelines that are run with <code>barnabas pipeline run</code> or by the Connect service appear by themselves; they report to the topic <code>__barnabas_pipelines</code>, which you need to be allowed to read.</p>
      ${data.configured ? null : html`<p>Start the console with <code>--connect http://127.0.0.1:8083</code> to see and change the connectors of a Connect service.</p>`}<//>`
        : null
    }
    ${creating ? html`<${NewConnector} onClose=${() => setCreating(false)} onDone=${refresh} />` : null}`;
}

const works = (p) => p.state === "running" || p.state === "waiting";

function PipelineTable({ pipelines }) {
  return html`<div class="scroll card flush"><table class="list"><thead><tr><th scope="col">Pipeline</th><th scope="col">State</th><th scope="col" class="num">Rows in/s</th><th scope="col" class="num">Rows out/s</th><th scope="col" class="num">Batch</th><th scope="col" class="num">Lag</th><th scope="col" class="num">Behind</th><th scope="col" class="num">State rows</th><th scope="col" class="num">Dead letters</th><th scope="col">Heard</th></tr></thead>
    <tbody>${pipelines.map(
      (
        p,
      ) => html`<tr key=${p.id}><th scope="row"><a href=${pipelinePath(p.id)}>${p.pipeline}</a>${p.error && p.state !== "running" && p.state !== "done" ? html`<p class="fix">${p.error}</p>` : null}</th>
      <td><${State} of=${p.state} /></td><td class="num">${rate(works(p) ? p.rows_in_per_s : null)}</td><td class="num">${rate(works(p) ? p.rows_out_per_s : null)}</td><td class="num">${duration(p.batch_duration_ms)}</td>
      <td class="num">${count(p.lag)}</td><td class="num">${p.lag_s === null ? "–" : duration(p.lag_s * 1000)}</td><td class="num">${count(p.state_rows)}</td><td class="num">${count(p.dead_letters)}</td><td><${Time} ms=${p.heard_ms} /></td></tr>`,
    )}</tbody></table></div>`;
}

function ConnectorTable({ connectors }) {
  return html`<div class="scroll card flush"><table class="list"><thead><tr><th scope="col">Connector</th><th scope="col">State</th><th scope="col">Type</th><th scope="col">Class</th><th scope="col">Topics</th><th scope="col" class="num">Tasks</th></tr></thead>
    <tbody>${connectors.map(
      (
        c,
      ) => html`<tr key=${c.name}><th scope="row"><a href=${connectorPath(c.name)}>${c.name}</a>${c.error ? html`<p class="fix">${c.error.split("\n")[0]}</p>` : null}</th><td><${State} of=${c.tasks.some((t) => t.state === "FAILED") ? "FAILED" : c.state} /></td>
      <td><${Badge} kind="quiet">${c.type}<//></td><td>${c.class.split(".").at(-1)}</td><td class="topics">${c.topics.map((t, n) => html`${n ? ", " : ""}<a key=${t} href=${topicPath(t)}>${t}</a>`)}</td><td class="num">${c.tasks.filter((t) => t.state === "RUNNING").length} of ${c.tasks.length}</td></tr>`,
    )}</tbody></table></div>`;
}
