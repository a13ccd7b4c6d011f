// One pipeline: what it reads and writes, plots, the last error with its place, dead letters.
import { html, useState } from "../vendor/htm-preact.js";
import { api, query, session, usePoll } from "../lib/api.js";
import { Time, bytes, compact, count, duration, rate } from "../lib/format.js";
import { Plot } from "../lib/plot.js";
import { connectorPath, topicPath } from "../lib/route.js";
import { ActionForm, Badge, ErrorBox, Fact, Loading, Modal, State } from "../lib/ui.js";
import { ConnectorActions } from "./connector.js";

const works = (p) => p.state === "running" || p.state === "waiting";
const seconds = (value, brief) => duration(value * 1000, brief);

export function Pipeline({ id }) {
  const { data: p, error, refresh } = usePoll("/api/pipeline" + query({ id }), 2000);
  const name = id.slice(id.lastIndexOf("/") + 1);
  return html`<nav class="crumbs" aria-label="Path"><a href="/pipelines">Pipelines</a></nav><header class="page-head"><h1 class="name">${p?.pipeline ?? name}</h1>${p ? html`<${State} of=${p.state} />` : null}</header>
    <${ErrorBox} error=${error} retry=${refresh} />${
      !p
        ? error
          ? null
          : html`<${Loading} what="the pipeline" />`
        : html`
    <${Control} pipeline=${p} refresh=${refresh} /><${Failure} pipeline=${p} />
    <dl class="facts small"><${Fact} name="Rows in">${compact(p.rows_in)}<//><${Fact} name="Rows out">${compact(p.rows_out)}<//><${Fact} name="Batches">${count(p.batches)}<//><${Fact} name="Lag">${p.lag === null ? "–" : `${compact(p.lag)} records`}<//>
      <${Fact} name="Behind">${p.lag_s === null ? "–" : seconds(p.lag_s)}<//><${Fact} name="Watermark">${p.watermark ? html`<${Time} ms=${Date.parse(p.watermark)} />` : "–"}<//>${p.rows_late ? html`<${Fact} name="Late rows">${count(p.rows_late)}<//>` : null}<${Fact} name="Dead letters">${count(p.dead_letters)}<//><${Fact} name="Restarts">${count(p.restarts)}<//></dl>
    ${p.points.length > 1 ? html`<${Plots} pipeline=${p} />` : html`<p class="muted">${p.reported ? "Plots begin with the next reports." : "This pipeline does not report to the cluster, so there are no plots: run it without --no-report."}</p>`}
    <div class="columns"><${Places} title="Reads" places=${p.reads} rates=${works(p) ? p.read_per_s : {}} /><${Places} title="Writes" places=${p.writes} letters=${p.dead_letter_topics} /></div>
    ${
      p.expectations.length
        ? html`<section class="card"><h2>Expectations</h2><div class="scroll"><table class="list"><thead><tr><th scope="col">Rule</th><th scope="col">On failure</th><th scope="col" class="num">Passed</th><th scope="col" class="num">Failed</th></tr></thead>
      <tbody>${p.expectations.map((e) => html`<tr key=${e.rule}><th scope="row">${e.rule} <code>${e.condition}</code></th><td>${e.on_failure}</td><td class="num">${count(e.passed)}</td><td class="num">${e.failed ? html`<b>${count(e.failed)}</b>` : "0"}</td></tr>`)}</tbody></table></div></section>`
        : null
    }`
    }`;
}

// Connectors are started and stopped by their service; other pipelines are asked to.
function Control({ pipeline: p, refresh }) {
  const flow = usePoll(p.connector ? "/api/connectors" : null, 5000);
  const connector = flow.data?.connectors.find((c) => c.name === p.connector);
  if (connector)
    return html`<p>Of connector <a href=${connectorPath(connector.name)}>${connector.name}</a>, on ${p.host}.</p><${ConnectorActions} connector=${connector} refresh=${flow.refresh} />`;
  if (p.connector)
    return html`<p class="muted">Of connector ${p.connector}, on ${p.host}. Start this console with <code>--connect URL</code> to start and stop it from here.</p>`;
  return html`<p class="muted">${works(p) ? "Runs" : "Was run"} by <code>barnabas pipeline run</code> on ${p.host ?? "this machine"}, process ${p.pid ?? "–"}, from <code>${p.defined_in ?? "–"}</code>; last heard of at <${Time} ms=${p.heard_ms} />.</p>
    <${Requests} pipeline=${p} refresh=${refresh} />
    <details><summary>Start, stop, new version where it runs</summary><p>Ctrl-C or <code>kill ${p.pid ?? "PID"}</code> stops it, and the same command starts it again from its checkpoint: <code>barnabas pipeline run ${p.defined_in ?? "PATH"} ${p.pipeline}</code></p>
      <p>A new version alongside: <code>barnabas pipeline run ${p.defined_in ?? "PATH"} ${p.pipeline} --version v2</code></p>
      ${p.control ? null : html`<p>It takes no requests from here: its process has ended, was started with <code>--no-control</code>, or may not read <code>__barnabas_pipeline_requests</code>. Pipelines of the Connect service can be started from here at any time: a connector with <code>"connector.class": "pipeline"</code>.</p>`}</details>`;
}

const ASKS = {
  stop: [
    "Stop",
    "Stops its query. If no other pipeline runs in its process, that ends, and has to be started again where it runs. It goes on from its checkpoint.",
  ],
  restart: [
    "Restart",
    "Reads its definition again, so that a new version of the code is run, and starts it from its checkpoint. If Spark refuses the new definition, the former one goes on.",
  ],
  start: ["Start", "Reads its definition again and starts it, from its checkpoint."],
};

