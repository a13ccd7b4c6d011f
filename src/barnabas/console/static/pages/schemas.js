// The subjects of a schema registry.
import { html } from "../vendor/htm-preact.js";
import { query, usePoll } from "../lib/api.js";
import { count } from "../lib/format.js";
import { setParams, subjectPath, useLocation } from "../lib/route.js";
import { Empty, ErrorBox, Loading, Pager, SearchBox } from "../lib/ui.js";

export function Schemas() {
  const { params } = useLocation();
  const search = params.get("q") ?? "",
    page = Number(params.get("page") ?? 1);
  const { data, error } = usePoll("/api/schemas" + query({ search, page }), 10000);
  return html`<header class="page-head"><h1>Schemas</h1>${data?.configured ? html`<span class="muted">${count(data.total)}</span>` : null}</header>
    ${data?.configured ? html`<div class="toolbar"><${SearchBox} label="Search subjects" value=${search} onSearch=${(q) => setParams({ q, page: null })} /></div>` : null}
    <${ErrorBox} error=${error} />
    ${!data ? (error ? null : html`<${Loading} what="subjects" />`) : html`<${Subjects} data=${data} search=${search} />`}`;
}

function Subjects({ data, search }) {
  if (!data.configured)
    return html`<${Empty} title="This console knows no schema registry.">Start it with <code>barnabas console --registry URL</code>, or both with <code>barnabas server --registry --console</code>.<//>`;
  if (!data.subjects.length)
    return html`<${Empty} title=${search ? "No subject matches." : "No schema is registered yet."}>${search ? "Try a shorter word." : html`Register one with <code>barnabas schemas register SUBJECT FILE</code>.`}<//>`;
  return html`<div class="scroll card flush"><table class="list"><thead><tr><th scope="col">Subject</th><th scope="col">Type</th><th scope="col" class="num">Versions</th><th scope="col" class="num">Latest</th><th scope="col" class="num">Id</th></tr></thead>
      <tbody>${data.subjects.map(
        (s) =>
          html`<tr key=${s.subject}><th scope="row"><a href=${subjectPath(s.subject)}>${s.subject}</a></th><td>${s.type}</td><td class="num">${count(s.versions)}</td><td class="num">${s.version}</td><td class="num">${s.id}</td></tr>`,
      )}</tbody></table></div>
    <${Pager} page=${data.page} size=${data.size} total=${data.total} />`;
}
