/** Pairing, listing and revoking devices over HTTP (P3). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { WireDevice, WirePairedDevice, WirePairing, WirePairingCode } from "../../../protocol/device.ts";
import { sseMessages, testDoor, type Person, type TestDoor } from "../../../../testing/http-door.ts";

async function paired(door: TestDoor, as: Person, more: object = {}): Promise<{ device: WireDevice; person: Person }> {
  const { code } = await json<WirePairingCode>(door.call("POST /api/devices/pairing-codes", { as, json: {} }));
  const claim = { as: null, json: { code, name: "phone", ...more } };
  const { device, token } = await json<WirePairedDevice>(door.call("POST /api/devices/pair", claim));
  return { device, person: { ...as, key: token } };
}

async function json<T>(response: Promise<Response>): Promise<T> {
  return (await (await response).json()) as T;
}

test("[P3] a code is created with a key, claimed without one, and shown as claimed; the token is a key", async (t) => {
  const door = await testDoor(t);
  const made = await json<WirePairingCode>(door.call("POST /api/devices/pairing-codes", { json: {} }));
  const at = `GET /api/devices/pairing-codes/${made.id}`;
  assert.partialDeepStrictEqual(await json<WirePairing>(door.call(at)), { state: "open", device: null });
  const claim = { code: made.code.toLowerCase(), name: "my phone", deviceId: "pixel-7" };
  const { device, token } = await json<WirePairedDevice>(
    door.call("POST /api/devices/pair", { as: null, json: claim }),
  );
  assert.partialDeepStrictEqual(device, { deviceId: "pixel-7", name: "my phone", userId: door.admin.userId });
  const { id, expiresAt } = made;
  assert.deepEqual(await json<WirePairing>(door.call(at)), { id, state: "claimed", expiresAt, device });
  const person = { ...door.admin, key: token };
  assert.partialDeepStrictEqual(await json(door.call("GET /api/me", { as: person })), { userId: door.admin.userId });
  const { devices } = await json<{ devices: WireDevice[] }>(door.call("GET /api/devices", { as: person }));
  assert.deepEqual(devices, [{ ...device, lastUsedAt: devices[0]?.lastUsedAt }]);
});

test("[P3] [H3] a wrong claim is refused, and no error code shows how close it was", async (t) => {
  const door = await testDoor(t);
  const pair = "POST /api/devices/pair";
  const fit = { code: "AAAA-AAAA", name: "phone" };
  const wrong = [
    { ...fit, code: 1 },
    { ...fit, code: "A".repeat(65) },
    { ...fit, name: "" },
    { ...fit, name: "nul\u0000" },
    { ...fit, deviceId: "two\nlines" },
    { ...fit, userId: door.admin.userId },
    { name: "phone" },
    [],
  ];
  for (const body of wrong) await door.refused("request_invalid", pair, { as: null, json: body });
  await door.refused("unsupported_media_type", pair, { as: null, body: "code=AAAA-AAAA" });
  const { code } = await json<WirePairingCode>(door.call("POST /api/devices/pairing-codes", { json: {} }));
  const close = (code.startsWith("0") ? "1" : "0") + code.slice(1);
  const refusals = [await door.refused("pairing_refused", pair, { as: null, json: { ...fit, code: close } })];
  refusals.push(await door.refused("pairing_refused", pair, { as: null, json: { ...fit, code: "far" } }));
  assert.equal(refusals[0]?.detail, refusals[1]?.detail);
  // A body that is no claim does not count as a guess.
  await door.call(pair, { as: null, json: { ...fit, code } });
});

test("[P3] [H4] a page of a foreign origin, and a foreign host, may not even guess", async (t) => {
  const door = await testDoor(t);
  const claim = { as: null, json: { code: "AAAA-AAAA", name: "phone" } };
  for (const headers of [{ origin: "https://evil.example" }, { host: "evil.example" }]) {
    await door.refused("origin_refused", "POST /api/devices/pair", { ...claim, headers });
  }
});

test("[P3] [H5] guesses without a key are counted together, and do not affect users with a key", async (t) => {
  const door = await testDoor(t, { door: { limits: { requestsPerMinuteMax: 3 }, now: () => 0 } });
  const claim = { as: null, json: { code: "AAAA-AAAA", name: "phone" } };
  for (let n = 0; n < 3; n++) await door.refused("pairing_refused", "POST /api/devices/pair", claim);
  await door.refused("rate_limited", "POST /api/devices/pair", claim);
  await door.call("GET /api/me");
  await door.call("GET /healthz", { as: null });
});

test("[P3] [H4] a revoked token is refused from then on; a device may revoke itself", async (t) => {
  const door = await testDoor(t);
  const member = await door.person("member");
  const [lost, left] = [await paired(door, member), await paired(door, member)];
  await door.refused("not_found", `DELETE /api/devices/${lost.device.id}`, { as: await door.person("member") });
  await door.call(`DELETE /api/devices/${lost.device.id}`, { as: member });
  await door.refused("unauthenticated", "GET /api/me", { as: lost.person });
  await door.refused("forbidden", "POST /api/devices/pairing-codes", { as: left.person, json: {} });
  await door.call(`DELETE /api/devices/${left.device.id}`, { as: left.person });
  await door.refused("unauthenticated", "GET /api/me", { as: left.person });
  assert.deepEqual(await json(door.call("GET /api/devices", { as: member })), { devices: [] });
});

test("[P3] [R5] a stream that is open when its device is revoked ends at once, and the turn continues", async (t) => {
  const answering = Promise.withResolvers<void>();
  const door = await testDoor(t, { script: () => [{ says: ["half ", answering.promise, "whole"] }] });
  const member = await door.person("member");
  const phone = await paired(door, member);
  const workspaceId = `device:${phone.device.deviceId}`;
  const { sessionId, turnId, finished } = await door.engine.turns.run(member, { instruction: "x", workspaceId });
  const response = await door.call(`GET /api/turns/${turnId}/events`, { as: phone.person });
  const reader = (response.body ?? assert.fail("there is no stream")).getReader();
  await reader.read();
  await door.call(`DELETE /api/devices/${phone.device.id}`, { as: member });
  while (!(await reader.read()).done);
  answering.resolve();
  assert.equal((await finished).status, "completed");
  const whole = await door.call(`GET /api/sessions/${sessionId}/events`, { as: member });
  assert.match(sseMessages(await whole.text()).at(-1)?.data ?? "", /RUN_FINISHED/);
});

test("[P3] the client pairs, lists and revokes", async (t) => {
  const door = await testDoor(t);
  const { devices } = door.client();
  const { id, code } = await devices.createPairingCode();
  const { device, token } = await door.client({ key: "" }).devices.pair({ code, name: "phone" });
  assert.deepEqual((await devices.pairing(id)).device, device);
  assert.equal((await door.client({ key: token }).me()).userId, door.admin.userId);
  await devices.revoke(device.id);
  assert.deepEqual(await devices.list(), []);
  await assert.rejects(door.client({ key: token }).me(), { code: "unauthenticated" });
});
