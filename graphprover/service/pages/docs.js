// The page of the interface, from its description /openapi.json.

import {at, make, root} from "./common.js";

const reference = schema => schema?.$ref?.split("/").pop();

/** Return a text with its commands, which are in backticks, as code. */
const prose = text => text.split("`").map((part, index) => index % 2 ? make("code", {}, part) : part);

/** Return a schema's type in words, with a link for one that has a name. */
function type(schema) {
  const named = reference(schema);
  if (named) return [make("a", {href: `#${named}`}, named)];
  if (schema.anyOf) return schema.anyOf.flatMap((each, index) => [...(index ? [" or "] : []), ...type(each)]);
  if (schema.enum) return [schema.enum.map(value => JSON.stringify(value)).join(" or ")];
  if (schema.type === "array") return ["list of ", ...type(schema.items ?? {})];
  if (schema.type === "object") return ["object"];
  return [schema.type ?? "any"];
}

/** Return a table of fields or parameters: name, type, description. */
function table(rows) {
  return make("table", {className: "cards"}, make("tbody", {}, rows.map(({name, schema, text, required}) => make("tr", {},
    make("td", {className: "name"}, make("code", {}, name), required ? make("small", {}, " required") : ""),
    make("td", {}, schema.enum ? type({enum: schema.enum}) : type(schema)),
    make("td", {className: "name"}, prose(text ?? "")),
  ))));
}

/** Return what a body has: a link for JSON, and the type of a file. */
function body(content = {}) {
  return Object.entries(content).flatMap(([kind, {schema}]) => reference(schema) ? [" ", ...type(schema)] : [` ${kind}`]);
}

const UPLOADS = {"/v1/programs": "@guest.elf", "/v1/inputs": "@data"};

function example(path, method, operation) {
  const url = new URL(path.slice(1), root).href.replace(/%7B(\w+)%7D/g, (_, name) => name.toUpperCase());
  if (UPLOADS[path]) return `curl '${url}' --data-binary ${UPLOADS[path]}`;
  if (operation.requestBody) return `curl '${url}' --json '{"program": "HASH"}'`;
  return `curl ${method === "post" ? "-X POST " : ""}'${url}'${/proof|key/.test(path) ? " -OJ" : ""}`;
}

function request(path, method, operation) {
  const parameters = (operation.parameters ?? []).filter(each => each.name !== "authorization");
  const answers = Object.entries(operation.responses).filter(([status]) => status < 300);
  const [summary, ...more] = (operation.description ?? "").split(/(?<=\.)\s/);
  return make("details", {className: "request"},
    make("summary", {}, make("span", {className: "method"}, method.toUpperCase()), " ", make("code", {}, path), " ", make("small", {}, prose(summary))),
    more.length ? make("p", {}, prose(more.join(" "))) : "",
    parameters.length ? table(parameters.map(each => ({name: each.name, schema: each.schema, required: each.required, text: `${each.in === "header" ? "Header. " : ""}${each.description ?? each.schema.description ?? ""}`}))) : "",
    operation.requestBody ? make("p", {}, "Body:", body(operation.requestBody.content)) : "",
    make("p", {}, answers.flatMap(([status, {description, content}]) => [make("div", {}, `Answer ${status}:`, body(content), " ", make("small", {}, description === "Successful Response" ? "" : description))])),
    make("pre", {}, example(path, method, operation)),
  );
}

function schema(name, {properties = {}, required = [], description = ""}) {
  return make("details", {className: "request", id: name},
    make("summary", {}, make("code", {}, name), " ", make("small", {}, prose(description))),
    table(Object.entries(properties).map(([field, own]) => ({name: field, schema: own, required: required.includes(field) && name.endsWith("Request"), text: own.description}))),
  );
}

/** Open the body that the address names. */
function open() {
  const named = document.getElementById(location.hash.slice(1));
  if (named) {
    named.open = true;
    named.scrollIntoView();
  }
}

try {
  const found = await (await fetch(new URL("openapi.json", root))).json();
  at("requests").append(...Object.entries(found.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => request(path, method, operation))));
  const standard = ["HTTPValidationError", "ValidationError"];  // of FastAPI; errors here are ProblemBody
  at("bodies").append(...Object.entries(found.components.schemas).filter(([name]) => !standard.includes(name)).map(each => schema(...each)));
  window.onhashchange = open;
  open();
} catch (error) {
  at("problem").textContent = `The service does not answer: ${error.message}`;
}
