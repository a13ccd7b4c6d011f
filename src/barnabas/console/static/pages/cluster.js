// Nodes, disks, the quorum, settings, transactions.
import { html, useState } from "../vendor/htm-preact.js";
import { api, session, usePoll } from "../lib/api.js";
import { Time, bytes, count, duration, rate } from "../lib/format.js";
import { topicPath, useLocation } from "../lib/route.js";
import {
  ActionForm,
  Badge,
  Empty,
  ErrorBox,
  Fact,
  Loading,
  Modal,
  State,
  Tabs,
  toast,
} from "../lib/ui.js";
import { Settings } from "./settings.js";

const TABS = [
  ["nodes", "Nodes"],
  ["disks", "Disks"],
  ["quorum", "Quorum"],
  ["settings", "Settings"],
  ["transactions", "Transactions"],
  ["problems", "Problems"],
];

export function Cluster() {
  const { params } = useLocation();
  const tab = params.get("tab") ?? "nodes";
  const { data, error, refresh } = usePoll("/api/cluster", 3000);
  if (!data)
    return html`<h1>Cluster</h1>${error ? html`<${ErrorBox} error=${error} retry=${refresh} />` : html`<${Loading} what="the cluster" />`}`;
  const controller = data.nodes.find((n) => n.controller);
  return html`<header class="page-head"><h1>Cluster</h1></header>
    <${ErrorBox} error=${error ?? (data.error ? { message: data.error, hint: "What is shown is the last that was known." } : null)} />
    <dl class="facts small"><${Fact} name="Cluster id"><code>${data.cluster_id}</code><//><${Fact} name="Nodes">${data.nodes.filter((n) => n.state === "up").length} of ${data.nodes.length} up<//>
      <${Fact} name="Controller">${controller ? `node ${controller.id}` : "–"}<//><${Fact} name="Partitions moving">${count(data.move_count)}<//></dl>
    <${Tabs} tabs=${TABS} current=${tab} />
    ${
      tab === "nodes"
        ? html`<${Nodes} data=${data} refresh=${refresh} />`
        : tab === "disks"
          ? html`<${Disks} disks=${data.disks} />`
          : tab === "quorum"
            ? html`<${Quorum} quorum=${data.quorum} />`
            : tab === "settings"
              ? html`<${NodeSettings} nodes=${data.nodes} />`
              : tab === "problems"
                ? html`<${Problems} />`
                : html`<${Transactions} />`
    }`;
}

function Nodes({ data, refresh }) {
  return html`<div class="scroll card flush"><table class="list"><thead><tr><th scope="col">Node</th><th scope="col">State</th><th scope="col">Role</th><th scope="col" class="num">Leads</th><th scope="col" class="num">Replicas</th><th scope="col" class="num">Records/s</th><th scope="col" class="num">In</th><th scope="col" class="num">Out</th><th scope="col" class="num">Connections</th><th scope="col">Version</th></tr></thead>
    <tbody>${data.nodes.map(
      (
        n,
      ) => html`<tr key=${n.id}><th scope="row"><b>${n.id}</b> <span class="muted">${n.address}</span></th><td><${State} of=${n.state} /></td><td>${n.controller ? html`<${Badge} kind="accent">controller<//>` : (n.role ?? "–")}</td>
      <td class="num">${count(n.leaders)}</td><td class="num">${count(n.replicas)}</td><td class="num">${rate(n.records_s)}</td><td class="num">${bytes(n.bytes_in_s)}</td><td class="num">${bytes(n.bytes_out_s)}</td><td class="num">${count(n.connections)}</td><td>${data.versions[n.id] ?? "–"}</td></tr>`,
    )}</tbody></table></div>
    ${data.moves.length ? html`<${Moves} moves=${data.moves} total=${data.move_count} refresh=${refresh} />` : null}
    ${data.certificates.length ? html`<section class="card"><h2>Certificates</h2><ul class="rows">${data.certificates.map((c) => html`<li key=${c.node}><span>node ${c.node}</span><${Expiry} ms=${c.expires_ms} /></li>`)}</ul></section>` : null}`;
}

function Expiry({ ms }) {
  const days = Math.floor((ms - Date.now()) / 86400000);
  return html`<span>expires <${Time} ms=${ms} /> <${Badge} kind=${days < 7 ? "bad" : days < 30 ? "warning" : "good"}>${days < 0 ? "expired" : days === 1 ? "in 1 day" : `in ${count(days)} days`}<//></span>`;
}

