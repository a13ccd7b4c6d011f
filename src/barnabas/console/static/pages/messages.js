// Messages of a topic: newest first, from a place on, live, or those that match.
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { api, query, session, stream, usePoll } from "../lib/api.js";
import { Time, Visible, bytes, count } from "../lib/format.js";
import { setParams, useLocation } from "../lib/route.js";
import { Badge, Empty, ErrorBox, Loading } from "../lib/ui.js";
import { Message } from "./message.js";
import { Produce } from "./produce.js";

const LIVE_MAX = 500;
const keyOf = (m) => `${m.partition}:${m.offset}`;

export function Messages({ topic, partitions }) {
  const { params } = useLocation();
  const [producing, setProducing] = useState(false);
  const place = {
    from: params.get("from") ?? "newest",
    partition: params.get("partition") ?? "",
    start: params.get("start") ?? "",
    at: params.get("at") ?? "",
  };
  const search = params.get("q") ?? "",
    mode = params.get("mode") ?? "text",
    live = params.get("live") === "true";
  const selected = params.get("m");
  const base = `/api/topics/${encodeURIComponent(topic)}`;
  const asked = {
    from: place.from,
    partition: place.partition,
    start: place.from === "offset" ? place.start || 0 : undefined,
    at: place.from === "time" ? place.at : undefined,
  };
  const wanted = query(asked);
  return html`<${Controls} place=${place} partitions=${partitions} search=${search} mode=${mode} live=${live} base=${base} asked=${asked} onProduce=${() => setProducing(true)} />
    ${
      search
        ? html`<${Found} key=${wanted + search + mode} base=${base} asked=${asked} search=${search} mode=${mode} selected=${selected} />`
        : live
          ? html`<${Live} key=${place.partition} base=${base} partition=${place.partition} selected=${selected} />`
          : html`<${Pages} key=${wanted} base=${base} wanted=${asked} selected=${selected} />`
    }
    ${selected ? html`<${Message} key=${selected} base=${base} topic=${topic} at=${selected} onClose=${() => setParams({ m: null })} />` : null}
    ${producing ? html`<${Produce} base=${base} topic=${topic} partitions=${partitions} onClose=${() => setProducing(false)} />` : null}`;
}

function Controls({ place, partitions, search, mode, live, base, asked, onProduce }) {
  const [text, setText] = useState(search);
  useEffect(() => setText(search), [search]);
  const localTime = (ms) => {
    const d = new Date(Number(ms) - new Date(Number(ms)).getTimezoneOffset() * 60000);
    return ms && !Number.isNaN(d.getTime()) ? d.toISOString().slice(0, 19) : "";
  };
  const find = (event) => {
    event.preventDefault();
    setParams({ q: text.trim(), live: null, m: null }, { replace: false });
  };
  return html`<div class="toolbar messages-bar">
    <label class="inline">From <select value=${place.from} onChange=${(e) => setParams({ from: e.target.value === "newest" ? null : e.target.value, at: e.target.value === "time" ? Date.now() - 3600000 : null, live: null })}>
      <option value="newest">newest</option><option value="beginning">beginning</option><option value="offset">offset</option><option value="time">time</option></select></label>
    ${place.from === "offset" ? html`<label class="inline"><span class="sr">Offset</span><input type="number" min="0" class="narrow" value=${place.start || 0} onChange=${(e) => setParams({ start: e.target.value })} /></label>` : null}
    ${place.from === "time" ? html`<label class="inline"><span class="sr">Time</span><input type="datetime-local" step="1" value=${localTime(place.at)} onChange=${(e) => setParams({ at: new Date(e.target.value).getTime() || null })} /></label>` : null}
    <label class="inline">Partition <select value=${place.partition} onChange=${(e) => setParams({ partition: e.target.value })}><option value="">all</option>
      ${Array.from({ length: Math.min(partitions, 1000) }, (_, n) => html`<option key=${n} value=${String(n)}>${n}</option>`)}</select></label>
    <button type="button" class=${live ? "on" : ""} aria-pressed=${live} onClick=${() => setParams({ live: !live, q: null })}>${live ? "● Live" : "Live"}</button>
    <span class="downloads" role="group" aria-label="Download at most 10,000 records">${[
      ["jsonl", "JSON"],
      ["parquet", "Parquet"],
    ].map(
      ([format, label]) => html`
      <a key=${format} class="button" href=${`${base}/download` + query({ ...asked, query: search, mode, format, limit: 10000 })} download title=${`Download at most 10,000 records as ${label}`}>↓ ${label}</a>`,
    )}</span>
    <span class="grow"></span>${session.current.read_only ? null : html`<button type="button" class="primary" onClick=${onProduce}>Send a message</button>`}
    <form class="grow search-form" role="search" onSubmit=${find}><input id="search" type="search" class="search" aria-label="Search messages" placeholder=${mode === "expression" ? 'value.amount > 100 and key == "ada"' : "Search key, value, headers  ( / )"} value=${text} onInput=${(
      e,
    ) => {
      setText(e.target.value);
      if (!e.target.value && search) setParams({ q: null });
    }} autocomplete="off" spellcheck=${false} />
      <select aria-label="Kind of search" value=${mode} onChange=${(e) => setParams({ mode: e.target.value === "text" ? null : e.target.value })}><option value="text">words</option><option value="expression">expression</option></select><button>Search</button></form></div>
    ${mode === "expression" ? html`<p class="hint">Names: <code>key value text headers partition offset timestamp size</code>; <code>$.a.b</code> is <code>value.a.b</code>; functions: <code>contains startswith endswith lower length exists</code>. Example: <code>$.status == "late" and length(value.items) > 2</code></p>` : null}`;
}

