/** Two orgs, their people with valid and invalid keys, and sessions of one of them, behind every door of one server. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { ErrorCode } from "../src/domain/errors.ts";
import { newId, sha256 } from "../src/domain/ids.ts";
import { memoryRecords } from "../src/records/memory/memory-records.ts";
import type { RecordStore } from "../src/records/record-store.ts";
import { paths, type RouteName } from "../src/protocol/routes/paths.ts";
import { remoteTest, type RemoteTest } from "./acp/remote-test.ts";
import { cliWorld, type CliWorld } from "./cli.ts";
import { addUser } from "./people.ts";

/**
 * The callers. The first org has the owner of the sessions, a participant, a colleague, an admin, a reader, and a device of the
 * owner that has its own workspace. The stranger is the admin of another org. The next three are the owner with an invalid key.
 */
export const people = [
  "owner",
  "participant",
  "colleague",
  "admin",
  "reader",
  "device",
  "stranger",
  "revoked",
  "expired",
  "disabled",
  "anonymous",
] as const;
export type Who = (typeof people)[number];

/** `ok`: the access check passed, whatever happened afterwards. */
export type Outcome = "ok" | ErrorCode;

/** A session of the owner with two turns. The id of the second turn differs from the id of the session (S4). */
export interface Target {
  sessionId: string;
  turnId: string;
  /** A summary of the session. Absent: there is none. */
  summaryId?: string;
}

export interface Wanted {
  isPublic: boolean;
  /** A deleted session that can be restored or purged. */
  isRemoved: boolean;
}

export interface Case {
  who: Who;
  target: Target;
}

export interface AccessWorld {
  /** `isSpent`: the request changes the session, so the session is used only once. */
  target(wanted: Wanted & { isSpent: boolean }): Promise<Target>;
  ask(name: RouteName, one: Case): Promise<Outcome>;
  execute(one: Case, body: object): Promise<Outcome>;
  create(one: Case, body: object): Promise<Outcome>;
  /** The command line as a client of the server. */
  show(one: Case): Promise<Outcome>;
  /** A WebSocket to `/acp`. */
  connect(one: Case): Promise<Outcome>;
  /** True for each unspent session of `target` that the caller sees, the public one first. */
  listed(who: Who): Promise<{ listed: boolean[]; searched: boolean[]; ofOwner: boolean[] }>;
}

interface World {
  byCookie: boolean;
  server: RemoteTest;
  cli: CliWorld;
  records: RecordStore;
  keys: Record<Who, string | null>;
  ids: Record<"owner" | "participant" | "org", string>;
  /** Returns the token of another device of the owner. */
  newDevice(): Promise<string>;
  /** A key, a code or a device of the owner, a context or a budget of the org, or a fact, for one request. */
  spend(kind: "key" | "code" | "device" | "context" | "budget" | "fact"): Promise<string>;
}

/** The error codes that these routes' samples get after the access check has passed. */
const passes: Partial<Record<RouteName, readonly ErrorCode[]>> = {
  importSessions: ["import_invalid"],
  steerSession: ["turn_not_running"],
  steerTurn: ["turn_not_running"],
  archiveTurn: ["turn_in_use"],
  answerQuestion: ["question_not_open"],
  askQuestion: ["question_not_open"],
  listIndexedFiles: ["index_missing"],
  startIndexRun: ["not_found"],
  stopIndexRun: ["not_found"],
  fireMailbox: ["mailbox_empty"],
  pairDevice: ["pairing_refused"],
  signIn: ["sign_in_refused"],
  beginSignIn: ["sign_in_refused"],
  correctTranscript: ["transcript_changed"],
};

/** `byCookie`: each request comes from a browser with the page's cookie, in place of a key in a header (U2). */
export async function accessWorld(t: TestContext, { byCookie = false } = {}): Promise<AccessWorld> {
  const world = { ...(await openWorld(t)), byCookie };
  const kept = new Map<string, Target>();
  const nameOf = ({ isPublic, isRemoved }: Wanted): string => `${isPublic} ${isRemoved}`;
  return {
    target: async ({ isSpent, ...wanted }) => {
      if (isSpent) return await newTarget(world, wanted);
      const target = kept.get(nameOf(wanted)) ?? (await newTarget(world, wanted));
      kept.set(nameOf(wanted), target);
      return target;
    },
    ask: (name, one) => askRoute(world, name, one),
    execute: (one, body) => refusalOf(world, one, { name: "execute", json: { instruction: "x", ...body } }),
    create: (one, body) => refusalOf(world, one, { name: "createSession", json: body }),
    show: (one) => showSession(world, one),
    connect: (one) => connect(world, one),
    listed: async (who) => {
      const there = async (at: string): Promise<boolean[]> => {
        const text = await (await send(world, who, { method: "GET", at })).text();
        const idOf = (isPublic: boolean): string =>
          kept.get(nameOf({ isPublic, isRemoved: false }))?.sessionId ?? assert.fail();
        return [true, false].filter((isPublic) => text.includes(idOf(isPublic)));
      };
      return {
        listed: await there("/api/sessions"),
        searched: await there("/api/search?q=hello"),
        ofOwner: await there(`/api/users/${world.ids.owner}/sessions`),
      };
    },
  };
}

