// The page of one job, which follows it until its end.

import {ask, at, button, bytes, copied, duration, make, number, read, repeat, save, showReadiness, spent, tell, urlOption, watchToken, when} from "./common.js";

const ID = location.pathname.split("/").pop(), PATH = `v1/jobs/${ID}`;
const SECONDS = {queued: 2, running: 1};  // between two looks; none after the end
const LATER = 5;  // after an error
const MOST_SHOWN = 2000, MOST_PASTED = 512;  // bytes of an output on the page, and in a command

let drawn = false;  // the parts that do not change after the end

/** Show terms with their descriptions, without the empty ones. */
function list(id, facts) {
  const rows = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined && value !== "");
  at(id).replaceChildren(...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

const mono = text => make("span", {className: "mono"}, text);

function data(found) {
  return Uint8Array.from(found.hex.match(/../g) ?? [], pair => parseInt(pair, 16));
}

/** Return bytes as text if they are printable, else in hex; a long output has its first bytes. */
function shown(found) {
  if (!found.bytes) return "none";
  const head = data(found).slice(0, MOST_SHOWN), more = found.bytes > MOST_SHOWN ? " ..." : "";
  let text = null;
  try {
    text = new TextDecoder("utf-8", {fatal: true}).decode(head, {stream: true});
  } catch { /* no text */ }
  const isText = text !== null && !/[^\P{C}\n\t]/u.test(text);
  const size = make("small", {}, `${number(found.bytes)} byte${found.bytes === 1 ? "" : "s"}, ${isText ? "text" : "hex"}`);
  return [size, make("pre", {}, (isText ? text : found.hex.slice(0, 2 * MOST_SHOWN)) + more)];
}

function names(job) {
  const clean = text => text.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "") || "job";
  const stem = `${clean(job.name)}-${job.id.slice(0, 8)}`;
  return {proof: `${stem}.bin`, key: `${clean(job.program_name.replace(/\.elf$/, ""))}.vk`, report: `${stem}.json`, output: `${stem}.out`};
}

function command(job, claim) {
  const {output, exit_code} = claim.says, own = names(job), given = job.options;
  return [
    `graphprover verify ${own.proof} ${own.key}`,
    output.bytes > MOST_PASTED ? `--expect-output ${own.output}` : `--expect-output-hex '${output.hex}'`,
    exit_code ? `--exit-code ${exit_code}` : "",
    given.security ? `--security ${given.security}` : "",
    given.proximity ? `--proximity ${given.proximity}` : "",
  ].filter(Boolean).join(" ");
}