function Pages({ base, wanted, selected }) {
  const { data, error, refresh } = usePoll(base + "/messages" + query({ ...wanted, limit: 50 }));
  const [more, setMore] = useState({ messages: [], cursor: undefined, busy: false, error: null });
  useEffect(() => setMore({ messages: [], cursor: undefined, busy: false, error: null }), [data]);
  if (!data)
    return error
      ? html`<${ErrorBox} error=${error} retry=${refresh} />`
      : html`<${Loading} what="messages" />`;
  const cursor = more.cursor === undefined ? data.cursor : more.cursor;
  const older = async () => {
    setMore({ ...more, busy: true, error: null });
    try {
      const next = await api(base + "/messages" + query({ ...wanted, limit: 50, cursor }));
      setMore({
        messages: [...more.messages, ...next.messages],
        cursor: next.cursor,
        busy: false,
        error: null,
      });
    } catch (failed) {
      setMore({ ...more, busy: false, error: failed });
    }
  };
  const messages = [...data.messages, ...more.messages];
  if (!messages.length)
    return html`<${Empty} title="There are no messages here.">${data.total ? "None from this place on." : html`Send one with the button above, or with <code>barnabas produce</code>.`}<//>`;
  return html`<${Table} messages=${messages} selected=${selected} /><${ErrorBox} error=${more.error} />
    <div class="more">${cursor ? html`<button type="button" disabled=${more.busy} onClick=${older}>${more.busy ? "Loading…" : wanted.from === "newest" ? "Older messages" : "Next messages"}</button>` : html`<span class="muted">${wanted.from === "newest" ? "This is the beginning." : "This is the end."}</span>`}
      <button type="button" class="plain" onClick=${refresh}>Reload</button></div>`;
}

