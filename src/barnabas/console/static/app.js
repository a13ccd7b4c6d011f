// The shell: navigation, keys, theme, and the page that the address stands for.
import { html, render, useEffect, useState } from "./vendor/htm-preact.js";
import { api, session, usePoll } from "./lib/api.js";
import { followLinks, navigate, useLocation } from "./lib/route.js";
import { ErrorBox, Toasts } from "./lib/ui.js";
import { Palette } from "./lib/palette.js";
import { Icon } from "./lib/icons.js";

const NAV = [
  ["/", "Overview", "overview"],
  ["/topics", "Topics", "topics"],
  ["/groups", "Groups", "groups"],
  ["/pipelines", "Pipelines", "pipelines"],
  ["/schemas", "Schemas", "schemas"],
  ["/cluster", "Cluster", "cluster"],
  ["/access", "Access", "access"],
];

// Pages are loaded when they are first shown.
const PAGES = {
  overview: () => import("./pages/overview.js").then((m) => m.Overview),
  topics: () => import("./pages/topics.js").then((m) => m.Topics),
  topic: () => import("./pages/topic.js").then((m) => m.Topic),
  groups: () => import("./pages/groups.js").then((m) => m.Groups),
  group: () => import("./pages/group.js").then((m) => m.Group),
  pipelines: () => import("./pages/pipelines.js").then((m) => m.Pipelines),
  pipeline: () => import("./pages/pipeline.js").then((m) => m.Pipeline),
  connector: () => import("./pages/connector.js").then((m) => m.Connector),
  "dead-letters": () => import("./pages/dead-letters.js").then((m) => m.DeadLetters),
  schemas: () => import("./pages/schemas.js").then((m) => m.Schemas),
  subject: () => import("./pages/subject.js").then((m) => m.Subject),
  cluster: () => import("./pages/cluster.js").then((m) => m.Cluster),
  access: () => import("./pages/access.js").then((m) => m.Access),
  "sign-in": () => import("./pages/sign-in.js").then((m) => m.SignIn),
};
const loaded = {};

function Page({ name, of = {} }) {
  const [error, setError] = useState(null);
  const [, again] = useState(0);
  useEffect(() => {
    if (loaded[name]) return;
    PAGES[name]().then((found) => {
      loaded[name] = found;
      again((n) => n + 1);
    }, setError);
  }, [name]);
  if (error)
    return html`<${ErrorBox} error=${{ message: "A part of the console could not be loaded.", hint: "Check that `barnabas console` is still running, and reload the page." }} />`;
  return loaded[name] ? html`<${loaded[name]} ...${of} />` : null;
}

function pageOf(path) {
  const [, first, rest] = path.split("/");
  switch (first) {
    case "":
    case "sign-in":
      return ["/", "Overview", html`<${Page} key="overview" name="overview" />`];
    case "topics": {
      if (!rest) return ["/topics", "Topics", html`<${Page} key="topics" name="topics" />`];
      const name = decode(rest);
      return [
        "/topics",
        name,
        html`<${Page} key=${"topic " + name} name="topic" of=${{ name }} />`,
      ];
    }
    case "group": {
      const id = new URLSearchParams(location.search).get("id") ?? "";
      return ["/groups", id, html`<${Page} key=${"group " + id} name="group" of=${{ id }} />`];
    }
    case "pipeline": {
      const id = new URLSearchParams(location.search).get("id") ?? "";
      return [
        "/pipelines",
        id.slice(id.lastIndexOf("/") + 1),
        html`<${Page} key=${"pipeline " + id} name="pipeline" of=${{ id }} />`,
      ];
    }
    case "connector": {
      const name = new URLSearchParams(location.search).get("name") ?? "";
      return [
        "/pipelines",
        name,
        html`<${Page} key=${"connector " + name} name="connector" of=${{ name }} />`,
      ];
    }
    case "dead-letters": {
      const topic = new URLSearchParams(location.search).get("topic") ?? "";
      return [
        "/pipelines",
        "Dead letters",
        html`<${Page} key=${"letters " + topic} name="dead-letters" of=${{ topic }} />`,
      ];
    }
    case "subject": {
      const name = new URLSearchParams(location.search).get("name") ?? "";
      return [
        "/schemas",
        name,
        html`<${Page} key=${"subject " + name} name="subject" of=${{ name }} />`,
      ];
    }
    case "groups":
    case "pipelines":
    case "schemas":
    case "cluster":
    case "access":
      return [
        "/" + first,
        NAV.find(([to]) => to === "/" + first)[1],
        html`<${Page} key=${first} name=${first} />`,
      ];
    default:
      return [
        "",
        "Not found",
        html`<h1>There is no such page</h1><p>The address may be mistyped; <a href="/">go to the overview</a>.</p>`,
      ];
  }
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function turnTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
  dispatchEvent(new Event("themechange"));
}

