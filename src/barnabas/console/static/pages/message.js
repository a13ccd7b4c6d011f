// One message, in a panel at the side.
import { html, useEffect, useState } from "../vendor/htm-preact.js";
import { api, session, usePoll } from "../lib/api.js";
import { Time, Visible, bytes, count, fromHex, hexDump, iso } from "../lib/format.js";
import { ActionForm, Badge, ErrorBox, Loading, copy, toast } from "../lib/ui.js";

export function Message({ base, topic, at, onClose }) {
  const [partition, offset] = at.split(":");
  const path = `${base}/messages/${encodeURIComponent(partition)}/${encodeURIComponent(offset)}`;
  const { data, error, refresh } = usePoll(path);
  useEffect(() => {
    const close = (event) => {
      if (event.key === "Escape" && !document.querySelector("dialog[open]")) onClose();
    };
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, []);
  return html`<aside class="panel" aria-label=${`Message ${offset} of partition ${partition}`}><header class="dialog-head"><h2>Partition ${partition}, offset ${count(Number(offset))}</h2>
      <button type="button" class="plain" aria-label="Close" onClick=${onClose}>✕</button></header>
    ${!data ? (error ? html`<${ErrorBox} error=${error} retry=${refresh} />` : html`<${Loading} what="the message" />`) : html`<${Shown} message=${data} path=${path} topic=${topic} />`}</aside>`;
}

function Shown({ message: m, path, topic }) {
  const [again, setAgain] = useState(false);
  return html`<p class="muted"><${Time} ms=${m.timestamp} precise /> · ${iso(m.timestamp)}
      ${m.transaction ? html` <${Badge} kind=${{ aborted: "bad", open: "warning" }[m.transaction] ?? "quiet"}>transaction ${m.transaction}<//>` : null}
      ${m.masked ? html` <${Badge} kind="quiet">masked by rule<//>` : null}</p>
    <${Part} name="Key" of=${m.key} /><${Part} name="Value" of=${m.value} open />
    ${
      m.headers.length
        ? html`<h3>Headers</h3><table class="headers"><tbody>${m.headers.map((h, n) => html`<tr key=${n}><th scope="row"><${Visible} text=${h.name} /></th><td>${h.value.kind === "null" ? html`<span class="muted">null</span>` : html`<span class="mono"><${Visible} text=${h.value.text} /></span>`}</td></tr>`)}</tbody></table>
      ${m.header_count > m.headers.length ? html`<p class="muted">${count(m.header_count - m.headers.length)} more headers are not shown.</p>` : null}`
        : null
    }
    <div class="form-end"><a class="button" href=${path + "/value"} download>Download the value</a>
      ${session.current.read_only ? null : html`<button type="button" onClick=${() => setAgain(!again)} aria-expanded=${again}>Send again…</button>`}</div>
    ${
      again
        ? html`<${ActionForm} label="Send a copy" submit=${(form) => api(path + "/send-again", { method: "POST", body: { to: form.get("to") } })}
      onDone=${(sent) => {
        setAgain(false);
        toast(`Sent to ${sent.topic}, partition ${sent.partition}, offset ${sent.offset}.`);
      }}><label>To topic <input name="to" defaultValue=${topic} required spellcheck=${false} /></label><//>`
        : null
    }`;
}

function Part({ name, of, open }) {
  const views =
    of.kind === "null"
      ? []
      : of.kind === "binary"
        ? ["hex"]
        : of.kind === "json"
          ? ["pretty", "text", "hex"]
          : ["text", "hex"];
  const [view, setView] = useState(views[0]);
  const data = () => (of.kind === "binary" ? fromHex(of.text) : new TextEncoder().encode(of.text));
  const shown = view === "pretty" ? (of.pretty ?? of.text) : of.text;
  return html`<section class="part"><header><h3>${name}</h3><span class="muted">${of.kind === "null" ? "null" : `${of.schema && !of.problem ? of.schema : of.kind}, ${bytes(of.size)}`}${of.schema_id !== undefined ? `, schema ${of.schema_id}` : ""}</span><span class="grow"></span>
      ${views.length > 1 ? html`<span class="segmented" role="group" aria-label=${`${name} as`}>${views.map((v) => html`<button key=${v} type="button" aria-pressed=${v === view} onClick=${() => setView(v)}>${v}</button>`)}</span>` : null}
      ${of.kind === "null" ? null : html`<button type="button" class="plain" onClick=${() => copy(shown, name.toLowerCase())}>Copy</button>`}</header>
    ${of.kind === "null" ? null : html`<pre class=${open ? "tall" : ""} tabindex="0" aria-label=${name}>${view === "hex" ? hexDump(data()) : html`<${Visible} text=${shown.slice(0, 100000)} />`}</pre>`}
    ${of.problem ? html`<p class="muted">Not decoded by schema ${of.schema_id}: ${of.problem}.</p>` : null}
    ${of.truncated || shown.length > 100000 ? html`<p class="muted">Only the beginning is shown; the download has all ${bytes(of.size)}.</p>` : null}</section>`;
}
