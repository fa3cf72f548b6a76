// The page of jobs: their number by state, a list with filters and pages, and a form that submits one.

import {ask, at, button, duration, make, number, read, repeat, showReadiness, spent, tell, urlOption, watchToken, when} from "./common.js";
import {setUpForm} from "./submit.js";

const STATES = ["queued", "running", "done", "failed", "cancelled"], FILTERS = ["state", "name", "program"];
const LABELS = ["", "state", "program", "priority", "created", "time", "progress", ""];
const SECONDS = 3;  // between two looks

const shown = new Map();  // by id of a job: the job as text, and its row

const chosen = () => new URLSearchParams(location.search);

/** Show other jobs, whose choice the address has. */
function choose(change, {replaces = false} = {}) {
  const query = chosen();
  query.delete("before");
  for (const [name, value] of Object.entries(change)) value ? query.set(name, value) : query.delete(name);
  history[replaces ? "replaceState" : "pushState"](null, "", query.size ? `?${query}` : "./");
  refresh();
}

function showCounts(counts) {
  const all = STATES.reduce((sum, state) => sum + counts[state], 0), state = chosen().get("state") || "";
  at("states").replaceChildren(...["", ...STATES].map(name => make(
    "button",
    {type: "button", ariaPressed: String(name === state), onclick: () => choose({state: name})},
    make("span", {className: name}, name || "all"), ` ${number(name ? counts[name] : all)}`,
  )));
  return all;
}

function said(job) {
  if (job.problem) return job.problem;
  if (job.state === "running") return job.progress ? `${job.progress.tasks_ended} of ${job.progress.tasks} tasks` : job.worker || "";
  return job.from_store ? "from the store" : "";
}

function row(job) {
  const cancel = async () => {
    if (confirm(`Cancel the job ${job.name}?`)) await ask(`v1/jobs/${job.id}/cancel`, {method: "POST"});
    refresh();
  };
  const cells = [
    make("td", {className: "name"}, make("a", {href: `jobs/${job.id}`}, job.name)),
    make("td", {className: `state ${job.state}`}, job.state),
    make("td", {className: "name"}, make("span", {title: job.program}, job.program_name === job.name ? "" : `${job.program_name} `, make("small", {className: "mono"}, job.program.slice(0, 8)))),
    make("td", {className: "number"}, number(job.priority)),
    make("td", {className: "created"}, when(job.created)),
    make("td", {className: "number time"}),
    make("td", {className: `said ${job.problem ? "problem" : ""}`}, said(job) && make("span", {title: said(job)}, said(job))),
    make("td", {}, ["queued", "running"].includes(job.state) ? button("cancel", cancel) : ""),
  ];
  cells.forEach((cell, index) => { cell.dataset.label = LABELS[index]; });
  return make("tr", {}, cells);
}

/** Show a list; rows of jobs that have not changed stay, so that a click is not lost. */
function showJobs(found) {
  const rows = found.jobs.map(job => {
    const text = JSON.stringify(job), before = shown.get(job.id);
    const own = before?.text === text ? before : {text, row: row(job)};
    shown.set(job.id, own);
    const seconds = spent(job);
    own.row.querySelector(".time").textContent = seconds === null || job.from_store ? "" : duration(seconds);
    return own.row;
  });
  const ids = new Set(found.jobs.map(job => job.id));
  for (const id of shown.keys()) if (!ids.has(id)) shown.delete(id);
  const body = at("jobs");
  if (rows.length !== body.rows.length || rows.some((each, index) => each !== body.rows[index])) body.replaceChildren(...rows);
  const older = chosen();
  at("newest").hidden = !older.has("before");
  older.delete("before");
  at("newest").href = older.size ? `?${older}` : "./";
  older.set("before", found.next);
  at("older").href = `?${older}`;
  at("older").hidden = found.next === null;
}

async function look() {
  showReadiness();
  const query = chosen();
  for (const name of ["name", "program"]) if (document.activeElement !== at(name)) at(name).value = query.get(name) || "";
  const error = await tell(async () => {
    const [counts, found] = await Promise.all([read("v1/jobs/counts"), read(`v1/jobs?${query}`)]);
    if (String(query) !== String(chosen())) return;  // another choice has been made meanwhile
    const all = showCounts(counts);
    showJobs(found);
    at("list").hidden = !found.jobs.length;
    at("first").hidden = all > 0;
    at("none").hidden = all === 0 || found.jobs.length > 0;
    at("states").hidden = at("filters").hidden = all === 0;
    for (const place of document.querySelectorAll(".terminal"))
      place.textContent = `graphprover submit guest.elf --input data${urlOption()} -o proof.bin`;
    at("content").hidden = false;
  }, "outage");
  return error?.status === 401 ? 0 : SECONDS;  // until there is another token
}

let typing = null;
for (const name of ["name", "program"])
  at(name).oninput = () => {
    clearTimeout(typing);
    typing = setTimeout(() => choose({[name]: at(name).value}, {replaces: true}), 250);
  };
at("clear").onclick = () => {
  at("name").value = at("program").value = "";
  choose(Object.fromEntries(FILTERS.map(name => [name, ""])));
};
setUpForm();
const refresh = repeat(look);
window.onpopstate = refresh;
document.onvisibilitychange = () => document.hidden || refresh();
watchToken(refresh);
