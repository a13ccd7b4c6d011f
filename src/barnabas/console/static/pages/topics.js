// The list of topics: searched, sorted and cut into pages by the server.
import { html, useState } from "../vendor/htm-preact.js";
import { api, query, session, usePoll } from "../lib/api.js";
import { bytes, compact, count, rate } from "../lib/format.js";
import { groupPath, navigate, setParams, topicPath, useLocation } from "../lib/route.js";
import {
  ActionForm,
  Badge,
  Empty,
  ErrorBox,
  Loading,
  Modal,
  Pager,
  SearchBox,
  SortHead,
  toast,
} from "../lib/ui.js";

const COLUMNS = [
  ["name", "Topic"],
  ["partitions", "Partitions", true],
  [null, "Replicas", true],
  ["records_s", "Records/s", true],
  ["bytes_in_s", "In", true],
  ["size", "Size", true],
  ["lag", "Slowest lag", true],
];

export function Topics() {
  const { params } = useLocation();
  const [creating, setCreating] = useState(false);
  const sort = params.get("sort") ?? "name",
    descending = params.get("desc") === "true",
    page = Number(params.get("page") ?? 1);
  const search = params.get("q") ?? "",
    internal = params.get("internal") === "true";
  const { data, error, refresh } = usePoll(
    "/api/topics" + query({ search, sort, descending, page, internal }),
    3000,
  );
  return html`<header class="page-head"><h1>Topics</h1>${data ? html`<span class="muted">${count(data.total)}</span>` : null}<span class="grow"></span>
      ${session.current.read_only ? null : html`<button type="button" class="primary" onClick=${() => setCreating(true)}>New topic</button>`}</header>
    <div class="toolbar"><${SearchBox} label="Search topics" value=${search} onSearch=${(q) => setParams({ q, page: null })} />
      <label class="check"><input type="checkbox" checked=${internal} onChange=${(e) => setParams({ internal: e.target.checked, page: null })} /> Internal topics</label></div>
    <${ErrorBox} error=${error ?? (data?.error ? { message: data.error, hint: "What is shown is the last that was known." } : null)} />
    ${
      !data
        ? error
          ? null
          : html`<${Loading} what="topics" />`
        : data.topics.length === 0
          ? html`
      <${Empty} title=${search ? `No topic has “${search}” in its name.` : "There are no topics yet."}>${search ? "Try a shorter word, or include internal topics." : html`Create one here, or with <code>barnabas topics create NAME</code>.`}<//>`
          : html`
    <div class="scroll card flush"><table class="list"><${SortHead} columns=${COLUMNS} sort=${sort} descending=${descending} />
      <tbody>${data.topics.map(
        (t) => html`<tr key=${t.name}><th scope="row"><a href=${topicPath(t.name)}>${t.name}</a>
          ${t.offline ? html` <${Badge} kind="bad">${t.offline} offline<//>` : t.under_replicated ? html` <${Badge} kind="warning">${t.under_replicated} under-replicated<//>` : null}</th>
        <td class="num">${count(t.partitions)}</td><td class="num">${t.replication}</td><td class="num">${rate(t.records_s)}</td><td class="num">${bytes(t.bytes_in_s)}/s</td><td class="num">${bytes(t.size)}</td>
        <td class="num">${t.slowest === null ? html`<span class="muted">no reader</span>` : html`<a href=${groupPath(t.slowest)} title=${`Group ${t.slowest}: ${count(t.lag)} records behind`}>${compact(t.lag)}</a>`}</td></tr>`,
      )}</tbody></table></div>
    <${Pager} page=${data.page} size=${data.size} total=${data.total} />`
    }
    ${creating ? html`<${NewTopic} onClose=${() => setCreating(false)} onDone=${refresh} />` : null}`;
}

function NewTopic({ onClose, onDone }) {
  const submit = async (form) => {
    const settings =
      form.get("cleanup") === "delete" ? {} : { "cleanup.policy": form.get("cleanup") };
    if (form.get("retention"))
      settings["retention.ms"] = String(Math.round(Number(form.get("retention")) * 3600000));
    const name = form.get("name").trim();
    const number = (field) => (form.get(field) ? Number(form.get(field)) : undefined);
    await api("/api/topics", {
      method: "POST",
      body: {
        name,
        partitions: number("partitions"),
        replication: number("replication"),
        settings,
      },
    });
    return name;
  };
  const done = (name) => {
    toast(`Created topic ${name}.`);
    onClose();
    onDone();
    navigate(topicPath(name));
  };
  return html`<${Modal} title="New topic" onClose=${onClose}><${ActionForm} label="Create topic" submit=${submit} onDone=${done}>
    <label>Name <input name="name" required pattern="[A-Za-z0-9._\\-]{1,249}" title="Letters, digits, dot, underscore, hyphen" autocomplete="off" spellcheck=${false} autofocus /></label>
    <div class="pair"><label>Partitions <input name="partitions" type="number" min="1" max="10000" placeholder="cluster's default" /></label>
      <label>Replicas <input name="replication" type="number" min="1" max="100" placeholder="cluster's default" /></label></div>
    <div class="pair"><label>Cleanup <select name="cleanup"><option value="delete">delete old records</option><option value="compact">compact: keep the last of each key</option><option value="compact,delete">both</option></select></label>
      <label>Keep for (hours) <input name="retention" type="number" min="0" step="any" placeholder="cluster's default" /></label></div><//><//>`;
}
