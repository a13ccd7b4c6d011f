// Users, access rules and quotas.
import { html, useState } from "../vendor/htm-preact.js";
import { api, session, usePoll } from "../lib/api.js";
import { count } from "../lib/format.js";
import { useLocation } from "../lib/route.js";
import {
  ActionForm,
  Badge,
  ConfirmName,
  Empty,
  ErrorBox,
  Loading,
  Modal,
  Tabs,
  toast,
} from "../lib/ui.js";

const TABS = [
  ["rules", "Access rules"],
  ["users", "Users"],
  ["quotas", "Quotas"],
];

export function Access() {
  const tab = useLocation().params.get("tab") ?? "rules";
  return html`<header class="page-head"><h1>Access</h1></header><${Tabs} tabs=${TABS} current=${tab} />
    ${tab === "users" ? html`<${Users} />` : tab === "quotas" ? html`<${Quotas} />` : html`<${Rules} />`}`;
}

function Rules() {
  const { data, error, refresh } = usePoll("/api/acls");
  const [adding, setAdding] = useState(false);
  if (!data)
    return error ? html`<${ErrorBox} error=${error} />` : html`<${Loading} what="access rules" />`;
  const remove = async (rule) => {
    try {
      await api("/api/acls", { method: "DELETE", body: rule });
      toast("Deleted the rule.");
      refresh();
    } catch (failed) {
      toast(failed.message, "bad");
    }
  };
  const create = (form) => api("/api/acls", { method: "POST", body: Object.fromEntries(form) });
  return html`${session.current.read_only ? null : html`<div class="toolbar"><button type="button" class="primary" onClick=${() => setAdding(true)}>New rule</button></div>`}
    ${
      data.acls.length
        ? html`<div class="scroll card flush"><table class="list"><thead><tr><th scope="col">Who</th><th scope="col">May</th><th scope="col">On</th><th scope="col">From</th><th scope="col"><span class="sr">Delete</span></th></tr></thead>
      <tbody>${data.acls.map((a) => html`<tr key=${JSON.stringify(a)}><th scope="row">${a.principal}</th><td><${Badge} kind=${a.permission === "ALLOW" ? "good" : "bad"}>${a.permission.toLowerCase()}<//> ${a.operation.toLowerCase()}</td><td>${a.resource_type.toLowerCase()} <code>${a.resource_name}${a.pattern_type === "PREFIXED" ? "…" : ""}</code></td><td>${a.host}</td><td>${session.current.read_only ? null : html`<button type="button" onClick=${() => remove(a)} aria-label=${`Delete the rule of ${a.principal} for ${a.operation} on ${a.resource_name}`}>Delete</button>`}</td></tr>`)}</tbody></table></div>`
        : html`<${Empty} title="There are no access rules.">Without rules, who may do what depends on <code>allow.everyone.if.no.acl.found</code> and on <code>super.users</code>.<//>`
    }
    ${
      adding
        ? html`<${Modal} title="New access rule" onClose=${() => setAdding(false)}><${ActionForm} label="Create the rule" submit=${create} onDone=${() => {
            toast("Created the rule.");
            setAdding(false);
            refresh();
          }}>
      <label>Who <input name="principal" required placeholder="User:alice" spellcheck=${false} autofocus /></label>
      <div class="pair"><label>Permission <select name="permission"><option>ALLOW</option><option>DENY</option></select></label><label>Operation <select name="operation">${["READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "ALL"].map((o) => html`<option key=${o}>${o}</option>`)}</select></label></div>
      <div class="pair"><label>Kind <select name="resource_type">${["TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID"].map((o) => html`<option key=${o}>${o}</option>`)}</select></label><label>Name <input name="resource_name" required spellcheck=${false} /></label><label>Pattern <select name="pattern_type"><option>LITERAL</option><option>PREFIXED</option></select></label></div><//><//>`
        : null
    }`;
}

function Users() {
  const { data, error, refresh } = usePoll("/api/users");
  const [adding, setAdding] = useState(false),
    [removing, setRemoving] = useState(null);
  if (!data)
    return error ? html`<${ErrorBox} error=${error} />` : html`<${Loading} what="users" />`;
  const save = (form) =>
    api("/api/users", {
      method: "PUT",
      body: { name: form.get("name"), password: form.get("password") },
    });
  return html`${session.current.read_only ? null : html`<div class="toolbar"><button type="button" class="primary" onClick=${() => setAdding(true)}>New user or password</button></div>`}
    ${data.users.length ? html`<div class="scroll card flush"><table class="list"><thead><tr><th scope="col">User</th><th scope="col">Signs in by</th><th scope="col"><span class="sr">Delete</span></th></tr></thead><tbody>${data.users.map((u) => html`<tr key=${u.name}><th scope="row">${u.name}</th><td>${u.mechanisms.join(", ")}</td><td>${session.current.read_only ? null : html`<button type="button" onClick=${() => setRemoving(u.name)} aria-label=${`Delete user ${u.name}`}>Delete</button>`}</td></tr>`)}</tbody></table></div>` : html`<${Empty} title="No user signs in by a password.">Users that sign in by certificates or tokens are not listed by the cluster.<//>`}
    ${
      adding
        ? html`<${Modal} title="User" onClose=${() => setAdding(false)}><${ActionForm} label="Save" submit=${save} onDone=${() => {
            toast("Saved the user.");
            setAdding(false);
            refresh();
          }}><label>Name <input name="name" required autocomplete="off" spellcheck=${false} autofocus /></label><label>Password <input name="password" type="password" required autocomplete="new-password" /></label><p class="muted">The password is salted before it leaves the console.</p><//><//>`
        : null
    }
    ${
      removing
        ? html`<${Modal} title=${`Delete user ${removing}`} onClose=${() => setRemoving(null)}><${ConfirmName} name=${removing} label="Delete user" onSubmit=${(confirm) => api("/api/users", { method: "DELETE", body: { name: removing, confirm } })} onDone=${() => {
            toast("Deleted the user.");
            setRemoving(null);
            refresh();
          }} /><//>`
        : null
    }`;
}

function Quotas() {
  const { data, error, refresh } = usePoll("/api/quotas");
  const [editing, setEditing] = useState(null);
  if (!data)
    return error ? html`<${ErrorBox} error=${error} />` : html`<${Loading} what="quotas" />`;
  const may = !session.current.read_only;
  return html`${may ? html`<div class="toolbar"><button type="button" class="primary" onClick=${() => setEditing({ limits: {} })}>New quota</button></div>` : null}
    ${
      data.quotas.length
        ? html`<div class="scroll card flush"><table class="list"><thead><tr><th scope="col">For</th><th scope="col">Limits</th><th scope="col"><span class="sr">Change</span></th></tr></thead><tbody>${data.quotas.map(
            (q) => html`<tr key=${q.entity}><th scope="row">${q.entity}</th><td>${Object.entries(
              q.limits,
            )
              .map(([name, value]) => `${name} ${count(value)}`)
              .join(", ")}</td>
      <td>${may ? html`<button type="button" aria-label=${`Change the quota of ${q.entity}`} onClick=${() => setEditing(q)}>Change</button>` : null}</td></tr>`,
          )}</tbody></table></div>`
        : html`<${Empty} title="There are no quotas.">A quota limits bytes, requests or connections per second of a user, a client id or an address.<//>`
    }
    ${
      editing
        ? html`<${Quota} quota=${editing} keys=${data.keys} onClose=${() => setEditing(null)} onDone=${() => {
            toast("Changed the quota.");
            setEditing(null);
            refresh();
          }} />`
        : null
    }`;
}

const QUOTAS = {
  producer_byte_rate: "Bytes written per second",
  consumer_byte_rate: "Bytes read per second",
  request_percentage: "Percent of a node's time",
  controller_mutation_rate: "Partitions created or deleted per second",
  connection_creation_rate: "Connections per second (of an address)",
};

function Quota({ quota: q, keys, onClose, onDone }) {
  const parts = [
    ["user", "User"],
    ["client_id", "Client id"],
    ["address", "Address"],
  ];
  const save = (form) => {
    const limits = {};
    for (const key of keys) {
      const text = form.get(key).trim();
      if (text) limits[key] = Number(text);
      else if (key in q.limits) limits[key] = null;
    }
    const entity = q.entity
      ? { user: q.user, client_id: q.client_id, address: q.address }
      : Object.fromEntries(parts.map(([name]) => [name, form.get(name)]));
    return api("/api/quotas", { method: "PUT", body: { ...entity, limits } });
  };
  return html`<${Modal} title=${q.entity ? `Quota of ${q.entity}` : "New quota"} onClose=${onClose}><${ActionForm} label="Save" submit=${save} onDone=${onDone}>
    ${q.entity ? null : html`<p class="muted">For a user, a client id, both, or an address; <code>${"<default>"}</code> stands for all that have none of their own.</p><div class="pair">${parts.map(([name, label]) => html`<label key=${name}>${label} <input name=${name} autocomplete="off" spellcheck=${false} /></label>`)}</div>`}
    ${keys.map((key) => html`<label key=${key}>${QUOTAS[key] ?? key} <input name=${key} type="number" min="0" step="any" defaultValue=${q.limits[key] ?? ""} placeholder="no limit" /></label>`)}<//><//>`;
}
