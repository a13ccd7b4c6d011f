// How the cluster is, in one sentence, with plots and what has happened.
import { html } from "../vendor/htm-preact.js";
import { usePoll } from "../lib/api.js";
import { Time, bytes, compact, count, duration, rate } from "../lib/format.js";
import { Plot } from "../lib/plot.js";
import { groupPath, topicPath } from "../lib/route.js";
import { Badge, Empty, ErrorBox, Fact, Loading, State } from "../lib/ui.js";

export function Overview() {
  const { data, error, refresh } = usePoll("/api/overview", 2000);
  if (!data)
    return error
      ? html`<${ErrorBox} error=${error} retry=${refresh} />`
      : html`<h1>Overview</h1><${Loading} what="the cluster" />`;
  const points = data.series;
  const times = points.map((p) => p[0]);
  return html`<h1>Overview</h1>
    <${ErrorBox} error=${error} />
    <${Health} data=${data} />
    <dl class="facts">
      <${Fact} name="Topics"><a href="/topics">${count(data.totals.topics)}</a><//>
      <${Fact} name="Partitions">${count(data.totals.partitions)}${data.totals.internal_partitions ? html` <small>+ ${count(data.totals.internal_partitions)} internal</small>` : null}<//>
      <${Fact} name="Records ever written" title=${count(data.totals.records)}>${compact(data.totals.records)}<//>
      <${Fact} name="Stored">${bytes(data.totals.size)}<//>
      <${Fact} name="Groups"><a href="/groups">${count(data.totals.groups)}</a><//>
      <${Fact} name="Lag of all groups">${compact(data.totals.lag)}<//>
    </dl>
    <section class="plots" aria-label="Plots">
      <${Plot} title="Records per second" times=${times} unit="number" format=${rate} series=${[["in", "--accent", points.map((p) => p[1])]]} />
      <${Plot} title="Bytes per second" times=${times} format=${bytes} series=${[
        ["in", "--accent", points.map((p) => p[2])],
        ["out", "--second", points.map((p) => p[3])],
      ]} />
      <${Plot} title="Records that groups have not read" times=${times} format=${compact} series=${[["lag", "--warning", points.map((p) => p[4])]]} />
    </section>
    <div class="columns">
      <section class="card"><h2>Nodes</h2><${Nodes} nodes=${data.nodes} /></section>
      <section class="card"><h2>Last events</h2><${Events} events=${data.events} /></section>
      <section class="card"><h2>Busiest topics</h2>${
        data.busiest.length
          ? html`<ul class="rows">${data.busiest.map(
              (each) => html`
        <li key=${each.name}><a href=${topicPath(each.name)}>${each.name}</a><span class="num">${rate(each.records_s)} records/s</span></li>`,
            )}</ul>`
          : html`<p class="muted">Nothing is being written now.</p>`
      }</section>
      <section class="card"><h2>Groups furthest behind</h2>${
        data.slowest.length
          ? html`<ul class="rows">${data.slowest.map(
              (each) => html`
        <li key=${each.id}><a href=${groupPath(each.id)}>${each.id}</a><span class="num">${count(each.lag)} records</span></li>`,
            )}</ul>`
          : html`<p class="muted">All groups have read everything.</p>`
      }</section>
    </div>`;
}

function Health({ data }) {
  if (data.error) {
    const since = data.failing_since_ms
      ? ` for ${duration(Date.now() - data.failing_since_ms)}`
      : "";
    return html`<section class="notice bad" role="alert"><div><strong>The cluster has not answered${since}.</strong><p>${data.error}</p>
      <p>What is shown below is the last that was known; this page goes on trying.</p></div></section>`;
  }
  const { level, sentence, findings, not_checked } = data.health;
  if (!level) return html`<section class="notice quiet"><p>Checking the cluster…</p></section>`;
  const unknown = Object.entries(not_checked);
  return html`<section class=${"notice " + level} aria-label="Health"><div><p class="health"><span class="light" aria-hidden="true"></span><strong>${sentence}</strong></p>
    ${
      findings.length
        ? html`<ul class="findings">${findings.map(
            (each) => html`<li key=${each.check + each.what}>
      <${Badge} kind=${{ critical: "bad", warning: "warning", note: "quiet" }[each.severity]}>${each.severity}<//>
      <div>${each.what}<p class="fix">${each.fix}</p></div></li>`,
          )}</ul>`
        : null
    }
    ${unknown.length ? html`<details><summary>${unknown.length} not checked</summary><ul>${unknown.map(([what, why]) => html`<li key=${what}><b>${what}</b>: ${why}</li>`)}</ul></details>` : null}</div></section>`;
}

export function Nodes({ nodes }) {
  return html`<div class="scroll"><table><thead><tr><th scope="col">Node</th><th scope="col">State</th><th scope="col" class="num">Leads</th><th scope="col" class="num">Records/s</th><th scope="col" class="num">Stored</th><th scope="col" class="num">CPU</th></tr></thead>
    <tbody>${nodes.map(
      (
        n,
      ) => html`<tr key=${n.id}><th scope="row"><b>${n.id}</b> <span class="muted">${n.address}</span>${n.controller ? html` <${Badge} kind="accent">controller<//>` : null}${n.rack ? html` <span class="muted">rack ${n.rack}</span>` : null}</th>
      <td><${State} of=${n.state} /></td><td class="num">${count(n.leaders)}</td><td class="num">${rate(n.records_s)}</td><td class="num">${bytes(n.size)}</td><td class="num">${n.cpu_percent === null ? "–" : `${Math.round(n.cpu_percent)} %`}</td></tr>`,
    )}</tbody></table></div>`;
}

function Events({ events }) {
  if (!events.length)
    return html`<${Empty} title="Nothing has happened since this console started.">Leader changes, nodes that come and go, and groups that rebalance appear here.<//>`;
  return html`<ol class="events">${events.map(
    (
      each,
    ) => html`<li key=${each.number} class=${each.severity}><span class="light" aria-hidden="true"></span>
    <span class="what">${each.link ? html`<a href=${each.link}>${each.what}</a>` : each.what}</span><${Time} ms=${each.at_ms} /></li>`,
  )}</ol>`;
}
