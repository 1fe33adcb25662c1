/**
 * Every id of the doors for other programs, for every kind of caller: OpenAI's API, AG-UI, and the Model Context Protocol (O1, O2,
 * O6, O7). What a caller may not see gets, to the last byte, the answer for what never was. The test prints the table for a public
 * and a private session.
 */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createClient } from "../src/client/client.ts";
import type { Caller } from "../src/domain/caller.ts";
import { newId, sha256 } from "../src/domain/ids.ts";
import { aguiDoor } from "../src/doors/agui/agui-door.ts";
import type { HttpDoor } from "../src/doors/http/door.ts";
import { mcpDoor } from "../src/doors/mcp/mcp-door.ts";
import { openAiDoor } from "../src/doors/openai/door.ts";
import { conversationId, itemId, responseId } from "../src/doors/openai/wire-ids.ts";
import { isKnown, rules, standingOf, type Rule } from "./access-rules.ts";
import { people, type Outcome, type Target, type Who } from "./access-world.ts";
import { testDoor } from "./http-door.ts";

interface Sent {
  method: "GET" | "POST" | "DELETE";
  at: string;
  json?: object;
}

/** The request to one door that names a session or a turn. */
interface Way {
  rule: keyof typeof rules;
  request(target: Target): Sent;
  /** True if it changes the session, which is then used once. */
  isSpent?: boolean;
}

const say = { input: "more" };

function tool(name: string, of: (target: Target) => object): Way["request"] {
  return (target) => ({
    method: "POST",
    at: "/mcp",
    json: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: of(target) } },
  });
}

function response(method: Sent["method"], rest = "", json?: object): Way["request"] {
  return ({ turnId }) => ({ method, at: `/v1/responses/${responseId(turnId)}${rest}`, ...(json && { json }) });
}

function conversation(method: Sent["method"], rest = "", json?: object): Way["request"] {
  return ({ sessionId, turnId }) => ({
    method,
    at: `/v1/conversations/${conversationId(sessionId)}${rest.replace("{item}", itemId("kept", turnId, 0))}`,
    ...(json && { json }),
  });
}

const create = (of: (target: Target) => object): Way["request"] => {
  return (target) => ({ method: "POST", at: "/v1/responses", json: { ...say, ...of(target) } });
};

function run(threadId: string, runId: string, messages: object[]): Sent {
  const json = { threadId, runId, messages, tools: [], context: [], state: null, forwardedProps: {} };
  return { method: "POST", at: "/agui", json };
}

