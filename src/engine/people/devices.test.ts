/** Pairing codes, the tokens of devices, and what a device may not do (P3, P2, H4). */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import type { Caller, Role } from "../../domain/caller.ts";
import { pairingCodeText } from "../../domain/device.ts";
import { newId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { memoryWakeUps } from "../../live/memory/memory-wake-ups.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import { testEngine, type TestEngine, type TestEngineOptions } from "../../../testing/engine.ts";
import { addUser } from "../../../testing/people.ts";
import { createEngine } from "../create-engine.ts";

const refused = { name: "AptoveError", code: "pairing_refused" };
const forbidden = { name: "AptoveError", code: "forbidden" };
const missing = { name: "AptoveError", code: "not_found" };
const foreign = { name: "AptoveError", code: "device_refused" };

interface World extends TestEngine {
  clock: { now: number };
  person(role?: Role, orgId?: string): Promise<Caller>;
  /** A new device of the person's, and who comes with its token. */
  paired(person: Caller, deviceId?: string): Promise<{ id: string; token: string; deviceId: string; caller: Caller }>;
}

async function world(context: TestContext, options: TestEngineOptions = {}): Promise<World> {
  const clock = { now: 1_800_000_000_000 };
  const tested = await testEngine(context, { now: () => clock.now, ...options });
  const { engine, deps, caller } = tested;
  const person = async (role: Role = "member", orgId = caller.orgId): Promise<Caller> => {
    const { id: userId } = await addUser(deps.records, { orgId, role });
    return { orgId, userId, role };
  };
  const paired: World["paired"] = async (who, deviceId) => {
    const { code } = await engine.devices.pair(who);
    const { device, token } = await engine.devices.claim({
      code,
      name: "phone",
      ...(deviceId !== undefined && { deviceId }),
    });
    const by = (await engine.keys.authenticate(token)) ?? assert.fail("the token is no key");
    return { id: device.id, token, deviceId: device.deviceId, caller: by };
  };
  return { ...tested, clock, person, paired };
}

test("[P3] a code gives a device a token, by which it comes in as the user, with its device id", async (t) => {
  const { engine, person, clock } = await world(t);
  const ada = await person();
  const { id, code, expiresAt } = await engine.devices.pair(ada);
  assert.match(code, /^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}$/);
  assert.equal(expiresAt, clock.now + 300_000);
  assert.deepEqual(await engine.devices.pairing(ada, id), { id, state: "open", expiresAt, device: null });
  const { device, token } = await engine.devices.claim({ code, name: "Ada's phone", deviceId: "pixel-7" });
  const times = { createdAt: clock.now, lastUsedAt: null };
  assert.deepEqual(device, { id: device.id, deviceId: "pixel-7", userId: ada.userId, name: "Ada's phone", ...times });
  assert.deepEqual(await engine.devices.pairing(ada, id), { id, state: "claimed", expiresAt, device });
  assert.deepEqual(await engine.keys.authenticate(token), {
    ...ada,
    deviceId: "pixel-7",
    keyId: device.id,
    workspaceId: "device:pixel-7",
  });
  assert.deepEqual(await engine.devices.list(ada), [{ ...device, lastUsedAt: clock.now }]);
});

test("[P3] neither code nor token is in what is stored", async (t) => {
  const { engine, person, deps } = await world(t);
  const ada = await person();
  const memory = memoryRecords();
  await addUser(memory, { id: ada.userId, orgId: ada.orgId, role: "member" });
  const stored: string[] = [];
  for (const name of ["insertCode", "claimCode"] as const) {
    t.mock.method(deps.records.devices, name, (...args: unknown[]) => {
      stored.push(JSON.stringify(args));
      return Reflect.apply(memory.devices[name], memory.devices, args);
    });
  }
  const { code } = await engine.devices.pair(ada);
  const { token } = await engine.devices.claim({ code, name: "phone" });
  assert.equal(stored.length, 2);
  for (const secret of [code, pairingCodeText(code), token]) assert.ok(!stored.join().includes(secret));
});

