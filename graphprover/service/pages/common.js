// The parts that all pages share: requests, the token, elements, and texts for numbers and times.

export const root = new URL("..", import.meta.url);  // of the service, also behind a proxy's path
export const at = id => document.getElementById(id);

/** Return a new element; texts among the children are never read as HTML. */
export function make(tag, facts = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(facts)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.flat().filter(child => child !== null && child !== undefined && child !== ""));
  return made;
}

export const number = value => value.toLocaleString("en-US");

export function bytes(value) {
  if (value < 10_000) return `${number(value)} bytes`;
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]])
    if (value >= size) return `${(value / size).toFixed(1)} ${unit}`;
}

export function duration(seconds) {
  if (seconds < 60) return `${seconds.toFixed(seconds < 1 ? 3 : 1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

export const when = seconds => new Date(seconds * 1000).toLocaleString(undefined, {dateStyle: "medium", timeStyle: "medium"});

/** Return the seconds since a job's start, or of its whole time; null before the start. */
export function spent(job) {
  return job.started === null ? null : Math.max(0, (job.ended ?? Date.now() / 1000) - job.started);
}

// The token stays in this tab of the browser.

const token = () => sessionStorage.getItem("token") || "";

/** Let the visitor give a token once the service asks for one, or forget it; `changed` is called after that. */
export function watchToken(changed) {
  at("access").onsubmit = event => {
    event.preventDefault();
    sessionStorage.setItem("token", at("token").value.trim());
    at("token").value = "";
    at("access").hidden = true;
    changed();
  };
  at("forget").onclick = () => {
    sessionStorage.removeItem("token");
    location.reload();
  };
}

export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** Send a request, and return its answer; an error is a `Refused` with words for the visitor. */
export async function ask(path, options = {}) {
  const headers = {...options.headers, ...(token() && {Authorization: `Bearer ${token()}`})};
  let answer;
  try {
    answer = await fetch(new URL(path, root), {...options, headers});
  } catch {
    throw new Refused(0, "The service does not answer. Is it running?");
  }
  at("forget").hidden = !token();
  if (answer.ok) return answer;
  if (answer.status === 401) {
    at("access").hidden = false;
    throw new Refused(401, token() ? "The service does not know this token." : "This service needs a token.");
  }
  const found = await answer.json().catch(() => null);
  throw new Refused(answer.status, found?.problem ? `${found.problem} (${found.remedy})` : `status ${answer.status}`);
}

export const read = async path => (await ask(path)).json();

/** Show whether the service takes jobs. */
export async function showReadiness() {
  const answer = await fetch(new URL("readyz", root)).catch(() => null);
  const found = await answer?.json().catch(() => null);
  at("ready").className = found?.ready ? "ready" : "unready";
  at("ready").textContent = found ? (found.ready ? "ready" : found.problems.join("; ")) : "no answer";
}

/** Do some work now, and again as long as it returns a number of seconds to wait; a hidden page waits longer. */
export function repeat(work) {
  let timer = null;
  const once = async () => {
    clearTimeout(timer);
    timer = null;
    const seconds = document.hidden ? 1 : await work();
    if (seconds) timer ??= setTimeout(once, seconds * 1000);
  };
  once();
  return once;
}

/** Save the answer to a request as a file; without a token the browser loads it by itself. */
export async function save(path, name) {
  const link = make("a", {download: name, href: new URL(path, root)});
  if (token()) {
    const answer = await ask(path);
    link.download = /filename="(.*)"/.exec(answer.headers.get("Content-Disposition"))?.[1] ?? name;
    link.href = URL.createObjectURL(await answer.blob());
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }
  link.click();
}

/** Return a button whose errors are shown in the element `problem`. */
export function button(text, act, facts = {}) {
  const made = make("button", {type: "button", ...facts}, text);
  made.onclick = async () => {
    made.disabled = true;
    await tell(act);
    made.disabled = false;
  };
  return made;
}

/** Do some work, show its error in an element, and return it; errors of regular looks have an element of their own. */
export async function tell(act, place = "problem") {
  let found = null;
  await act().catch(error => { found = error; });
  at(place).textContent = found?.message ?? "";
  return found;
}

/** Return the option of `graphprover submit` and `graphprover jobs` for this service. */
export const urlOption = () => {
  const url = root.href.replace(/\/$/, "");
  return (url === "http://127.0.0.1:8750" ? "" : ` --url ${url}`) + (token() ? " --token-file TOKEN" : "");
};

/** Return a text in a box with a button that copies it. */
export function copied(text) {
  const done = make("small");
  const copy = button("copy", async () => {
    await navigator.clipboard.writeText(text);
    done.textContent = " copied";
  });
  return [make("pre", {}, text), ...(navigator.clipboard ? [copy, done] : [])];  // only https and localhost may copy
}