function saveOutput(job, claim) {
  const link = make("a", {download: names(job).output, href: URL.createObjectURL(new Blob([data(claim.says.output)]))});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function cancel() {
  if (confirm("Cancel the job?")) await ask(`${PATH}/cancel`, {method: "POST"});
  look();
}

function showJob(job, before) {
  document.title = `${job.name} - ${job.state} - graphprover`;
  at("title").textContent = job.name;
  at("state").textContent = job.state;
  at("state").className = `state ${job.state}`;
  const waited = (job.started ?? job.ended ?? Date.now() / 1000) - job.created, ran = spent(job);
  const parts = [];
  if (job.state === "queued") parts.push(before === null ? "" : before ? `${number(before)} before it in the queue` : "it is next");
  if (job.state === "running") {
    if (job.progress) parts.push(make("progress", {max: job.progress.tasks, value: job.progress.tasks_ended}), ` ${number(job.progress.tasks_ended)} of ${number(job.progress.tasks)} tasks${job.progress.task ? `: ${job.progress.task}` : ""}`);
    else parts.push(job.worker ? `a proof by ${job.worker}` : "the guest runs, or its proof is prepared");
  }
  if (job.from_store) parts.push("The proof was in the store: another job has had it made.");
  at("progress").replaceChildren(...parts);
  const isOpen = job.state in SECONDS;
  if (isOpen !== at("actions").hasChildNodes()) at("actions").replaceChildren(...isOpen ? [button("cancel the job", cancel)] : []);
  at("failure").hidden = !job.problem;
  at("reason").textContent = job.problem ?? "";
  list("job", {
    id: mono(job.id),
    guest: [job.program_name, " ", make("small", {className: "mono"}, job.program)],
    input: job.input ? [mono(job.input), make("small", {}, " (SHA-256)")] : "none",
    options: Object.entries(job.options).map(([name, value]) => `${name.replace("_", " ")} ${value}`).join(", ") || "the defaults",
    priority: number(job.priority),
    "most time": job.timeout === null ? null : duration(job.timeout),
    callback: job.callback,
    created: when(job.created),
    started: job.started === null || job.from_store ? null : `${when(job.started)}, after ${duration(Math.max(0, waited))}`,
    ended: job.ended === null ? null : when(job.ended),
    time: ran === null || job.from_store ? null : duration(ran),
    attempts: job.attempts > 1 ? `${job.attempts}: the prover process died before` : null,
    worker: job.worker,
  });
}

function showProof(job, claim, report) {
  const {says, parameters} = claim, own = names(job);
  list("claim", {
    output: shown(says.output),
    "exit code": String(says.exit_code),
    cycles: number(says.cycles),
    input: says.input && shown(says.input),
  });
  list("proof", {
    size: make("span", {title: `${number(claim.proof_bytes)} bytes`}, bytes(claim.proof_bytes)),
    security: `${claim.security_bits} provable bits`,
    parameters: `rate 1/${2 ** parameters.log_blowup}, ${parameters.num_queries} queries, ${parameters.hash}`,
    shards: claim.shards > 1 ? number(claim.shards) : null,
    layers: claim.layers.length ? `compressed, in ${claim.layers.length} layer${claim.layers.length > 1 ? "s" : ""}, ${report.base_bytes ? `from ${bytes(report.base_bytes)}` : ""}` : null,
    "SHA-256": mono(claim.proof_sha256),
  });
  at("files").replaceChildren(
    button("proof", () => save(`${PATH}/proof`, own.proof), {title: own.proof}),
    button("verifying key", () => save(`v1/programs/${job.program}/key`, own.key), {title: own.key}),
    button("report", () => save(`${PATH}/report`, own.report), {title: own.report}),
    ...(says.output.bytes ? [button("output", () => saveOutput(job, claim), {title: own.output})] : []),
  );
  at("verify").replaceChildren(...copied(command(job, claim)));
  at("fetch").textContent = `graphprover jobs fetch ${job.id}${urlOption()} -o ${own.proof}`;
  list("made", {
    speed: report.cycles_per_second && `${number(Math.round(report.cycles_per_second))} cycles/s`,
    "compiling kernels, once": report.compile_seconds ? `${duration(report.compile_seconds)} of prepare and prove` : null,
    "committed cells": number(report.cells),
    cost: report.cost && number(report.cost),
    memory: report.peak_bytes ? `${bytes(report.peak_bytes)}, as planned for the device` : null,
    worker: report.worker ?? "the prover process of the service",
    attempts: report.attempts > 1 ? String(report.attempts) : null,
    "shards one by one": report.shards.length ? number(report.shards.length) : null,
  });
  const stages = Object.entries(report.seconds), most = Math.max(...stages.map(([, seconds]) => seconds), 1e-9);
  at("stages").replaceChildren(...stages.map(([name, seconds]) => {
    const bar = make("div", {className: "bar"});
    bar.style.width = `${(100 * seconds) / most}%`;
    return make("tr", {}, make("td", {}, name), make("td", {className: "number"}, duration(seconds)), make("td", {}, bar));
  }));
  at("proved").hidden = false;
}

const look = repeat(async () => {
  showReadiness();
  let again = LATER;
  const error = await tell(async () => {
    const job = await read(PATH);
    const before = job.state === "queued" ? (await read(`${PATH}/position`).catch(() => null))?.jobs_before ?? null : null;
    showJob(job, before);
    at("content").hidden = false;
    again = SECONDS[job.state] ?? 0;
    if (job.state === "done" && !drawn) {
      again = LATER;
      showProof(job, ...await Promise.all([read(`${PATH}/claim`), read(`${PATH}/report`)]));
      drawn = true;
      again = 0;
    }
  }, "outage");
  return error?.status === 401 ? 0 : again;
});
document.onvisibilitychange = () => document.hidden || look();
watchToken(look);
