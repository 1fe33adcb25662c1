import assert from "node:assert/strict";
import { test } from "node:test";
import { publicAddress, secretHider } from "./hide-secrets.ts";

test("[E8] headers and values with secret names are hidden in everything that a server sends", () => {
  const http = secretHider({
    type: "http",
    name: "s",
    url: "https://example.org/mcp?api_key=from-the-url&page=second-page",
    headers: { Authorization: "Bearer abcdef-123456", Accept: "application/json" },
  });
  assert.equal(http("no Bearer abcdef-123456"), "no ***");
  assert.equal(http("token abcdef-123456, from-the-url"), "token ***, ***");
  assert.equal(http("application/json, second-page"), "application/json, second-page");
  const stdio = secretHider({
    type: "stdio",
    name: "s",
    command: "s",
    args: ["--token=abcdefgh", "--api-key", "ijklmnop", "--root", "documents"],
    env: { DB_PASSWORD: "correct horse", ROOT: "documents", SHORT_KEY: "1" },
  });
  assert.equal(stdio("correct horse abcdefgh ijklmnop documents 1"), "*** *** *** documents 1");
});

test("[E8] an address is shown without its secret parts", () => {
  assert.equal(publicAddress("https://user:word@example.org:8443/mcp?key=abc#part"), "https://example.org:8443/mcp");
});