const ways: Record<string, Way> = {
  "GET response": { rule: "read", request: response("GET") },
  "GET response, stream": { rule: "read", request: response("GET", "?stream=true&starting_after=0") },
  "GET input items": { rule: "read", request: response("GET", "/input_items") },
  "POST cancel": { rule: "read", request: response("POST", "/cancel", {}) },
  "DELETE response": { rule: "change", request: response("DELETE"), isSpent: true },
  "create, by response": {
    rule: "fork",
    request: create(({ turnId }) => ({ previous_response_id: responseId(turnId) })),
  },
  "create, not stored": {
    rule: "fork",
    request: create(({ turnId }) => ({ previous_response_id: responseId(turnId), store: false })),
  },
  "create, by conversation": {
    rule: "continue",
    request: create(({ sessionId }) => ({ conversation: conversationId(sessionId) })),
  },
  "create, by item": {
    rule: "fork",
    request: create(({ turnId }) => ({
      input: [
        { type: "item_reference", id: itemId("message", turnId, 0) },
        { role: "user", content: "more" },
      ],
    })),
  },
  "POST input tokens": {
    rule: "fork",
    request: ({ turnId }) => ({
      method: "POST",
      at: "/v1/responses/input_tokens",
      json: { ...say, previous_response_id: responseId(turnId) },
    }),
  },
  "POST compact": {
    rule: "fork",
    request: ({ turnId }) => ({
      method: "POST",
      at: "/v1/responses/compact",
      json: { model: "", previous_response_id: responseId(turnId) },
    }),
  },
  "GET conversation": { rule: "read", request: conversation("GET") },
  "GET items": { rule: "read", request: conversation("GET", "/items") },
  "GET item": { rule: "read", request: conversation("GET", "/items/{item}") },
  "POST conversation": { rule: "change", request: conversation("POST", "", { metadata: { a: "b" } }) },
  "POST items": {
    rule: "continue",
    request: conversation("POST", "/items", { items: [{ role: "user", content: "x" }] }),
  },
  "DELETE item": { rule: "continue", request: conversation("DELETE", "/items/{item}"), isSpent: true },
  "DELETE conversation": { rule: "change", request: conversation("DELETE"), isSpent: true },
  "agui: thread": {
    rule: "thread",
    request: ({ sessionId }) => run(sessionId, newId(), [{ id: "m", role: "user", content: "more" }]),
  },
  "mcp: read session": { rule: "read", request: tool("read_session", ({ sessionId }) => ({ sessionId })) },
  "mcp: read turn": { rule: "read", request: tool("read_turn", ({ turnId }) => ({ turnId })) },
  "mcp: diff": {
    rule: "read",
    request: tool("diff_turns", ({ turnId }) => ({ turnId, otherTurnId: turnId })),
  },
  "mcp: continue": {
    rule: "continue",
    request: tool("continue_session", ({ sessionId }) => ({ sessionId, instruction: "more" })),
  },
  "mcp: fork": { rule: "fork", request: tool("fork_session", ({ turnId }) => ({ turnId })) },
  "mcp: resource": {
    rule: "read",
    request: ({ sessionId }) => ({
      method: "POST",
      at: "/mcp",
      json: {
        jsonrpc: "2.0",
        id: 1,
        method: "resources/read",
        params: { uri: `aptove://sessions/${sessionId}` },
      },
    }),
  },
};

interface Answer {
  outcome: Outcome | string;
  text: string;
}

interface World {
  keys: Record<Who, string | null>;
  target(wanted: { isPublic: boolean }): Promise<Target>;
  ask(who: Who, sent: Sent): Promise<Answer>;
}

async function openWorld(t: TestContext): Promise<World> {
  const tested = await testDoor(t, { door: { limits: { requestsPerMinuteMax: 1e6 } } });
  const { engine, admin, person } = tested;
  const report = (message: string): void => void tested.reports.push(message);
  const heartbeatMs = 60_000;
  const door: HttpDoor = tested.withMounts([
    openAiDoor({ engine, heartbeatMs, report }),
    aguiDoor({ engine, heartbeatMs, bodyBytesMax: 1_000_000, report }),
    mcpDoor({
      clientFor: (key) => createClient({ url: "http://localhost:4870", key, fetch: (request) => door.fetch(request) }),
      version: "test",
      bodyBytesMax: 1_000_000,
      report,
    }),
  ]);
  const [owner, participant, colleague, reader, stranger, disabled] = await Promise.all([
    person("member"),
    person("member"),
    person("member"),
    person("reader"),
    person("admin", newId()),
    person("member"),
  ]);
  const device = await engine.devices.claim({ code: (await engine.devices.pair(owner)).code, name: "phone" });
  const revoked = await engine.keys.create(owner, { name: "old" });
  await engine.keys.revoke(owner, revoked.key.id);
  await engine.people.changeUser(admin, disabled.userId, { disabled: true });
  const keys: World["keys"] = {
    owner: owner.key,
    participant: participant.key,
    colleague: colleague.key,
    admin: admin.key,
    reader: reader.key,
    device: device.token,
    stranger: stranger.key,
    revoked: revoked.secret,
    // A secret of the right form that belongs to no key.
    expired: `aptove_${sha256("none").slice(0, 43)}`,
    disabled: disabled.key,
    anonymous: null,
  };
  const who = ({ orgId, userId, role }: Caller): Caller => ({ orgId, userId, role });
  return {
    keys,
    target: async ({ isPublic }) => {
      const first = await engine.turns.run(who(owner), { instruction: "hello", session: { isPublic } });
      await first.finished;
      const { sessionId } = first;
      await engine.sharing.change(who(owner), sessionId, { invite: [participant.userId] });
      const second = await engine.turns.run(who(owner), { instruction: "more", sessionId });
      await second.finished;
      return { sessionId, turnId: second.turnId };
    },
    ask: async (by, { method, at, json }) => {
      const key = keys[by];
      const sent = new Request(`http://localhost:4870${at}`, {
        method,
        headers: {
          ...(key !== null && { authorization: `Bearer ${key}` }),
          accept: "application/json, text/event-stream",
          "content-type": "application/json",
        },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      });
      const answer = await door.fetch(sent);
      const text = await answer.text();
      return { outcome: outcomeOf(answer.status, text), text: `${answer.status} ${text}` };
    },
  };
}

