// One group: how far it is, who is in it, and moving it.
import { html, useState } from "../vendor/htm-preact.js";
import { api, session, usePoll } from "../lib/api.js";
import { compact, count, duration } from "../lib/format.js";
import { Plot, Spark } from "../lib/plot.js";
import { navigate, topicPath, useLocation } from "../lib/route.js";
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

const TABS = [
  ["partitions", "Partitions"],
  ["members", "Members"],
  ["reset", "Reset offsets"],
  ["actions", "Delete"],
];

export function Group({ id }) {
  const { params } = useLocation();
  const tab = params.get("tab") ?? "partitions";
  const { data, error, refresh } = usePoll("/api/group?id=" + encodeURIComponent(id), 3000);
  const tabs = session.current.read_only ? TABS.slice(0, 2) : TABS;
  const head = html`<nav class="crumbs" aria-label="Path"><a href="/groups">Groups</a></nav><header class="page-head"><h1 class="name">${id}</h1>
    ${data ? html`<${State} of=${data.state} /><${Badge} kind="quiet">${data.type}<//>` : null}</header>`;
  if (!data)
    return html`${head}${error ? html`<${ErrorBox} error=${error} retry=${refresh} />` : html`<${Loading} what="the group" />`}`;
  return html`${head}<${ErrorBox} error=${error} />
    <dl class="facts small"><${Fact} name="Lag">${count(data.lag)}<//>${data.uncommitted ? html`<${Fact} name="Not committed" title="Records of partitions in which the group has committed nothing yet">${count(data.uncommitted)}<//>` : null}<${Fact} name="Behind" title="How long ago the next record to read was written">${data.lag === 0 && !data.uncommitted ? "nothing" : duration(data.behind_ms)}<//>
      <${Fact} name="Members">${count(data.members.length)}<//><${Fact} name="Partitions">${count(data.partitions.length)}<//><${Fact} name="Assignor">${data.assignor || "–"}<//></dl>
    ${data.records_progress ? html`<p class="muted">Not a group of consumers: ${data.records_progress}.</p>` : null}
    ${data.history.length > 1 ? html`<section class="plots one"><${Plot} title="Lag" times=${data.history.map((p) => p[0])} format=${compact} series=${[["records", "--warning", data.history.map((p) => p[1])]]} /></section>` : null}
    <${Tabs} tabs=${tabs} current=${tab} />
    ${
      tab === "members"
        ? html`<${Members} members=${data.members} />`
        : tab === "reset"
          ? html`<${Reset} group=${data} refresh=${refresh} />`
          : tab === "actions"
            ? html`<section class="card"><p class="muted">Deletes the group with its committed offsets. It must have no members.</p>
          <${ConfirmName} name=${id} label="Delete group" onSubmit=${(confirm) => api("/api/group", { method: "DELETE", body: { id, confirm } })} onDone=${() => {
            toast(`Deleted group ${id}.`);
            navigate("/groups");
          }} /></section>`
            : html`<${Partitions} group=${data} />`
    }`;
}

function Partitions({ group }) {
  const share = group.type === "share";
  if (!group.partitions.length)
    return html`<${Empty} title="This group reads no partition.">Its members have no assignment, and it has committed nothing.<//>`;
  return html`<div class="scroll card flush"><table class="list"><thead><tr><th scope="col">Topic</th><th scope="col" class="num">Partition</th><th scope="col" class="num">${share ? "Starts at" : "Committed"}</th><th scope="col" class="num">End</th><th scope="col" class="num">Lag</th><th scope="col">Lag over time</th>
      ${share ? html`<th scope="col" class="num">With members</th><th scope="col" class="num">To deliver again</th><th scope="col" class="num">Done ahead</th>` : html`<th scope="col">Behind</th><th scope="col">Member</th>`}</tr></thead>
    <tbody>${group.partitions.map(
      (
        p,
      ) => html`<tr key=${p.topic + p.partition}><th scope="row"><a href=${topicPath(p.topic)}>${p.topic}</a></th><td class="num">${p.partition}</td><td class="num">${count(p.committed)}</td><td class="num">${count(p.end)}</td>
      <td class="num">${p.lag ? html`<b>${count(p.lag)}</b>` : count(p.lag)}${p.deleted ? html`<p class="muted">${count(p.deleted)} deleted unread</p>` : null}</td><td><${Spark} points=${group.partition_history[`${p.topic}-${p.partition}`]} label=${`Lag of ${p.topic} ${p.partition} over time`} /></td>
      ${
        share
          ? html`<td class="num">${count(p.in_flight?.acquired)}</td><td class="num">${count(p.in_flight?.released)}</td><td class="num">${count(p.in_flight?.done)}</td>`
          : html`<td>${p.lag ? duration(p.behind_ms) : ""}</td><td class="member">${p.member ?? html`<span class="muted">none</span>`}</td>`
      }</tr>`,
    )}</tbody></table></div>`;
}

