// SPDX-License-Identifier: MIT
// Every line that psup-mcp wrote (tap.mjs has them), against the schema of its
// era: the message, and the result of the method that was asked.
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { readFileSync } from "node:fs";

const RESULTS = {
  initialize: "InitializeResult",
  ping: "EmptyResult",
  "server/discover": "DiscoverResult",
  "tools/list": "ListToolsResult",
  "tools/call": "CallToolResult",
  "resources/list": "ListResourcesResult",
  "resources/templates/list": "ListResourceTemplatesResult",
  "resources/read": "ReadResourceResult",
  "resources/subscribe": "EmptyResult",
  "resources/unsubscribe": "EmptyResult",
  "subscriptions/listen": "SubscriptionsListenResult",
};
const NOTES = {
  "notifications/progress": "ProgressNotification",
  "notifications/cancelled": "CancelledNotification",
  "notifications/resources/updated": "ResourceUpdatedNotification",
  "notifications/subscriptions/acknowledged":
    "SubscriptionsAcknowledgedNotification",
};

const eras = {};
for (const version of ["2025-11-25", "2026-07-28"]) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  ajv.addSchema(
    JSON.parse(readFileSync(`schema/${version}.json`, "utf8")), version);
  eras[version] = (name, value) => {
    const check = ajv.getSchema(`${version}#/$defs/${name}`);
    if (!check) return [`no ${name} in ${version}`];
    return check(value) ? [] : check.errors.map(
      (e) => `${version} ${name}${e.instancePath}: ${e.message}`);
  };
}

const isModern = (m) =>
  m.params?._meta?.["io.modelcontextprotocol/protocolVersion"] !== undefined;

// { lines, wrong: [...] } of a log
export function validate(log) {
  const asked = new Map();
  const wrong = [];
  let lines = 0, modern = false;
  for (const line of readFileSync(log, "utf8").split("\n")) {
    if (line === "") continue;
    let m;
    try {
      m = JSON.parse(line.slice(1));
    } catch {
      if (line[0] === "<") wrong.push("no JSON: " + line);
      continue;
    }
    if (line[0] === ">") {
      if (m.id !== undefined) asked.set(m.id, m);
      if (m.method) modern = isModern(m) ||
        (modern && m.method.startsWith("notifications/"));
      continue;
    }
    lines++;
    const of = asked.get(m.id);
    const check = eras[(of ? isModern(of) : modern)
      ? "2026-07-28" : "2025-11-25"];
    const bad = check("JSONRPCMessage", m);
    if (m.result && !of) bad.push("an answer to nothing");
    else if (m.result) bad.push(...check(RESULTS[of.method], m.result));
    else if (m.error) bad.push(...check("JSONRPCErrorResponse", m));
    else bad.push(...check(NOTES[m.method] ?? m.method, m));
    wrong.push(...bad.map((b) => `${b} in ${line.slice(0, 300)}`));
  }
  return { lines, wrong };
}
