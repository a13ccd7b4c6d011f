// The list of groups.
import { html } from "../vendor/htm-preact.js";
import { query, usePoll } from "../lib/api.js";
import { count, rate } from "../lib/format.js";
import { groupPath, setParams, topicPath, useLocation } from "../lib/route.js";
import { Empty, ErrorBox, Loading, Pager, SearchBox, SortHead, State } from "../lib/ui.js";

const COLUMNS = [
  ["id", "Group"],
  ["type", "Type"],
  ["state", "State"],
  [null, "Topics"],
  ["read_s", "Reads/s", true],
  ["lag", "Lag", true],
];

export function Groups() {
  const { params } = useLocation();
  const sort = params.get("sort") ?? "id",
    descending = params.get("desc") === "true",
    page = Number(params.get("page") ?? 1);
  const search = params.get("q") ?? "",
    type = params.get("type") ?? "";
  const { data, error } = usePoll(
    "/api/groups" + query({ search, sort, descending, page, type }),
    3000,
  );
  return html`<header class="page-head"><h1>Groups</h1>${data ? html`<span class="muted">${count(data.total)}</span>` : null}</header>
    <div class="toolbar"><${SearchBox} label="Search groups and topics" value=${search} onSearch=${(q) => setParams({ q, page: null })} />
      <label class="inline">Type <select value=${type} onChange=${(e) => setParams({ type: e.target.value, page: null })}><option value="">all</option><option>classic</option><option>consumer</option><option>share</option></select></label></div>
    <${ErrorBox} error=${error ?? (data?.error ? { message: data.error, hint: "What is shown is the last that was known." } : null)} />
    ${
      !data
        ? error
          ? null
          : html`<${Loading} what="groups" />`
        : data.groups.length === 0
          ? html`
      <${Empty} title=${search || type ? "No group matches." : "No group has committed offsets yet."}>${search || type ? "Try a shorter word or another type." : html`Groups appear when consumers join them, for example <code>barnabas consume TOPIC --group NAME</code>.`}<//>`
          : html`
    <div class="scroll card flush"><table class="list"><${SortHead} columns=${COLUMNS} sort=${sort} descending=${descending} />
      <tbody>${data.groups.map(
        (
          g,
        ) => html`<tr key=${g.id}><th scope="row"><a href=${groupPath(g.id)}>${g.id}</a></th><td>${g.type}</td><td><${State} of=${g.state} /></td>
        <td class="topics">${g.topics.map((t, n) => html`${n ? ", " : ""}<a key=${t} href=${topicPath(t)}>${t}</a>`)}${g.topic_count > g.topics.length ? html`<span class="muted"> and ${g.topic_count - g.topics.length} more</span>` : null}</td>
        <td class="num">${rate(g.read_s)}</td><td class="num">${count(g.lag)}</td></tr>`,
      )}</tbody></table></div>
    <${Pager} page=${data.page} size=${data.size} total=${data.total} />`
    }`;
}
