// One topic: messages, partitions, settings, readers, and what can be done to it.
import { html } from "../vendor/htm-preact.js";
import { api, session, usePoll } from "../lib/api.js";
import { Time, bytes, count, rate } from "../lib/format.js";
import { groupPath, navigate, useLocation } from "../lib/route.js";
import {
  ActionForm,
  Badge,
  ConfirmName,
  Empty,
  ErrorBox,
  Fact,
  Loading,
  State,
  Tabs,
  toast,
} from "../lib/ui.js";
import { Messages } from "./messages.js";
import { Settings } from "./settings.js";

const TABS = [
  ["messages", "Messages"],
  ["partitions", "Partitions"],
  ["readers", "Readers and writers"],
  ["settings", "Settings"],
  ["actions", "Actions"],
];

export function Topic({ name }) {
  const { params } = useLocation();
  const tab = params.get("tab") ?? "messages";
  const base = `/api/topics/${encodeURIComponent(name)}`;
  const { data, error, refresh } = usePoll(base, tab === "partitions" ? 3000 : 10000);
  const tabs = session.current.read_only ? TABS.slice(0, -1) : TABS;
  if (error && !data)
    return html`<header class="page-head"><h1 class="name">${name}</h1></header><${ErrorBox} error=${error} retry=${refresh} />`;
  const parts = data?.partitions ?? [];
  const known = parts.filter((p) => p.end !== null);
  return html`<nav class="crumbs" aria-label="Path"><a href="/topics">Topics</a></nav>
    <header class="page-head"><h1 class="name">${name}</h1>${data?.internal ? html`<${Badge} kind="quiet">internal<//>` : null}</header>
    <dl class="facts small">
      <${Fact} name="Partitions">${data ? count(parts.length) : "–"}<//>
      <${Fact} name="Replicas">${data && parts.length ? Math.min(...parts.map((p) => p.replicas.length)) : "–"}<//>
      <${Fact} name="Records">${data ? count(known.reduce((sum, p) => sum + p.end - p.beginning, 0)) : "–"}<//>
      <${Fact} name="Size">${data ? bytes(parts.reduce((sum, p) => sum + (p.size ?? 0), 0)) : "–"}<//>
      <${Fact} name="Records/s">${rate(data?.records_s)}<//>
    </dl>
    <${Tabs} tabs=${tabs} current=${tab} />
    ${
      tab === "messages"
        ? html`<${Messages} topic=${name} partitions=${parts.length} />`
        : tab === "partitions"
          ? data
            ? html`<${Partitions} parts=${parts} />`
            : html`<${Loading} what="partitions" />`
          : tab === "readers"
            ? html`<h2>Readers</h2><${Readers} base=${base} /><h2>Writers</h2><${Writers} base=${base} />`
            : tab === "settings"
              ? html`<${Settings} path=${base + "/settings"} what=${`topic ${name}`} />`
              : tab === "actions" && data
                ? html`<${Actions} name=${name} base=${base} parts=${parts} refresh=${refresh} />`
                : null
    }`;
}

function Partitions({ parts }) {
  return html`<div class="scroll card flush"><table class="list"><thead><tr><th scope="col">Partition</th><th scope="col">Leader</th><th scope="col">Replicas</th><th scope="col">In sync</th><th scope="col" class="num">First offset</th><th scope="col" class="num">Next offset</th><th scope="col" class="num">Records</th><th scope="col" class="num">Size</th></tr></thead>
    <tbody>${parts.map(
      (p) => html`<tr key=${p.partition}><th scope="row">${p.partition}</th>
      <td>${p.leader === null ? html`<${Badge} kind="bad">none<//>` : html`node ${p.leader}`}</td><td>${p.replicas.join(", ")}</td>
      <td>${p.isr.length < p.replicas.length ? html`<${Badge} kind="warning">${p.isr.length} of ${p.replicas.length}<//>` : html`<${Badge} kind="good">all<//>`}</td>
      <td class="num">${count(p.beginning)}</td><td class="num">${count(p.end)}</td><td class="num">${p.end === null ? "–" : count(p.end - p.beginning)}</td><td class="num">${bytes(p.size)}</td></tr>`,
    )}</tbody></table></div>
    ${
      parts.some((p) => p.open_from !== null)
        ? html`<p class="notice warning">A transaction is open in partition ${parts
            .filter((p) => p.open_from !== null)
            .map((p) => `${p.partition} (from offset ${count(p.open_from)})`)
            .join(
              ", ",
            )}: readers of committed records wait there. <a href="/cluster?tab=transactions">Look at transactions</a></p>`
        : null
    }`;
}

function Readers({ base }) {
  const { data, error, refresh } = usePoll(base + "/readers", 3000);
  if (!data)
    return error
      ? html`<${ErrorBox} error=${error} retry=${refresh} />`
      : html`<${Loading} what="readers" />`;
  if (!data.groups.length)
    return html`<${Empty} title="No group has committed offsets in this topic.">Consumers without a group, or that have not committed yet, are not known to the cluster.<//>`;
  return html`<div class="scroll card flush"><table class="list"><thead><tr><th scope="col">Group</th><th scope="col">Type</th><th scope="col">State</th><th scope="col" class="num">Lag here</th></tr></thead>
    <tbody>${data.groups.map((g) => html`<tr key=${g.id}><th scope="row"><a href=${groupPath(g.id)}>${g.id}</a></th><td>${g.type}</td><td><${State} of=${g.state} /></td><td class="num">${count(g.lag)}</td></tr>`)}</tbody></table></div>`;
}

function Writers({ base }) {
  const { data, error, refresh } = usePoll(base + "/writers", 5000);
  if (!data)
    return error
      ? html`<${ErrorBox} error=${error} retry=${refresh} />`
      : html`<${Loading} what="writers" />`;
  if (!data.writers.length)
    return html`<${Empty} title="No producer is known here.">The leaders of partitions remember idempotent and transactional producers, for a day after their last record.<//>`;
  return html`<div class="scroll card flush"><table class="list"><thead><tr><th scope="col">Producer id</th><th scope="col">Partitions</th><th scope="col">Last record</th><th scope="col">Transaction</th></tr></thead>
    <tbody>${data.writers.map((w) => html`<tr key=${w.producer_id}><th scope="row">${w.producer_id}</th><td>${w.partitions.join(", ")}</td><td><${Time} ms=${w.last_ms} /></td><td>${w.in_transaction ? html`<${Badge} kind="warning">open<//>` : "–"}</td></tr>`)}</tbody></table></div>
    ${data.total > data.writers.length ? html`<p class="muted">${count(data.total - data.writers.length)} more are not shown.</p>` : null}`;
}

function Actions({ name, base, parts, refresh }) {
  const grow = (form) =>
    api(base + "/partitions", { method: "POST", body: { total: Number(form.get("total")) } });
  return html`<div class="columns">
    <section class="card"><h2>Grow</h2><p class="muted">Many keys then go to other partitions than before, so only records sent afterwards are in order by key. A topic can't shrink.</p>
      <${ActionForm} label="Add partitions" submit=${grow} onDone=${() => {
        toast("Added partitions.");
        refresh();
      }}>
        <label>Partitions afterwards <input name="total" type="number" min=${parts.length + 1} defaultValue=${parts.length + 1} required /></label><//></section>
    <section class="card"><h2>Empty</h2><p class="muted">Deletes all records that are there now; the topic, its settings and its groups stay.</p>
      <${ConfirmName} name=${name} label="Delete all records" onSubmit=${(confirm) => api(base + "/empty", { method: "POST", body: { confirm } })} onDone=${() => {
        toast(`Emptied ${name}.`);
        refresh();
      }} /></section>
    <section class="card"><h2>Delete</h2><p class="muted">Deletes the topic with all its records. Nothing brings it back.</p>
      <${ConfirmName} name=${name} label="Delete topic" onSubmit=${(confirm) => api(base, { method: "DELETE", body: { confirm } })} onDone=${() => {
        toast(`Deleted topic ${name}.`);
        navigate("/topics");
      }} /></section></div>`;
}