async function openWorld(t: TestContext): Promise<Omit<World, "byCookie">> {
  const records = memoryRecords();
  const server = await remoteTest(t, { aptove: { records }, door: { limits: { requestsPerMinuteMax: 1e6 } } });
  const { engine } = server.aptove;
  const org = server.admin.caller.orgId;
  const [owner, participant, colleague, reader, disabled] = await Promise.all([
    server.person("member"),
    server.person("member"),
    server.person("member"),
    server.person("reader"),
    server.person("member"),
  ]);
  const foreign = await addUser(records, { orgId: newId(), role: "admin" });
  const stranger = { orgId: foreign.orgId, userId: foreign.id, role: foreign.role };
  const keyFor = async (caller = owner.caller): Promise<{ id: string; secret: string }> => {
    const { key, secret } = await engine.keys.create(caller, { name: "test" });
    return { id: key.id, secret };
  };
  const revoked = await keyFor();
  await engine.keys.revoke(owner.caller, revoked.id);
  await engine.people.changeUser(server.admin.caller, disabled.caller.userId, { disabled: true });
  let contexts = 0;
  const newContext = async (): Promise<string> => {
    const id = `team-${(contexts += 1)}`;
    await engine.contexts.put(server.admin.caller, { kind: "conversation", id, entry: {} });
    return id;
  };
  const device = await server.device(owner);
  return {
    server,
    cli: await cliWorld(t),
    records,
    ids: { owner: owner.caller.userId, participant: participant.caller.userId, org },
    keys: {
      owner: owner.key,
      participant: participant.key,
      colleague: colleague.key,
      admin: server.admin.key,
      reader: reader.key,
      device: device.key,
      stranger: (await keyFor(stranger)).secret,
      revoked: revoked.secret,
      expired: await expiredKey(records, owner.caller),
      disabled: disabled.key,
      anonymous: null,
    },
    newDevice: async () => (await server.device(owner)).key,
    spend: async (kind) => {
      if (kind === "key") return (await keyFor()).id;
      if (kind === "context") return await newContext();
      if (kind === "fact") {
        const fact = { workspaceId: "default", text: `fact ${newId()}` };
        const { id } = await engine.workspaceSessions.memory.add(server.admin.caller, fact);
        // The workspace exists now, also for the routes that name no fact.
        await (await server.aptove.workspaces()).permissions.allow("default", "edit");
        return id;
      }
      if (kind === "budget") {
        const budget = { scope: "org", period: "total", unit: "tokens", limit: 1e12 } as const;
        return (await engine.people.budgets.set(server.admin.caller, budget)).id;
      }
      return kind === "code" ? (await engine.devices.pair(owner.caller)).id : (await server.device(owner)).id;
    },
  };
}

/** No door creates one. */
async function expiredKey(records: RecordStore, { orgId, userId }: { orgId: string; userId: string }): Promise<string> {
  const secret = `aptove_${newId()}`;
  const times = {
    createdAt: 0,
    expiresAt: 1,
    lastUsedAt: null,
    revokedAt: null,
    workspaceId: null,
    limits: null,
    roleMax: null,
  };
  const key = { id: newId(), orgId, userId, name: "old", prefix: "aptove_", hash: sha256(secret), deviceId: null };
  await records.keys.insert({ ...key, ...times });
  return secret;
}

