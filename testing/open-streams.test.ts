/**
 * Every stream of every door, while the caller loses what they came with (H4, P3): the stream ends, and the turn goes on. A client that
 * connects again gets the rights that the caller has then.
 */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { WireSignedIn } from "../src/protocol/sign-in.ts";
import { routes, type RouteSpec } from "../src/protocol/routes/routes.ts";
import type { Caller } from "../src/domain/caller.ts";
import { newId } from "../src/domain/ids.ts";
import { aguiDoor } from "../src/doors/agui/agui-door.ts";
import { openAiDoor } from "../src/doors/openai/door.ts";
import { responseId } from "../src/doors/openai/wire-ids.ts";
import type { EngineDependencies } from "../src/engine/dependencies.ts";
import type { Script } from "../src/providers/scripted/scripted.ts";
import { testDoor, type TestDoor } from "./http-door.ts";
import { managedWorkspaces, type ManagedForTest } from "./managed-workspaces.ts";

interface Sent {
  line: string;
  json?: object;
}

/** What the streams are about: a running turn of a session, and a session with a message in its mailbox. */
interface Subjects {
  turnId: string;
  sessionId: string;
  withMail: string;
}

const ofRoutes: Record<string, (of: Subjects) => Sent> = {
  execute: () => ({ line: "POST /api/ai/agent/execute", json: { instruction: "hold", transport: "sse" } }),
  fireMailbox: ({ withMail }) => ({ line: `POST /api/sessions/${withMail}/fire`, json: { transport: "sse" } }),
  turnEvents: ({ turnId }) => ({ line: `GET /api/turns/${turnId}/events` }),
  sessionEvents: ({ sessionId }) => ({ line: `GET /api/sessions/${sessionId}/events` }),
  followNews: () => ({ line: "GET /api/events" }),
};

const ofOtherDoors: Record<string, (of: Subjects) => Sent> = {
  "AG-UI: run": () => ({
    line: "POST /agui",
    json: {
      ...{ threadId: newId(), runId: newId(), messages: [{ id: "m", role: "user", content: "hold" }] },
      ...{ tools: [], context: [], state: null, forwardedProps: {} },
    },
  }),
  "OpenAI: create": () => ({ line: "POST /v1/responses", json: { input: "hold", stream: true } }),
  "OpenAI: retrieve": ({ turnId }) => ({ line: `GET /v1/responses/${responseId(turnId)}?stream=true` }),
  "OpenAI: chat": () => ({
    line: "POST /v1/chat/completions",
    json: { model: "", stream: true, messages: [{ role: "user", content: "hold" }] },
  }),
};

type Headers = Record<string, string>;

interface Visitor {
  caller: Caller;
  keyId: string;
  headers: Headers;
  /** True for the page, which uses the server's own routes only. */
  isBrowser?: boolean;
}

interface World extends TestDoor {
  managed: ManagedForTest;
  fetch(sent: Sent, headers: Headers): Promise<Response>;
  release(): void;
}

async function openWorld(t: TestContext): Promise<World> {
  const held = Promise.withResolvers<void>();
  const script: Script = ({ items }) => {
    const last = items.at(-1);
    const text = JSON.stringify(last);
    if (last?.type === "user" && text.includes("begin one"))
      return [{ calls: "spawn_subagent", with: { instruction: "work", name: "worker" } }];
    return text.includes("hold") || text.includes("[MAILBOX]") ? [{ says: ["half ", held.promise, "whole"] }] : "fine";
  };
  const managed = managedWorkspaces((): EngineDependencies => tested.deps);
  const tested = await testDoor(t, { script, conversation: { subagents: true }, workspaces: managed.parts });
  const { engine } = tested;
  const report = (message: string): void => void tested.reports.push(message);
  const openAi = openAiDoor({ engine, heartbeatMs: 60_000, report });
  t.after(() => openAi.close());
  const door = tested.withMounts([openAi, aguiDoor({ engine, heartbeatMs: 60_000, bodyBytesMax: 1_000_000, report })]);
  t.after(() => held.resolve());
  return {
    ...tested,
    managed,
    release: held.resolve,
    fetch: async ({ line, json }, headers) => {
      const [method = "", at = ""] = line.split(" ");
      const type = json === undefined ? {} : { "content-type": "application/json" };
      const body = json === undefined ? null : JSON.stringify(json);
      return await door.fetch(
        new Request(`http://localhost:4870${at}`, { method, headers: { ...headers, ...type }, body }),
      );
    },
  };
}

const bearer = (secret: string): Headers => ({ authorization: `Bearer ${secret}` });

async function withKey({ engine, person }: World): Promise<Visitor> {
  const caller = await person("member");
  const { key, secret } = await engine.keys.create(caller, { name: "program" });
  return { caller, keyId: key.id, headers: bearer(secret) };
}

async function withDevice({ engine }: World, person: Caller): Promise<Visitor> {
  const { code } = await engine.devices.pair(person);
  const { device, token } = await engine.devices.claim({ code, name: "phone", deviceId: "phone" });
  const caller = (await engine.keys.authenticate(token)) ?? assert.fail("the token is no key");
  return { caller, keyId: device.id, headers: bearer(token) };
}