function Members({ members }) {
  if (!members.length)
    return html`<${Empty} title="The group has no members.">Its committed offsets stay until they expire; a consumer that joins goes on from there.<//>`;
  return html`<div class="scroll card flush"><table class="list"><thead><tr><th scope="col">Member</th><th scope="col">Client</th><th scope="col">Host</th><th scope="col">Reads</th></tr></thead>
    <tbody>${members.map(
      (
        m,
      ) => html`<tr key=${m.id}><th scope="row" class="member">${m.id}${m.instance_id ? html` <${Badge} kind="quiet">${m.instance_id}<//>` : null}</th><td>${m.client_id}</td><td>${m.host}</td>
      <td>${m.partitions.length ? m.partitions.join(", ") : html`<span class="muted">nothing</span>`}</td></tr>`,
    )}</tbody></table></div>`;
}

function Reset({ group, refresh }) {
  const [to, setTo] = useState("earliest");
  const [plan, setPlan] = useState(null);
  const topics = [...new Set(group.partitions.map((p) => p.topic))];
  const body = (form) => {
    const asked = { id: group.id, to, topic: form.get("topic") || undefined };
    if (to === "time") asked.number = new Date(form.get("time")).getTime();
    else if (to === "offset" || to === "shift") asked.number = Number(form.get("number"));
    return asked;
  };
  const preview = async (form) => {
    const asked = body(form);
    const made = await api("/api/group/reset", { method: "POST", body: asked });
    return { asked, ...made };
  };
  const apply = async () =>
    api("/api/group/reset", { method: "POST", body: { ...plan.asked, execute: true } });
  return html`<section class="card"><p class="muted">Moves where the group goes on reading. It must have no members; offsets outside a log become its beginning or end.</p>
    ${group.state !== "Empty" && group.state !== "Dead" ? html`<p class="notice warning">The group is ${group.state}: stop its consumers before you apply a plan.</p>` : null}
    <${ActionForm} label="Preview" submit=${preview} onDone=${setPlan}><div class="pair">
      <label>Topic <select name="topic"><option value="">all that it has committed</option>${topics.map((t) => html`<option key=${t}>${t}</option>`)}</select></label>
      <label>To <select value=${to} onChange=${(e) => {
        setTo(e.target.value);
        setPlan(null);
      }}><option value="earliest">the beginning</option><option value="latest">the end</option><option value="time">a time</option><option value="offset">an offset</option><option value="shift">so many records on or back</option></select></label>
      ${to === "time" ? html`<label>Time <input name="time" type="datetime-local" step="1" required /></label>` : to === "offset" || to === "shift" ? html`<label>Number <input name="number" type="number" required /></label>` : null}</div><//>
    ${
      plan
        ? html`<h3>What would change</h3><div class="scroll"><table class="list"><thead><tr><th scope="col">Partition</th><th scope="col" class="num">Now</th><th scope="col" class="num">Then</th><th scope="col" class="num">Change</th></tr></thead>
      <tbody>${plan.plan.map((m) => html`<tr key=${m.topic + m.partition}><th scope="row">${m.topic} ${m.partition}</th><td class="num">${count(m.current)}</td><td class="num">${count(m.new)}</td><td class="num">${m.change === null ? "new" : m.change > 0 ? `+${count(m.change)}` : count(m.change)}</td></tr>`)}</tbody></table></div>
      <${ActionForm} danger label="Apply this plan" submit=${apply} onDone=${() => {
        toast("Moved the group.");
        setPlan(null);
        refresh();
      }} />`
        : null
    }</section>`;
}
