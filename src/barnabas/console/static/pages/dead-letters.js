// Records that handlers, queues or pipelines have given up: looked at, sent back, deleted.
import { html, useState } from "../vendor/htm-preact.js";
import { api, query, session, usePoll } from "../lib/api.js";
import { Time, Visible, count } from "../lib/format.js";
import { setParams, topicPath, useLocation } from "../lib/route.js";
import {
  ActionForm,
  Badge,
  ConfirmName,
  Empty,
  ErrorBox,
  Loading,
  Modal,
  SearchBox,
  toast,
} from "../lib/ui.js";

export function DeadLetters({ topic }) {
  const reason = useLocation().params.get("reason") ?? "";
  const [open, setOpen] = useState(null);
  const { data, error, refresh } = usePoll("/api/dead-letters" + query({ topic, reason }), 10000);
  const replay = () => api("/api/dead-letters/replay", { method: "POST", body: { topic, reason } });
  const replayed = ({ sent, left, uncertain }) => {
    const parts = Object.entries(sent).map(([name, n]) => `${count(n)} to ${name}`);
    toast(
      (parts.length
        ? `Sent back ${parts.join(", ")}.`
        : left || uncertain.length
          ? "None were sent back."
          : "All were sent back before.") +
        (left ? ` ${count(left)} left, which the reason has passed over.` : "") +
        (uncertain.length
          ? ` Left out ${uncertain.map((u) => `${u.partition}:${u.first} to ${u.partition}:${u.last}`).join(", ")}: some of these were sent back. Reset the offsets of group ${data.group} to send all again.`
          : ""),
    );
    setOpen(null);
    refresh();
  };
  const drop = (confirm) =>
    api("/api/dead-letters/drop", {
      method: "POST",
      body: { topic, confirm, replayed: open === "drop-replayed" },
    });
  const dropped = ({ deleted, kept }) => {
    toast(
      `Deleted ${count(deleted)} dead letters.${kept ? ` ${count(kept)} stay: they, or one before them, were passed over when letters were sent back.` : ""}`,
    );
    setOpen(null);
    refresh();
  };
  return html`<nav class="crumbs" aria-label="Path"><a href="/pipelines">Pipelines</a></nav><header class="page-head"><h1 class="name">Dead letters in ${topic}</h1>${data ? html`<span class="muted">${data.complete ? count(data.total) : `at least ${count(data.total)}`}</span>` : null}</header>
    <div class="toolbar"><${SearchBox} label="Search in reasons" value=${reason} onSearch=${(text) => setParams({ reason: text })} /><span class="grow"></span><a class="button" href=${topicPath(topic)}>All messages</a>
      ${session.current.read_only || !data?.letters.length ? null : html`<button type="button" class="primary" onClick=${() => setOpen("replay")}>Send back</button><button type="button" onClick=${() => setOpen("drop-replayed")}>Delete those sent back</button><button type="button" onClick=${() => setOpen("drop")}>Delete all</button>`}</div>
    <${ErrorBox} error=${error} retry=${refresh} />${data && !data.complete ? html`<p class="notice warning" role="status">The list is not complete: it looks at the newest ${count(data.looked_at)} records of each partition, and at most at 64 MB. Older ones are among <a href=${topicPath(topic)}>all messages</a>; sending back and deleting concern them too.</p>` : null}${
      !data
        ? error
          ? null
          : html`<${Loading} what="dead letters" />`
        : !data.letters.length
          ? html`<${Empty} title=${reason ? "No dead letter has such a reason." : "There are no dead letters here."}>${reason ? "Try a shorter word." : "Records that can't be processed appear here, with the reason."}<//>`
          : html`
    <div class="scroll card flush"><table class="list letters"><thead><tr><th scope="col">Record</th><th scope="col">Given up</th><th scope="col">Reason</th><th scope="col">Content</th><th scope="col"><span class="sr">State</span></th></tr></thead>
      <tbody>${data.letters.map(
        (
          l,
        ) => html`<tr key=${`${l.partition}:${l.offset}`}><th scope="row"><a href=${`${topicPath(topic)}?m=${l.partition}:${l.offset}`} aria-label=${`Open dead letter ${l.partition}:${l.offset}`}>${l.origin.topic} ${l.origin.partition}:${l.origin.offset}</a>${l.group ? html`<p class="muted">group ${l.group}, ${l.attempts} attempts</p>` : null}</th>
        <td><${Time} ms=${l.timestamp} /></td><td class="reason"><${Visible} text=${l.reason} /></td><td class="mono preview"><${Visible} text=${l.value.kind === "null" ? "null" : l.value.text} /></td><td>${l.replayed ? html`<${Badge} kind="good">sent back<//>` : null}</td></tr>`,
      )}</tbody></table></div>
      ${data.total > data.letters.length ? html`<p class="muted">The newest ${count(data.letters.length)} of ${count(data.total)}.</p>` : null}`
    }
    ${
      open === "replay"
        ? html`<${Modal} title="Send dead letters back" onClose=${() => setOpen(null)}><p>Those of ${topic} that were not sent back yet go to the topics that they came from, as they were${reason ? html`; only those with <b>${reason}</b> in their reason, and the others can be sent back later` : ""}. Each is sent once: group <code>${data.group}</code> keeps track.</p>
      <${ActionForm} label="Send back" submit=${replay} onDone=${replayed} /><//>`
        : null
    }
    ${open === "drop" || open === "drop-replayed" ? html`<${Modal} title="Delete dead letters" onClose=${() => setOpen(null)}><p class="muted">${open === "drop" ? "Deletes all of them, also those that were not sent back." : "Deletes those that were sent back, up to the first that was passed over."} Nothing brings them back.</p><${ConfirmName} name=${topic} label="Delete dead letters" onSubmit=${drop} onDone=${dropped} /><//>` : null}`;
}