async function withBrowser({ call, person, engine }: World): Promise<Visitor> {
  const caller = await person("member");
  const response = await call("POST /api/sign-in", { as: null, json: { name: "Firefox", key: caller.key } });
  const { pageSecret } = (await response.json()) as WireSignedIn;
  const [cookie = ""] = (response.headers.get("set-cookie") ?? "").split(";");
  const { keys } = await engine.keys.list(caller);
  const keyId = keys.find(({ name }) => name === "Firefox")?.id ?? assert.fail("the browser has no key");
  return { caller, keyId, headers: { cookie, "x-aptove-page": pageSecret }, isBrowser: true };
}

interface Loss {
  visitor(world: World): Promise<Visitor>;
  lose(world: World, visitor: Visitor): Promise<unknown>;
}

const losses: Record<string, Loss> = {
  "the key is revoked": {
    visitor: withKey,
    lose: ({ client }, { keyId }) => client().keys.revoke(keyId),
  },
  "the person is removed": {
    visitor: withKey,
    lose: ({ client }, { caller }) => client().people.change(caller.userId, { disabled: true }),
  },
  "the person gets a lower role": {
    visitor: withKey,
    lose: ({ client }, { caller }) => client().people.change(caller.userId, { role: "reader" }),
  },
  "the org is suspended": {
    visitor: withKey,
    lose: ({ engine }, { caller }) => engine.operator.suspendOrg(caller.orgId, true),
  },
  "the device is revoked": {
    visitor: async (world) => await withDevice(world, await world.person("member")),
    lose: ({ client }, { keyId }) => client().devices.revoke(keyId),
  },
  "the device is bound to another workspace": {
    visitor: (world) => withDevice(world, world.admin),
    lose: async ({ managed }) => await managed.bindings.bind("phone", (await managed.workspaces.create()).id),
  },
  "the browser signs out": {
    visitor: withBrowser,
    lose: ({ call }, { headers }) => call("DELETE /api/sign-in", { as: null, headers }),
  },
  "an admin signs the browser out": {
    visitor: withBrowser,
    lose: ({ client }, { keyId }) => client().keys.revoke(keyId),
  },
  "the browser's person is removed": {
    visitor: withBrowser,
    lose: ({ client }, { caller }) => client().people.change(caller.userId, { disabled: true }),
  },
  "the browser's person gets a lower role": {
    visitor: withBrowser,
    lose: ({ client }, { caller }) => client().people.change(caller.userId, { role: "reader" }),
  },
};

/** Reads a stream to its end. Fails if it ends before it is `due`. */
async function readToEnd(response: Response, due: () => boolean): Promise<void> {
  const reader = (response.body ?? assert.fail("there is no stream")).getReader();
  while (!(await reader.read()).done);
  assert.ok(due(), "the stream ended too soon");
}

for (const [loss, { visitor, lose }] of Object.entries(losses)) {
  test(`[H4] [P3] [R5] every open stream ends when ${loss}, and the turns go on`, async (t) => {
    const world = await openWorld(t);
    const by = await visitor(world);
    const running = await world.engine.turns.run(by.caller, { instruction: "hold" });
    const mailed = await world.engine.turns.run(by.caller, { instruction: "begin one" });
    await mailed.finished;
    const subjects = { turnId: running.turnId, sessionId: running.sessionId, withMail: mailed.sessionId };
    let isLost = false;
    const ends: Promise<void>[] = [];
    for (const [name, sent] of Object.entries({ ...ofRoutes, ...(by.isBrowser !== true && ofOtherDoors) })) {
      const response = await world.fetch(sent(subjects), by.headers);
      assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/, name);
      ends.push(readToEnd(response, () => isLost));
    }
    isLost = true;
    await lose(world, by);
    await Promise.all(ends);
    world.release();
    assert.equal((await running.finished).status, "completed");
    assert.deepEqual(world.reports, []);
  });
}

test("[H4] [U3] a device that is bound to another workspace connects again, and gets the news of that one", async (t) => {
  const world = await openWorld(t);
  const phone = await withDevice(world, world.admin);
  const client = world.client({ key: phone.headers["authorization"]?.split(" ")[1] ?? "" });
  const first = client.news()[Symbol.asyncIterator]();
  await first.next();
  const { id } = await world.managed.workspaces.create();
  await world.managed.bindings.bind("phone", id);
  assert.equal((await first.next()).done, true);
  const again = client.news()[Symbol.asyncIterator]();
  await again.next();
  const made = await world.engine.sessions.create(world.admin, { workspaceId: id });
  assert.partialDeepStrictEqual((await again.next()).value, { type: "session_changed", sessionId: made.id });
  await again.return?.();
});

test("[H4] [W6] the stream of a device whose workspace is deleted ends, and the device gets another one when it comes back", async (t) => {
  const world = await openWorld(t);
  const { workspaces } = world.managed;
  const phone = await withDevice(world, world.admin);
  const stream = await world.fetch({ line: "GET /api/events" }, phone.headers);
  const ended = readToEnd(stream, () => true);
  await workspaces.delete(phone.caller.workspaceId ?? "", { isRunning: async () => false });
  await ended;
  assert.deepEqual(await workspaces.list(), [], "to listen makes no workspace");
  await world.fetch({ line: "GET /api/me" }, phone.headers);
  assert.equal((await workspaces.list()).length, 1);
});

test("[H4] the table of streams names every route that streams", () => {
  const streaming = Object.entries(routes as Record<string, RouteSpec>)
    .filter(([, { otherAnswers }]) => otherAnswers?.["text/event-stream"] !== undefined)
    .map(([name]) => name);
  assert.deepEqual(Object.keys(ofRoutes).toSorted(), streaming.toSorted());
});