test("[P3] a code is read as people type it: case, dashes and blanks do not count, and lookalikes are one", async (t) => {
  const { engine, person } = await world(t);
  const ada = await person();
  const misread: Record<string, string[]> = { "0": ["0", "O", "o"], "1": ["1", "I", "l", "L"] };
  const noise = fc.array(fc.constantFrom("-", " ", "", ""), { minLength: 12, maxLength: 12 });
  const choices = fc.array(fc.nat({ max: 11 }), { minLength: 12, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(noise, choices, async (between, chosen) => {
      const { code } = await engine.devices.pair(ada);
      const typed = [...code.replaceAll("-", "")].map((sign, at) => {
        const ways = misread[sign] ?? [sign, sign.toLowerCase()];
        return (between[at] ?? "") + (ways[(chosen[at] ?? 0) % ways.length] ?? sign);
      });
      await engine.devices.claim({ code: typed.join(""), name: "phone" });
    }),
    { numRuns: 50 },
  );
});

test("[P3] a code is good once, for five minutes", async (t) => {
  const { engine, person, clock } = await world(t);
  const ada = await person();
  const [used, late] = [await engine.devices.pair(ada), await engine.devices.pair(ada)];
  await engine.devices.claim({ code: used.code, name: "phone" });
  await assert.rejects(engine.devices.claim({ code: used.code, name: "thief" }), refused);
  clock.now += limits.pairingCodeMs;
  await assert.rejects(engine.devices.claim({ code: late.code, name: "phone" }), refused);
  assert.equal((await engine.devices.pairing(ada, late.id)).state, "ended");
  assert.equal((await engine.devices.list(ada)).length, 1);
});

test("[P3] five wrong guesses end the code that they begin like, and no other person's", async (t) => {
  const { engine, person } = await world(t);
  const [ada, bob] = [await person(), await person()];
  const [mine, other] = [await engine.devices.pair(ada), await engine.devices.pair(bob)];
  const claim = (code: string) => engine.devices.claim({ code, name: "phone" });
  const noCodes = ["", "0000-0000", "no code at all", "x".repeat(1_000), "🙂", "\0".repeat(12)];
  for (const guess of [...noCodes, ...noCodes]) await assert.rejects(claim(guess), refused);
  const wrong = mine.code.slice(0, -1) + (mine.code.endsWith("2") ? "3" : "2");
  for (let guesses = 0; guesses < 5; guesses += 1) await assert.rejects(claim(wrong), refused);
  await assert.rejects(claim(mine.code), refused);
  assert.equal((await engine.devices.pairing(ada, mine.id)).state, "ended");
  await claim(other.code);
  await claim((await engine.devices.pair(ada)).code);
});

test("[H4] a key or device never has more rights than its maker had at that moment", async (t) => {
  const { engine, person, deps } = await world(t);
  // The record's role is admin; the token of the identity provider gave a lower one.
  const stored = await person("admin");
  const caller: Caller = { ...stored, role: "member" };
  const { key, secret } = await engine.keys.create(caller, { name: "key" });
  assert.equal(key.roleMax, "member");
  const { code } = await engine.devices.pair(caller);
  const { token } = await engine.devices.claim({ code, name: "phone" });
  const roles = async (): Promise<(Role | undefined)[]> =>
    await Promise.all([secret, token].map(async (each) => (await engine.keys.authenticate(each))?.role));
  assert.deepEqual(await roles(), ["member", "member"]);
  const byKey = (await engine.keys.authenticate(secret)) ?? assert.fail();
  const second = await engine.keys.create(byKey, { name: "made with the key" });
  assert.equal((await engine.keys.authenticate(second.secret))?.role, "member");
  await person("admin");
  await deps.records.people.updateUser(stored.orgId, stored.userId, { role: "reader" });
  assert.deepEqual(await roles(), ["reader", "reader"]);
});

test("[P3] of two claims of one code at once one wins", async (t) => {
  const { engine, person } = await world(t);
  const ada = await person();
  const { code } = await engine.devices.pair(ada);
  const claims = ["one", "two"].map((name) => engine.devices.claim({ code, name }));
  const results = await Promise.allSettled(claims);
  assert.deepEqual(results.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
  assert.equal((await engine.devices.list(ada)).length, 1);
});

test("[P3] a device keeps the id that it chooses, unless it is no id or belongs to another user", async (t) => {
  const { person, paired } = await world(t);
  const [ada, bob] = [await person(), await person()];
  assert.equal((await paired(ada, "phone")).deviceId, "phone");
  for (const taken of ["phone", "", "line\nbreak", "nul\u0000", "x".repeat(256), "\ud800"]) {
    const { deviceId } = await paired(bob, taken);
    assert.notEqual(deviceId, taken);
    assert.match(deviceId, /^[0-9a-f-]{36}$/);
  }
  assert.notEqual((await paired(bob)).deviceId, (await paired(bob)).deviceId);
});

test("[P3] a device that is paired again has one token: the new one", async (t) => {
  const { engine, person, paired } = await world(t);
  const ada = await person();
  const former = await paired(ada, "phone");
  const current = await paired(ada, "phone");
  assert.equal(await engine.keys.authenticate(former.token), null);
  assert.deepEqual(
    (await engine.devices.list(ada)).map(({ id }) => id),
    [current.id],
  );
});

test("[P3] [H4] a user sees and revokes their own devices, an admin those of the org, and no user those of another org", async (t) => {
  const { engine, person, paired } = await world(t);
  const [ada, bob] = [await person(), await person()];
  const [admin, stranger] = [await person("admin"), await person("admin", newId())];
  const phone = await paired(ada, "phone");
  const idsOf = async (caller: Caller): Promise<string[]> => (await engine.devices.list(caller)).map(({ id }) => id);
  assert.deepEqual(await Promise.all([ada, bob, admin, stranger].map(idsOf)), [[phone.id], [], [phone.id], []]);
  for (const caller of [bob, stranger]) await assert.rejects(engine.devices.revoke(caller, phone.id), missing);
  const { key } = await engine.keys.create(admin, { name: "no device" });
  await assert.rejects(engine.devices.revoke(admin, key.id), missing);
  await engine.devices.revoke(ada, phone.id);
  assert.equal(await engine.keys.authenticate(phone.token), null);
  await assert.rejects(engine.devices.revoke(ada, phone.id), missing);
  const again = await paired(ada, "phone");
  await engine.devices.revoke(admin, again.id);
  assert.deepEqual(await idsOf(ada), []);
});

test("[P3] [H4] only the user who made a pairing code sees its state", async (t) => {
  const { engine, person } = await world(t);
  const { id } = await engine.devices.pair(await person());
  for (const caller of [await person("admin"), await person("member", newId())]) {
    await assert.rejects(engine.devices.pairing(caller, id), missing);
  }
  await assert.rejects(engine.devices.pairing(await person(), "../x"), missing);
});

test("[P3] [H4] a lost device cannot outlive its revoking: it pairs none, makes no key, and revokes only itself", async (t) => {
  const { engine, person, paired } = await world(t);
  const admin = await person("admin");
  const [lost, other] = [await paired(admin, "lost"), await paired(admin, "other")];
  await assert.rejects(engine.devices.pair(lost.caller), forbidden);
  await assert.rejects(engine.keys.create(lost.caller, { name: "back door" }), forbidden);
  await assert.rejects(engine.keys.revoke(lost.caller, other.id), forbidden);
  await assert.rejects(engine.devices.revoke(lost.caller, other.id), forbidden);
  await engine.devices.revoke(lost.caller, lost.id);
  assert.equal(await engine.keys.authenticate(lost.token), null);
  await assert.rejects(engine.devices.pair(await person("reader")), forbidden);
});

test("[P2] [P3] a token acts for its device and no other; another key acts for a device that no other user has", async (t) => {
  const { engine, person, paired } = await world(t);
  const { devices } = engine;
  const [ada, bob] = [await person(), await person()];
  const phone = await paired(ada, "phone");
  assert.equal(await devices.resolve(phone.caller, null), "phone");
  assert.equal(await devices.resolve(phone.caller, "phone"), "phone");
  await assert.rejects(devices.resolve(phone.caller, "laptop"), foreign);
  assert.equal(await devices.resolve(ada, null), null);
  assert.equal(await devices.resolve(ada, "phone"), "phone");
  assert.equal(await devices.resolve(ada, "laptop"), "laptop");
  for (const guessed of ["phone", "laptop"]) await assert.rejects(devices.resolve(bob, guessed), foreign);
  assert.equal(await devices.resolve(bob, "bobs"), "bobs");
  await devices.revoke(ada, phone.id);
  await assert.rejects(devices.resolve(bob, "phone"), foreign);
  await assert.rejects(devices.resolve(ada, "two\nlines"), { code: "request_invalid" });
});

test("[P3] a watcher of a key is informed at once when it is revoked, replaced or expired", async (t) => {
  const { engine, person, paired, clock } = await world(t);
  const admin = await person("admin");
  const ended: string[] = [];
  const watch = (secret: string, name: string, caller = admin) =>
    engine.keys.watch({ secret, caller }, () => void ended.push(name));
  const watchDevice = ({ token, caller }: { token: string; caller: Caller }, name: string) =>
    watch(token, name, caller);
  const phone = await paired(admin, "phone");
  watchDevice(phone, "phone");
  watchDevice(phone, "phone again");
  watchDevice(await paired(admin, "other"), "other");
  watchDevice(await paired(admin, "left"), "left")();
  await engine.devices.revoke(admin, phone.id);
  assert.deepEqual(ended, ["phone", "phone again"]);
  await paired(admin, "other");
  await paired(admin, "left");
  assert.deepEqual(ended.slice(2), ["other"]);
  const { key, secret } = await engine.keys.create(admin, { name: "k" });
  const short = await engine.keys.create(admin, { name: "k", expiresAt: clock.now + 10 });
  watch(secret, "key");
  watch(short.secret, "short");
  clock.now += 10;
  await engine.keys.revoke(admin, key.id);
  assert.deepEqual(ended.slice(3), ["key", "short"]);
});

test("[P3] [B4] a watcher of a key is informed soon when another process revokes it", async (t) => {
  const { engine, person, paired, deps } = await world(t);
  const ada = await person();
  const phone = await paired(ada);
  const there = await createEngine({ ...deps, runner: { ...deps.runner, id: newId() } });
  t.after(() => there.close({ graceMs: 0 }));
  const informed = new EventTarget();
  engine.keys.watch({ secret: phone.token, caller: phone.caller }, () => informed.dispatchEvent(new Event("end")));
  // Nothing else keeps the test's process alive while the engine's own timer does not.
  const alive = setInterval(() => undefined, 1_000);
  t.after(() => clearInterval(alive));
  const end = once(informed, "end");
  await there.devices.revoke(ada, phone.id);
  await end;
});

test("[P3] [H4] with wake-ups watchers are informed at once, and not at the next check of their process", async (t) => {
  // No process checks on its own.
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { engine, person, paired, deps } = await world(t, { wakeUps: memoryWakeUps() });
  const ada = await person();
  const phone = await paired(ada);
  const there = await createEngine({ ...deps, runner: { ...deps.runner, id: newId() } });
  t.after(() => there.close({ graceMs: 0 }));
  const ended = new Promise<void>((resolve) =>
    engine.keys.watch({ secret: phone.token, caller: phone.caller }, resolve),
  );
  await there.devices.revoke(ada, phone.id);
  await ended;
});