function Moves({ moves, total, refresh }) {
  const cancel = async (m) => {
    try {
      await api("/api/cluster/moves/cancel", {
        method: "POST",
        body: { topic: m.topic, partition: m.partition },
      });
      toast(`Called the move of ${m.topic} ${m.partition} off.`);
      refresh();
    } catch (error) {
      toast(error.message, "bad");
    }
  };
  return html`<section class="card"><h2>Partitions that move</h2><div class="scroll"><table class="list"><thead><tr><th scope="col">Partition</th><th scope="col">To</th><th scope="col">From</th><th scope="col">Copied</th><th scope="col"><span class="sr">Call off</span></th></tr></thead>
    <tbody>${moves.map(
      (
        m,
      ) => html`<tr key=${m.topic + " " + m.partition}><th scope="row"><a href=${topicPath(m.topic, "partitions")}>${m.topic} ${m.partition}</a></th><td>${m.adding.length ? `node ${m.adding.join(", ")}` : "–"}</td><td>${m.removing.length ? `node ${m.removing.join(", ")}` : "–"}</td>
      <td>${m.copies.map((c) => html`<p key=${c.node}><progress aria-label=${`Copy of ${m.topic} ${m.partition} on node ${c.node}`} max=${Math.max(c.of, 1)} value=${Math.min(c.has, c.of)}></progress> ${c.of ? Math.min(100, Math.floor((c.has / c.of) * 100)) : 100} % <span class="muted">of ${bytes(c.of)}</span></p>`)}</td>
      <td>${session.current.read_only ? null : html`<button type="button" onClick=${() => cancel(m)} aria-label=${`Call the move of ${m.topic} ${m.partition} off`}>Call off</button>`}</td></tr>`,
    )}</tbody></table></div>
    ${total > moves.length ? html`<p class="muted">The first ${count(moves.length)} of ${count(total)}.</p>` : null}</section>`;
}

function Problems() {
  const { data, error, refresh } = usePoll("/api/cluster/problems", 5000);
  if (!data)
    return error
      ? html`<${ErrorBox} error=${error} retry=${refresh} />`
      : html`<${Loading} what="problems" />`;
  const { findings } = data.health,
    seen = data.events.filter((e) => e.severity !== "info");
  return html`<h2>Now</h2>${findings.length ? html`<section class="card"><ul class="findings">${findings.map((f) => html`<li key=${f.what}><${Badge} kind=${f.severity === "critical" ? "bad" : "warning"}>${f.severity}<//><div>${f.what}<p class="fix">${f.fix}</p></div></li>`)}</ul></section>` : html`<p class="muted">${data.health.level ? "The checks find nothing wrong." : "The checks have not run yet."}</p>`}
    <h2>While this console watched</h2>${seen.length ? html`<section class="card"><ul class="events log">${seen.map((e) => html`<li key=${e.number} class=${e.severity}><span class="light" aria-hidden="true"></span><span class="what">${e.link ? html`<a href=${e.link}>${e.what}</a>` : e.what}</span><${Time} ms=${e.at_ms} /></li>`)}</ul></section>` : html`<p class="muted">Nothing. Nodes and pipelines that fail, leaders that are lost and replicas that fall behind appear here; the logs of the nodes have more.</p>`}`;
}

function Disks({ disks }) {
  if (!disks.length)
    return html`<${Empty} title="No node has told of its disks yet.">The user of this console may not be allowed to see them.<//>`;
  return html`<div class="scroll card flush"><table class="list"><thead><tr><th scope="col">Node</th><th scope="col">Directory</th><th scope="col">State</th><th scope="col" class="num">Replicas</th><th scope="col" class="num">Logs</th><th scope="col" class="num">Free</th><th scope="col">Used</th></tr></thead>
    <tbody>${disks.map(
      (
        d,
      ) => html`<tr key=${d.node + d.path}><th scope="row">${d.node}</th><td><code>${d.path}</code></td><td>${d.error ? html`<${Badge} kind="bad">${d.error}<//>` : html`<${Badge} kind="good">ok<//>`}</td>
      <td class="num">${count(d.replicas)}</td><td class="num">${bytes(d.used)}</td><td class="num">${bytes(d.usable)}</td><td>${d.total ? html`<progress aria-label=${`Disk of node ${d.node} in use`} max=${d.total} value=${d.total - d.usable}></progress> ${Math.round((1 - d.usable / d.total) * 100)} %` : "–"}</td></tr>`,
    )}</tbody></table></div>`;
}