function Live({ base, partition, selected }) {
  const [messages, setMessages] = useState(null);
  const [state, setState] = useState({ paused: false, error: null, seen: 0 });
  const cursor = useRef(null),
    paused = useRef(false);
  paused.current = state.paused;
  useEffect(() => {
    let ended = false,
      timer;
    const step = async () => {
      try {
        if (cursor.current === null) {
          const first = await api(base + "/messages" + query({ partition, limit: 20 }));
          if (ended) return;
          cursor.current = first.tail;
          setMessages(first.messages);
        } else if (!paused.current && !document.hidden) {
          const next = await api(base + "/tail" + query({ partition, cursor: cursor.current }));
          if (ended) return;
          cursor.current = next.cursor;
          if (next.messages.length) {
            setMessages((before) =>
              [...next.messages.reverse(), ...(before ?? [])].slice(0, LIVE_MAX),
            );
            setState((s) => ({
              ...s,
              seen: s.seen + next.messages.length + next.skipped,
              error: null,
            }));
          } else setState((s) => (s.error ? { ...s, error: null } : s));
        }
      } catch (error) {
        if (!ended) setState((s) => ({ ...s, error }));
      }
      if (!ended) timer = setTimeout(step, 1000);
    };
    step();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [base, partition]);
  return html`<div class="live-bar"><span role="status">${state.paused ? "Paused." : "Following."} ${count(state.seen)} new since you look.</span>
      <button type="button" onClick=${() => setState({ ...state, paused: !state.paused })}>${state.paused ? "Go on" : "Pause"}</button></div>
    <${ErrorBox} error=${state.error} />
    ${messages === null ? html`<${Loading} what="messages" />` : messages.length ? html`<${Table} messages=${messages} selected=${selected} />` : html`<${Empty} title="Waiting for the first message.">It appears here as soon as it is written.<//>`}`;
}

function Found({ base, asked, search, mode, selected }) {
  const [messages, setMessages] = useState([]);
  const [state, setState] = useState({
    progress: null,
    error: null,
    running: true,
    complete: false,
  });
  const stop = useRef(() => {});
  useEffect(() => {
    stop.current = stream(base + "/search" + query({ ...asked, query: search, mode, limit: 200 }), {
      onLine: (lines) => {
        const matches = lines.filter((line) => line.match).map((line) => line.match);
        if (matches.length) setMessages((before) => [...before, ...matches]);
        const last = lines.findLast((line) => line.progress ?? line.done);
        const failed = lines.find((line) => line.error);
        setState((s) => ({
          ...s,
          progress: last?.progress ?? last?.done ?? s.progress,
          complete: lines.at(-1).done?.complete ?? s.complete,
          error: failed ? failed.error : s.error,
        }));
      },
      onEnd: (error) => setState((s) => ({ ...s, running: false, error: error ?? s.error })),
    });
    return () => stop.current();
  }, []);
  const p = state.progress;
  return html`<div class="live-bar"><progress aria-label="Progress of the search" max=${p?.total || 1} value=${p?.scanned ?? 0}></progress>
      <span role="status">${state.running ? "Searching" : state.complete ? "Searched all" : "Stopped"}: ${count(p?.matches ?? 0)} found in ${count(p?.scanned ?? 0)} of ${count(p?.total ?? 0)} offsets</span>
      ${state.running ? html`<button type="button" onClick=${() => stop.current()}>Stop</button>` : html`<button type="button" onClick=${() => setParams({ q: null })}>Clear</button>`}</div>
    <${ErrorBox} error=${state.error} />
    ${messages.length ? html`<${Table} messages=${messages} selected=${selected} />` : state.running ? null : state.error ? null : html`<${Empty} title="Nothing matches.">Try another word, another partition, or an earlier place.<//>`}`;
}

function Table({ messages, selected }) {
  const open = (m) => setParams({ m: keyOf(m) });
  return html`<div class="scroll card flush"><table class="list messages"><thead><tr><th scope="col">Time</th><th scope="col" class="num">Partition</th><th scope="col" class="num">Offset</th><th scope="col">Key</th><th scope="col">Value</th></tr></thead>
    <tbody>${messages.map(
      (
        m,
      ) => html`<tr key=${keyOf(m)} class=${selected === keyOf(m) ? "chosen" : ""} onClick=${() => open(m)}>
      <td class="when"><${Time} ms=${m.timestamp} precise /></td><td class="num">${m.partition}</td>
      <td class="num"><button type="button" class="link" aria-label=${`Open message ${m.offset} of partition ${m.partition}`} onClick=${(
        e,
      ) => {
        e.stopPropagation();
        open(m);
      }}>${m.offset}</button></td>
      <td class="key"><${Content} of=${m.key} /></td>
      <td class="val">${m.transaction && m.transaction !== "committed" ? html`<${Badge} kind=${m.transaction === "aborted" ? "bad" : "warning"}>${m.transaction}<//> ` : null}${m.value.truncated ? html`<${Badge}>${bytes(m.value.size)}<//> ` : null}<${Content} of=${m.value} /></td></tr>`,
    )}</tbody></table></div>`;
}

export function Content({ of }) {
  if (of.kind === "null") return html`<span class="muted">null</span>`;
  if (of.size === 0) return html`<span class="muted">(empty)</span>`;
  if (of.kind === "binary")
    return html`<span class="muted">${of.schema_id !== undefined && !of.problem ? `schema ${of.schema_id}, ` : ""}${bytes(of.size)} </span><span class="mono">${of.text.slice(0, 64)}</span>`;
  return html`<span class=${of.kind === "json" ? "mono" : ""}><${Visible} text=${of.text.slice(0, 400)} /></span>`;
}