async function newTarget({ server, keys, ids, records }: World, { isPublic, isRemoved }: Wanted): Promise<Target> {
  const { engine } = server.aptove;
  const owner = (await engine.keys.authenticate(keys.owner ?? "")) ?? assert.fail("the owner has no key");
  const first = await engine.turns.run(owner, { instruction: "hello" });
  await first.finished;
  const second = await engine.turns.run(owner, { instruction: "more", sessionId: first.sessionId });
  await second.finished;
  const { sessionId } = first;
  const summary = await engine.sessions.summaries.start(owner, { sessionId });
  await engine.sessions.summaries.wait(owner, summary.id, { waitMs: 10_000 });
  await records.sessions.changeParticipants(sessionId, { invited: [ids.participant], dismissed: [] });
  if (isPublic) await records.sessions.update(sessionId, { isPublic }, Date.now());
  if (isRemoved) await records.sessions.update(sessionId, { deletedAt: Date.now() }, Date.now());
  return { sessionId, turnId: second.turnId, summaryId: summary.id };
}

interface Sample {
  name: RouteName;
  /** The value for `{id}` in the path, and the context for `{name}`. */
  id?: string;
  context?: string;
  fact?: string;
  json?: object;
}

async function askRoute(world: World, name: RouteName, one: Case): Promise<Outcome> {
  const outcome = await refusalOf(world, one, await sampleOf(world, name, one.target));
  // A device that signs out has ended.
  if (name === "signOut" && one.who === "device") world.keys.device = await world.newDevice();
  return outcome;
}

async function sampleOf(
  { ids, spend }: World,
  name: RouteName,
  { sessionId, turnId, summaryId = sessionId }: Target,
): Promise<Sample> {
  const { path } = paths[name];
  const bodies: Partial<Record<RouteName, object>> = {
    execute: { instruction: "x", sessionId },
    estimate: { instruction: "x", sessionId },
    createSession: {},
    updateSession: { name: "new" },
    moveHead: { from: turnId, to: sessionId },
    changeSharing: { invite: [ids.participant] },
    startSummary: {},
    steerSession: { text: "x" },
    steerTurn: { text: "x" },
    answerQuestion: { callId: "c1", approved: true },
    askQuestion: {
      callId: "c1",
      askerId: sessionId,
      view: { title: "t", kind: "edit", locations: [], content: [] },
    },
    fireMailbox: {},
    addPin: { turnId },
    nameTurn: { name: "x" },
    updateOrg: { name: "new" },
    createUser: { name: "new" },
    updateUser: { name: "new" },
    createKey: { name: "k" },
    setBudget: { scope: "session", targetId: sessionId, unit: "tokens", limit: 1e12 },
    putContextEntry: { content: {} },
    createWorkspace: {},
    correctTranscript: { text: "## User\n\nhi\n", expectedHash: "none" },
    addFact: { text: "x" },
    changeFact: { text: "y" },
    createPairingCode: {},
    pairDevice: { code: "7K3M-9QXT", name: "x" },
    signIn: { code: "none", name: "x" },
    beginSignIn: { redirectUri: "https://aptove.example.org/signed-in" },
    collectGarbage: { dryRun: true },
    startIndexRun: { repo: "none" },
  };
  const json = bodies[name];
  const id = path.startsWith("/api/turns")
    ? turnId
    : path.startsWith("/api/summaries")
      ? summaryId
      : path.startsWith("/api/orgs")
        ? ids.org
        : path.startsWith("/api/users")
          ? ids.owner
          : path.startsWith("/api/keys/")
            ? await spend("key")
            : path.startsWith("/api/budgets/")
              ? await spend("budget")
              : path.startsWith("/api/devices/pairing-codes/")
                ? await spend("code")
                : path.startsWith("/api/devices/{id}")
                  ? await spend("device")
                  : sessionId;
  const context = path.includes("{name}") ? { context: await spend("context") } : {};
  const fact = path.includes("{workspace}") ? { fact: await spend("fact") } : {};
  return { name, id, ...context, ...fact, ...(json !== undefined && { json }) };
}

const queries: Partial<Record<RouteName, (turnId: string) => string>> = {
  getRequest: () => "?step=1",
  getResponse: () => "?step=1",
  getSummaryRequest: () => "?call=1",
  getSummaryResponse: () => "?call=1",
  getOutput: () => "?call=c1",
  diffTurns: (turnId) => `?with=${turnId}`,
  search: () => "?q=hello",
  listIndexedFiles: () => "?repo=none",
  stopIndexRun: () => "?repo=none",
  withdrawQuestion: (turnId) => `?callId=c1&askerId=${turnId}`,
  forgetPermission: () => "?key=edit",
  getCosts: () => "?from=2026-01-01T00:00:00.000Z",
};