function Quorum({ quorum }) {
  if (!quorum)
    return html`<${Empty} title="The quorum is not known.">There is no controller, or this cluster keeps it to itself.<//>`;
  return html`<p>Node ${quorum.leader_id} leads in epoch ${quorum.epoch}; the metadata log is committed up to offset ${count(quorum.high_watermark)}.</p>
    <div class="scroll card flush"><table class="list"><thead><tr><th scope="col">Voter</th><th scope="col" class="num">Records behind</th><th scope="col" class="num">Time behind</th><th scope="col">State</th></tr></thead>
    <tbody>${quorum.voters.map((v) => html`<tr key=${v.node_id}><th scope="row">${v.node_id}</th><td class="num">${count(v.lag)}</td><td class="num">${duration(v.behind_ms)}</td><td>${v.node_id === quorum.leader_id ? html`<${Badge} kind="accent">leader<//>` : v.has_lost_disk ? html`<${Badge} kind="bad">lost its disk<//>` : html`<${Badge} kind="good">follows<//>`}</td></tr>`)}</tbody></table></div>`;
}

function NodeSettings({ nodes }) {
  const [node, setNode] = useState(nodes[0]?.id);
  return html`<label class="inline">Node <select value=${node} onChange=${(e) => setNode(e.target.value)}>${nodes.map((n) => html`<option key=${n.id} value=${n.id}>${n.id}</option>`)}</select></label>
    ${node === undefined ? null : html`<${Settings} key=${node} path=${`/api/cluster/nodes/${node}/settings`} what=${`node ${node}`} />`}`;
}

function Transactions() {
  const open = usePoll("/api/transactions", 5000),
    hanging = usePoll("/api/transactions/hanging", 30000);
  const [aborting, setAborting] = useState(null);
  const abort = () =>
    api("/api/transactions/hanging/abort", {
      method: "POST",
      body: {
        topic: aborting.topic,
        partition: aborting.partition,
        producer_id: aborting.producer_id,
      },
    });
  return html`<h2>Open</h2><${ErrorBox} error=${open.error} />${
    !open.data
      ? open.error
        ? null
        : html`<${Loading} what="transactions" />`
      : open.data.transactions.length
        ? html`
    <div class="scroll card flush"><table class="list"><thead><tr><th scope="col">Transactional id</th><th scope="col">State</th><th scope="col" class="num">Open for</th><th scope="col" class="num">Timeout</th><th scope="col">Partitions</th></tr></thead><tbody>${open.data.transactions.map((t) => html`<tr key=${t.id}><th scope="row">${t.id}</th><td>${t.state}</td><td class="num">${duration(t.open_ms)}</td><td class="num">${duration(t.timeout_ms)}</td><td>${t.partitions.join(", ")}</td></tr>`)}</tbody></table></div>`
        : html`<p class="muted">No transaction is open now.</p>`
  }
    <h2>Hanging</h2><p class="muted">No coordinator will end these, and readers of committed records wait for them. Idle for 15 minutes or more.</p><${ErrorBox} error=${hanging.error} />
    ${!hanging.data ? null : hanging.data.hanging.length ? html`<div class="scroll card flush"><table class="list"><thead><tr><th scope="col">Partition</th><th scope="col" class="num">Producer</th><th scope="col" class="num">From offset</th><th scope="col"><span class="sr">Abort</span></th></tr></thead><tbody>${hanging.data.hanging.map((h) => html`<tr key=${h.topic + h.partition + h.producer_id}><th scope="row">${h.topic} ${h.partition}</th><td class="num">${h.producer_id}</td><td class="num">${count(h.start_offset)}</td><td>${session.current.read_only ? null : html`<button type="button" class="danger" onClick=${() => setAborting(h)}>Roll back</button>`}</td></tr>`)}</tbody></table></div>` : html`<p class="muted">None hangs.</p>`}
    ${
      aborting
        ? html`<${Modal} title="Roll back a transaction" onClose=${() => setAborting(null)}><p>What producer ${aborting.producer_id} has written to ${aborting.topic} ${aborting.partition} from offset ${count(aborting.start_offset)} on in this transaction is discarded, and readers go on. Nothing brings it back.</p>
      <${ActionForm} danger label="Roll back" submit=${abort} onDone=${() => {
        toast("Rolled it back.");
        setAborting(null);
        hanging.refresh();
      }} /><//>`
        : null
    }`;
}