function Shell({ who, onSignOut }) {
  const { path } = useLocation();
  const [finding, setFinding] = useState(false);
  const [, again] = useState(0);
  const [section, title, page] = pageOf(path);
  useEffect(() => {
    document.title = `${title} · Barnabas`;
  }, [title]);
  useEffect(() => {
    const keys = (event) => {
      const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        setFinding(true);
      } else if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        const box = document.getElementById("search");
        if (box) {
          box.focus();
          box.select();
        } else setFinding(true);
      }
    };
    const themed = () => again((n) => n + 1);
    addEventListener("keydown", keys);
    addEventListener("themechange", themed);
    return () => {
      removeEventListener("keydown", keys);
      removeEventListener("themechange", themed);
    };
  }, []);
  return html`
    <a class="skip" href="#main" onClick=${(e) => {
      e.preventDefault();
      document.getElementById("main").focus();
    }}>Skip to the content</a>
    <header class="top">
      <a class="brand" href="/"><${Icon} name="logo" />Barnabas</a>
      <span class="where" title="The brokers this console asks">${who.bootstrap}</span>
      ${who.read_only ? html`<span class="badge quiet">read-only</span>` : null}
      <button type="button" class="find" aria-label="Go to a topic, group or page (Ctrl K)" onClick=${() => setFinding(true)}><${Icon} name="search" /><span>Go to…</span><kbd>Ctrl K</kbd></button>
      <button type="button" class="plain icon" aria-label="Light or dark" title="Light or dark" onClick=${turnTheme}><${Icon} name="theme" /></button>
      ${who.user ? html`<span class="who">${who.user}</span><button type="button" class="plain" onClick=${onSignOut}>Sign out</button>` : null}
    </header>
    <nav class="side" aria-label="Main">${NAV.map(
      ([to, label, icon]) => html`
      <a key=${to} href=${to} aria-current=${section === to ? "page" : undefined}><${Icon} name=${icon} /><span>${label}</span></a>`,
    )}
      <a class="apilink" href="/api/openapi.json" target="_blank" rel="noreferrer"><${Icon} name="api" /><span>API</span></a></nav>
    <main id="main" tabindex="-1">${page}</main>
    ${finding ? html`<${Palette} pages=${NAV} onClose=${() => setFinding(false)} />` : null}
    <${Toasts} />`;
}

function App() {
  const { data, error, refresh } = usePoll("/api/session", 0);
  const [who, setWho] = useState(null);
  const accept = (next) => {
    session.current = next;
    session.token = next.token;
    setWho(next);
  };
  useEffect(() => {
    if (data) accept(data);
  }, [data]);
  session.onSignedOut = () => accept({ ...session.current, signed_in: false });
  const signOut = async () => {
    accept(await api("/api/session", { method: "DELETE" }));
    navigate("/");
  };
  if (error) return html`<main class="boot"><${ErrorBox} error=${error} retry=${refresh} /></main>`;
  if (!who) return html`<main class="boot"><p>Loading the console…</p></main>`;
  if (!who.signed_in)
    return html`<${Page} key="sign-in" name="sign-in" of=${{ who, onDone: accept }} />`;
  return html`<${Shell} who=${who} onSignOut=${signOut} />`;
}

followLinks();
const root = document.getElementById("app");
root.textContent = "";
render(html`<${App} />`, root);