const ANSWER_MS = 20_000;

function Requests({ pipeline: p, refresh }) {
  const [open, setOpen] = useState(null),
    [asked, setAsked] = useState(null);
  const silent = asked !== null && p.answered !== asked.request,
    late = silent && Date.now() - asked.at > ANSWER_MS,
    waits = silent && !late;
  const said = late
    ? html`<p class="notice warning" role="status">No answer yet. Look at the output of process ${p.pid ?? "–"} on ${p.host ?? "its machine"}: it may be busy, or can no longer read <code>__barnabas_pipeline_requests</code>.</p>`
    : p.answer && !waits
      ? html`<p class="notice" role="status">${p.answer}</p>`
      : null;
  if (!p.control || session.current.read_only) return said;
  const submit = () =>
    api("/api/pipeline/requests", {
      method: "POST",
      body: { id: p.id, action: open === "stop" ? "stop" : "restart" },
    });
  return html`<div class="toolbar">${(works(p) ? ["stop", "restart"] : ["start"]).map((each) => html`<button type="button" key=${each} disabled=${waits} onClick=${() => setOpen(each)}>${ASKS[each][0]}</button>`)}</div>
    ${waits ? html`<p class="muted" role="status">Asked; waiting for its answer…</p>` : said}
    ${
      open
        ? html`<${Modal} title=${`${ASKS[open][0]} ${p.pipeline}`} onClose=${() => setOpen(null)}><p>${ASKS[open][1]}</p><${ActionForm} label=${ASKS[open][0]} danger=${open === "stop"} submit=${submit} onDone=${({
            request,
          }) => {
            setAsked({ request, at: Date.now() });
            setOpen(null);
            refresh();
          }} /><//>`
        : null
    }`;
}

function Failure({ pipeline: p }) {
  if (!p.error)
    return p.state === "lost"
      ? html`<div class="notice bad" role="alert"><div><strong>It has not reported since <${Time} ms=${p.heard_ms} />.</strong><p>Its process may have died, or is cut off from the cluster. Look at process ${p.pid} on ${p.host}, and start it again: it goes on from its checkpoint.</p></div></div>`
      : null;
  const place = /^(\/[^:]+:\d+): ([^]*)$/.exec(p.error);
  const over = p.state === "running" || p.state === "done";
  return html`<section class=${"notice " + (over ? "warning" : "bad")} aria-label="Last error"><div><p><strong>${over ? "It failed, and was restarted." : p.state === "waiting" ? "It has failed, and is restarted." : "It has failed."}</strong> ${p.failed_at ? html`<${Time} ms=${p.failed_at * 1000} />` : null}</p>
    ${place ? html`<p>In your code at <code class="place">${place[1]}</code></p>` : null}<pre tabindex="0" aria-label="Error">${place ? place[2] : p.error}</pre>
    ${p.next_start && p.state === "waiting" ? html`<p>Next start at <${Time} ms=${p.next_start * 1000} />.</p>` : null}</div></section>`;
}

function Plots({ pipeline: p }) {
  const times = p.points.map((row) => row[0]);
  const of = (name) => {
    const at = p.series.indexOf(name);
    return p.points.map((row) => row[at]);
  };
  const has = (name) => of(name).some((value) => value !== null);
  return html`<section class="plots" aria-label="Plots">
    <${Plot} title="Rows per second" times=${times} unit="number" format=${rate} series=${[
      ["in", "--accent", of("rows_in_per_s")],
      ["out", "--second", of("rows_out_per_s")],
    ]} />
    <${Plot} title="Batch duration" times=${times} unit="ms" format=${duration} series=${[["batch", "--accent", of("batch_duration_ms")]]} />
    ${has("lag") ? html`<${Plot} title="Lag" times=${times} format=${compact} series=${[["records", "--warning", of("lag")]]} />` : null}
    ${has("watermark_delay_s") ? html`<${Plot} title="Watermark behind the clock" times=${times} unit="s" format=${seconds} series=${[["delay", "--warning", of("watermark_delay_s")]]} />` : null}
    ${of("state_rows").some(Boolean) ? html`<${Plot} title="State, rows" times=${times} format=${compact} series=${[["rows", "--accent", of("state_rows")]]} /><${Plot} title="State, memory" times=${times} format=${bytes} series=${[["bytes", "--second", of("state_bytes")]]} />` : null}
    ${of("dead_letters").some(Boolean) ? html`<${Plot} title="Dead letters of this run" times=${times} format=${compact} series=${[["letters", "--warning", of("dead_letters")]]} />` : null}</section>`;
}

function Places({ title, places, rates = {}, letters = [] }) {
  return html`<section class="card"><h2>${title}</h2><ul class="rows">${places.map(([kind, name]) => html`<li key=${kind + name}>${kind === "topic" ? html`<a href=${topicPath(name)}>${name}</a>` : html`<span>${name}</span>`}<span class="num">${kind === "topic" && rates[name] !== undefined ? `${rate(rates[name])} records/s` : kind}</span></li>`)}
    ${letters.map((t) => html`<li key=${"letters " + t}><a href=${`/dead-letters?topic=${encodeURIComponent(t)}`}>${t}</a><span><${Badge} kind="warning">dead letters<//></span></li>`)}</ul></section>`;
}
