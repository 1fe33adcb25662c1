import assert from "node:assert/strict";
import { test } from "node:test";
import { testEngine } from "../../../testing/engine.ts";
import { operatorDoor } from "./operator-door.ts";

test("[H4] [F10] a web page cannot read the address of metrics, whatever name leads to it", async (t) => {
  const { engine } = await testEngine(t);
  const metrics = { text: async () => "aptove_turns 1\n", contentType: "text/plain" };
  const door = operatorDoor({ engine, metrics, allowedHosts: ["metrics.internal"], report: () => {} });
  const status = async (host: string, headers: Record<string, string> = {}): Promise<number> => {
    return (await door.fetch(new Request(`http://${host}/metrics`, { headers: { host, ...headers } }))).status;
  };
  for (const host of ["localhost:9464", "127.0.0.1:9464", "10.1.2.3:9464", "[fd00::1]:9464", "metrics.internal:9464"]) {
    assert.equal(await status(host), 200, host);
  }
  // A name that an attacker points at this machine, and pages of any origin.
  for (const host of ["evil.example", "evil.example:9464", "127.0.0.1.evil.example"]) {
    assert.equal(await status(host), 403, host);
  }
  assert.equal(await status("localhost:9464", { origin: "https://evil.example" }), 403);
  assert.equal(await status("localhost:9464", { origin: "http://localhost:9464" }), 403);
  assert.equal(await status("localhost:9464", { host: "evil.example" }), 403);
});
