// Sign-in as a user of the cluster, by a password or at a provider.
import { html } from "../vendor/htm-preact.js";
import { api } from "../lib/api.js";
import { ActionForm, ErrorBox } from "../lib/ui.js";

const PROBLEMS = {
  provider: [
    "The sign-in service does not answer, or not to this console.",
    "Try again; if that does not help, the console's log says why.",
  ],
  expired: ["This sign-in was too slow, or was begun in another browser.", "Sign in again."],
  refused: [
    "The sign-in service has refused.",
    "Sign in again, or ask an administrator of the service.",
  ],
  token: ["The sign-in service has not given a valid token.", "The console's log says why."],
  wait: ["Too many sign-ins have failed from this address.", "Try again in a minute."],
  cluster: [
    "The cluster does not accept this user.",
    "Ask an administrator of the cluster; its log says why.",
  ],
  unreachable: ["The cluster does not answer.", "Check that its brokers run, and sign in again."],
};

export function SignIn({ who, onDone }) {
  const submit = (form) =>
    api("/api/session", {
      method: "POST",
      body: {
        user: form.get("user"),
        password: form.get("password"),
        mechanism: form.get("mechanism") || undefined,
      },
    });
  const known = Object.hasOwn(PROBLEMS, new URLSearchParams(location.search).get("problem") ?? "")
    ? PROBLEMS[new URLSearchParams(location.search).get("problem")]
    : null;
  return html`<main class="boot"><section class="card sign-in"><h1>Sign in</h1><p class="muted">As a user of the cluster; its access rules decide what you see and change.</p>
    ${known ? html`<${ErrorBox} error=${{ message: known[0], hint: known[1] }} />` : null}
    ${who.oidc ? html`<p class="form-end"><a class="button primary" href="/sign-in/oidc" target="_self">Sign in at ${who.oidc}</a></p>` : null}
    ${
      who.passwords
        ? html`<${ActionForm} label="Sign in" submit=${submit} onDone=${onDone}>
      <label>User <input name="user" required autocomplete="username" spellcheck=${false} autofocus /></label>
      <label>Password <input name="password" type="password" required autocomplete="current-password" /></label>
      <label>Mechanism <select name="mechanism"><option value="">default</option>${who.mechanisms.map((m) => html`<option key=${m}>${m}</option>`)}</select></label><//>`
        : null
    }</section></main>`;
}
