// The form that uploads a guest and an input, and submits a job.

import {ask, at, bytes, make, read, root, tell} from "./common.js";

// Of the table of options, which has the descriptions; the interface takes all others, too.
const OPTIONS = ["name", "rate", "compress", "commit_input", "exit_code", "max_cycles", "priority", "timeout"];

/** Return the control of an option, by its schema. */
function control(name, schema) {
  const types = schema.anyOf.map(each => each.type);
  if (schema.enum) {
    const choices = schema.enum.filter(value => value !== null);
    return make("select", {name}, make("option", {value: ""}, "default"), choices.map(value => make("option", {value}, String(value))));
  }
  if (types.includes("boolean")) return make("input", {name, type: "checkbox"});
  const isNumber = types.every(type => ["integer", "number", "null"].includes(type));
  return make("input", {name, type: isNumber ? "number" : "text", step: types.includes("number") ? "any" : "1", placeholder: "default"});
}

/** Return the value of a control; null for the default. */
function valueOf(own, schema) {
  if (own.type === "checkbox") return own.checked || null;
  const text = own.value.trim(), types = schema.anyOf.map(each => each.type);
  if (!text) return null;
  const isNumber = types.includes("integer") || types.includes("number");
  return isNumber && !Number.isNaN(Number(text)) ? Number(text) : text;
}

async function inputOf(limits) {
  const file = at("file").files[0], hex = at("hex").value.replace(/\s|^0x/g, "");
  if (file && hex) throw new Error("Give the input as a file or in hex, not both.");
  if (file && file.size > limits.input_bytes) throw new Error(`The input has ${bytes(file.size)}; this service takes ${bytes(limits.input_bytes)}.`);
  if (!/^([0-9a-f]{2})*$/i.test(hex)) throw new Error("The input in hex needs two hexadecimal digits for each byte.");
  return file || (hex ? Uint8Array.from(hex.match(/../g), pair => parseInt(pair, 16)) : null);
}

async function upload(path, body) {
  return (await (await ask(path, {method: "POST", body})).json()).hash;
}

async function submit(form, schema) {
  const said = at("submitting"), limits = await read("v1/limits"), elf = at("elf").files[0];
  if (elf.size > limits.program_bytes) throw new Error(`The guest has ${bytes(elf.size)}; this service takes ${bytes(limits.program_bytes)}.`);
  const input = await inputOf(limits), job = {};
  for (const name of OPTIONS) {
    const value = valueOf(form.elements[name], schema[name]);
    if (value !== null) job[name] = value;
  }
  said.textContent = "uploading the guest";
  const named = elf.name.replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 60);
  job.program = await upload(`v1/programs?${new URLSearchParams({name: named})}`, elf);
  if (input) {
    said.textContent = "uploading the input";
    job.input = await upload("v1/inputs", input);
  }
  said.textContent = "submitting";
  const headers = {"Content-Type": "application/json", "Idempotency-Key": Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("")};
  const made = await (await ask("v1/jobs", {method: "POST", body: JSON.stringify(job), headers})).json();
  location.href = new URL(`jobs/${made.id}`, root);
}

/** Add the options to the form once it is opened, and let it submit. */
export function setUpForm() {
  const box = at("submit"), form = box.querySelector("form");
  let schema = null;
  box.ontoggle = async () => {
    if (schema || !box.open) return;
    schema = (await read("openapi.json")).components.schemas.JobRequest.properties;
    at("fields").append(...OPTIONS.map(name => {
      const words = schema[name].description.replace("Guests only. ", "");
      const text = words.split(/(?<=\.) (?=[A-Z])/)[0];  // the first sentence
      return make("label", {title: words}, name.replace("_", " "), control(name, schema[name]), make("small", {}, text));
    }));
  };
  form.onsubmit = async event => {
    event.preventDefault();
    const send = form.querySelector("button:not([type])");
    send.disabled = true;
    await tell(() => submit(form, schema));
    at("submitting").textContent = "";
    send.disabled = false;
    at("problem").scrollIntoView({block: "nearest"});
  };
}
