/**
 * The official conformance runner of MCP plays the server, and our client has its tools (P5). Every scenario of a client
 * is run except those of OAuth: aptove sends the configured headers, and requests no token.
 */
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { passes } from "./runner.ts";

const client = ["client", "--command", `${process.execPath} ${fileURLToPath(new URL("client.ts", import.meta.url))}`];

const released = ["initialize", "tools_call", "sse-retry", "elicitation-sep1034-client-defaults"];
const newest = [
  "tools_call",
  "request-metadata",
  "sep-2322-client-request-state",
  "http-standard-headers",
  "http-custom-headers",
  "http-invalid-tool-headers",
  "json-schema-ref-no-deref",
  "json-schema-2020-12-preservation",
];

for (const scenario of released) {
  test(`[P5] MCP conformance: ${scenario}`, () => passes("conformance", [...client, "--scenario", scenario]));
}
for (const scenario of newest) {
  const args = [...client, "--scenario", scenario, "--spec-version", "2026-07-28"];
  test(`[P5] MCP conformance, 2026-07-28: ${scenario}`, () => passes("conformance-next", args));
}