/** Sends the request. If the answer is "not found", sends it again for an id that never existed: both answers must be equal. */
async function refusalOf(world: World, { who, target }: Case, sample: Sample): Promise<Outcome> {
  const outcome = await answerOf(world, who, { sample, turnId: target.turnId });
  if (outcome.code !== "not_found") return outcome.code;
  const nothing = newId();
  const { sessionId, turnId, summaryId = sessionId } = target;
  const replaced = (text: string): string =>
    [sample.id ?? sessionId, sessionId, turnId, summaryId]
      .reduce((at, id) => at.replaceAll(id, nothing), text)
      .replaceAll(sample.context ?? "none", "none");
  const json = sample.json && (JSON.parse(replaced(JSON.stringify(sample.json))) as object);
  const other = { ...sample, id: nothing, context: "none", ...(json !== undefined && { json }) };
  const unknown = await answerOf(world, who, { sample: other, turnId: nothing });
  assert.equal(replaced(outcome.text), unknown.text);
  return outcome.code;
}

interface Asked {
  sample: Sample;
  turnId: string;
}

async function answerOf(world: World, who: Who, { sample, turnId }: Asked): Promise<{ code: Outcome; text: string }> {
  const { method, path } = paths[sample.name];
  const at = path
    .replace("{id}", sample.id ?? "")
    .replace("{kind}", "conversation")
    .replace("{name}", sample.context ?? "")
    .replace("{pinId}", newId())
    .replace("{turnId}", turnId)
    .replace("{workspace}", "default")
    .replace("{fact}", sample.fact ?? "none");
  const query = queries[sample.name]?.(turnId) ?? "";
  const isImport = sample.name === "importSessions";
  const response = await send(world, who, {
    method,
    at: at + query,
    ...(sample.json !== undefined && { json: sample.json }),
    ...(isImport && { type: "application/x-ndjson", body: "" }),
  });
  // The news end only when the caller leaves.
  const isEndless = response.ok && sample.name === "followNews";
  const text = isEndless ? String(await response.body?.cancel()) : await response.text();
  if (response.ok) return { code: "ok", text };
  const { code, requestId: _requestId, ...problem } = JSON.parse(text) as { code: ErrorCode; requestId?: string };
  // No turn of these samples comes from another tool.
  const isOwn =
    (sample.name === "getSource" && text.includes("was not imported from another tool")) ||
    (sample.name === "getOutput" && text.includes("has no result of a call"));
  const isPassed = passes[sample.name]?.includes(code) === true || code === "context_changed" || isOwn;
  return { code: isPassed ? "ok" : code, text: JSON.stringify({ status: response.status, ...problem }) };
}

interface Sent {
  method: string;
  at: string;
  json?: object;
  type?: string;
  body?: string;
}

async function send(
  { server, keys, byCookie }: World,
  who: Who,
  { method, at, json, type, body }: Sent,
): Promise<Response> {
  const key = keys[who];
  const contentType = json === undefined ? type : "application/json";
  return await server.door.fetch(
    new Request(`http://localhost${at}`, {
      method,
      headers: {
        ...(key !== null && (byCookie ? pageHeaders(key) : { authorization: `Bearer ${key}` })),
        ...(contentType !== undefined && { "content-type": contentType }),
      },
      ...(json !== undefined ? { body: JSON.stringify(json) } : body !== undefined && { body }),
    }),
  );
}

/** What a browser sends whose key has this secret. */
function pageHeaders(secret: string): Record<string, string> {
  const [name, at] = ["0123456789ab", secret.length - 22];
  return {
    cookie: `other=1; aptove_${name}=${secret.slice(0, at)}`,
    "x-aptove-page": `${name}.${secret.slice(at)}`,
    "sec-fetch-site": "same-origin",
  };
}

async function showSession({ server, keys, cli }: World, { who, target }: Case): Promise<Outcome> {
  const argv = ["session", "show", target.sessionId, "--json", "--server", server.url, "--key", keys[who] ?? "none"];
  const { stdout } = await cli.run(argv);
  const output = JSON.parse(stdout) as { error?: { code: ErrorCode } };
  return output.error?.code ?? "ok";
}

async function connect({ server, keys }: World, { who }: Case): Promise<Outcome> {
  const key = keys[who];
  const headers = key === null ? undefined : { authorization: `Bearer ${key}` };
  if (who === "admin") {
    const socket = await server.overSocket({ as: null, headers: headers ?? {} });
    socket.close();
    return "ok";
  }
  return (await server.refusedHandshake(headers ?? {})).code;
}