/** The answers to these samples after the access check has passed. */
const passed = ["invalid_request", "item_not_there"];

function outcomeOf(status: number, text: string): string {
  const code = /"code":\s*"?([\w-]+)"?/.exec(text)?.[1] ?? null;
  const isRefused = status >= 400 || text.includes('"isError":true') || text.includes('"type":"RUN_ERROR"');
  if (!isRefused && !/"error":\{/.test(text)) return "ok";
  if (text.includes('"message":"not_found: ')) return "not_found";
  if (code === "invalid_api_key") return "unauthenticated";
  if (code === "previous_response_not_found") return "not_found";
  return code !== null && passed.includes(code) ? "ok" : (code ?? String(status));
}

function widthOf(who: Who): number {
  return Math.max(who.length, 7);
}

test("[O1] [O2] [O6] [O7] [H4] every id for every caller: foreign ones are, to the byte, as those that never were", async (t) => {
  const world = await openWorld(t);
  const kept = {
    public: await world.target({ isPublic: true }),
    private: await world.target({ isPublic: false }),
  };
  const table: string[] = [];
  const wrong: string[] = [];
  for (const [name, way] of Object.entries(ways)) {
    const rule: Rule = rules[way.rule];
    const cells: string[] = [];
    for (const who of people) {
      const outcomes: string[] = [];
      for (const kind of ["public", "private"] as const) {
        const isPublic = kind === "public";
        const expected = rule(who, standingOf(who, isPublic));
        const target = way.isSpent === true && expected === "ok" ? await world.target({ isPublic }) : kept[kind];
        const { outcome, text } = await world.ask(who, way.request(target));
        // A reader is refused before or after the id is looked up. Neither answer says whether it exists.
        const isHiddenEarly = outcome === "not_found" && who === "reader" && !isPublic;
        if (outcome !== expected && !isHiddenEarly)
          wrong.push(`${name}, ${who}, ${kind}: ${outcome}, not ${expected}: ${text.slice(0, 200)}`);
        if (outcome === "not_found") {
          const nothing = { sessionId: newId(), turnId: newId() };
          const unknown = await world.ask(who, way.request(nothing));
          assert.equal(withoutIds(text, target), withoutIds(unknown.text, nothing), `${name}, ${who}, ${kind}`);
        }
        outcomes.push(outcome);
      }
      cells.push([...new Set(outcomes)].join("/").padEnd(widthOf(who)));
    }
    table.push([name.padEnd(24), ...cells].join(" ").trimEnd());
  }
  t.diagnostic(["", ["public/private".padEnd(24), ...people].join(" "), ...table].join("\n"));
  assert.deepEqual(wrong, []);
  assert.ok(people.some((who) => !isKnown(who)));
});

/** Ids that an answer repeats, and those that each answer makes anew, say nothing. */
function withoutIds(text: string, { sessionId, turnId }: Target): string {
  const hex = (id: string): string => id.replaceAll("-", "");
  return text
    .replaceAll(sessionId, "<session>")
    .replaceAll(turnId, "<turn>")
    .replaceAll(hex(sessionId), "<session>")
    .replaceAll(hex(turnId), "<turn>")
    .replaceAll(/"requestId":"[^"]*"/g, "");
}
