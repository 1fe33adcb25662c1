import assert from "node:assert/strict";
import { test } from "node:test";
import { createHttpConnection, type HttpConnectionOptions } from "./http-connection.ts";

const apiKey = "sk-test-0123456789";
const usual: HttpConnectionOptions = {
  name: "p",
  baseUrl: "https://host/v1",
  apiKey,
  fixedHeaders: { authorization: `Bearer ${apiKey}` },
};

const { apiKey: _, ...withoutKey } = usual;

test("[E8] no extra header takes the place of the key, however its name is written", () => {
  const { headers } = createHttpConnection({
    ...usual,
    defaultHeaders: { "x-version": "1", "x-kind": "a" },
    headers: { Authorization: "Bearer other", "X-Version": "2", "Content-Type": "text/plain" },
  });
  assert.deepEqual(headers, {
    accept: "text/event-stream",
    authorization: `Bearer ${apiKey}`,
    "content-type": "application/json",
    "user-agent": "aptove",
    "x-kind": "a",
    "x-version": "2",
  });
});

test("[E8] options that cannot be used are refused without naming a secret", () => {
  const bad: Partial<HttpConnectionOptions>[] = [
    { apiKey: "" },
    { apiKey: "sk-secret\nx" },
    { apiKey: "sk-secret é" },
    { headers: { "x-token": "sk-secret\u0000" } },
    { headers: { "no name": "sk-secret" } },
    { baseUrl: "" },
    { baseUrl: "localhost:1" },
    { baseUrl: "ftp://localhost/v1" },
    { baseUrl: "https://user:sk-secret@localhost/v1" },
  ];
  for (const options of bad) {
    assert.throws(
      () => createHttpConnection({ ...usual, ...options }),
      (error: Error & { code?: string }) => error.code === "config_invalid" && !error.message.includes("sk-secret"),
      JSON.stringify(options),
    );
  }
});

test("[C2] [E8] the account is another for another server, key or header, and shows nothing of them", () => {
  const accounts = [
    usual,
    withoutKey,
    { ...usual, apiKey: "sk-test-0123456780" },
    { ...usual, baseUrl: "http://localhost:1/v1" },
    { ...usual, headers: { "x-project": "1" } },
    { ...usual, defaultHeaders: { "x-project": "2" } },
  ].map((options) => createHttpConnection(options).account);
  assert.equal(new Set(accounts).size, accounts.length);
  assert.ok(accounts.every((account) => /^[0-9a-f]{64}$/.test(account)));
  assert.equal(createHttpConnection({ ...usual, baseUrl: "https://host/v1/" }).account, accounts[0]);
});

test("[E8] the key and every longer header is a secret; without a key there is none", () => {
  assert.deepEqual(createHttpConnection({ ...usual, headers: { "x-token": "token-123", "x-kind": "a" } }).secrets, [
    apiKey,
    "token-123",
  ]);
  assert.deepEqual(createHttpConnection(withoutKey).secrets, []);
});
