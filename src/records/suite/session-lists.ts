/** What a store must do when it lists sessions and their participants (S6, S7). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type * as FastCheck from "fast-check";
import type { Session } from "../../domain/session.ts";
import type { SessionQuery } from "../record-store.ts";
import {
  ada,
  noon,
  sampleOrgId,
  runSampleTurn,
  sessionOf,
  startSession,
  type OpenRecordsForTest,
  type RecordsWith,
  inviteUser,
  openingOf,
  readSession,
  draftOf,
} from "./samples.ts";

/** The parts that these tests need. */
type Parts = "sessions" | "turns";
type Records = RecordsWith<Parts>;

const bob = "user-bob";

async function namesSeen(store: Records, query: Partial<SessionQuery> = {}): Promise<string[]> {
  const { sessions } = await store.sessions.list({ orgId: sampleOrgId, userId: ada, limit: 100, ...query });
  return sessions.map((session) => session.name);
}

export function sessionListTests(open: OpenRecordsForTest<Parts>): void {
  test("[S6] deleted sessions are listed only for their owner, latest deletion first, until they are restored", async (context) => {
    const { store } = await open(context);
    const mine = (over = {}) => startSession(store, { name: "mine", ...over });
    const deleted = [
      await mine({ deletedAt: noon + 9 }),
      ...[await mine({ deletedAt: noon + 5 }), await mine({ deletedAt: noon + 5 })].toSorted((a, b) =>
        a.id > b.id ? -1 : 1,
      ),
      await mine({ deletedAt: noon }),
    ];
    await mine();
    await mine({ deletedAt: noon, orgId: "org-2" });
    const theirs = await mine({ deletedAt: noon, userId: "user-bob", isPublic: true });
    const query = { orgId: sampleOrgId, userId: ada, limit: 10 };
    assert.deepEqual(await store.sessions.listDeleted(query), deleted);
    assert.deepEqual(await store.sessions.listDeleted({ ...query, limit: 2 }), deleted.slice(0, 2));
    assert.deepEqual(await store.sessions.listDeleted({ ...query, userId: "user-bob" }), [theirs]);

    const [first, ...rest] = deleted;
    assert.ok(first !== undefined);
    await store.sessions.update(first.id, { deletedAt: null }, noon);
    assert.deepEqual(await store.sessions.listDeleted(query), rest);
    assert.ok((await store.sessions.list(query)).sessions.some(({ id }) => id === first.id));
  });

  test("[S7] an invited user takes part and finds the session; a dismissed user does not", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store, { orgId: sampleOrgId });
    const change = async (invited: string[], dismissed: string[], id = session.id): Promise<string[]> => {
      await store.sessions.changeParticipants(id, { invited, dismissed });
      return await store.sessions.listParticipants(session.id);
    };
    assert.deepEqual(await change(["user-c", "user-b"], []), ["user-b", "user-c"]);
    assert.deepEqual(await change(["user-b"], ["user-d"]), ["user-b", "user-c"]);
    const found = await store.sessions.list({ orgId: sampleOrgId, userId: "user-b", limit: 9 });
    assert.deepEqual(found.sessions, [session]);
    assert.equal(await store.sessions.isParticipant(session.id, "user-b"), true);
    assert.deepEqual(await change([], ["user-b"]), ["user-c"]);
    assert.deepEqual(await store.sessions.list({ orgId: sampleOrgId, userId: "user-b", limit: 9 }), {
      sessions: [],
      next: null,
    });
    assert.deepEqual(await change(["user-b"], [], "no session"), ["user-c"]);
  });

  test("[S7] a list has the sessions that a user owns, took part in, or that are public in the org; never another org's", async (context) => {
    const { store } = await open(context);
    await startSession(store, { name: "own" });
    await startSession(store, { name: "bob's", userId: bob });
    await startSession(store, { name: "bob's, public", userId: bob, isPublic: true });
    const shared = await startSession(store, { name: "bob's, shared", userId: bob });
    await startSession(store, { name: "elsewhere", orgId: "org-2", isPublic: true });
    const former = await startSession(store, { name: "own, elsewhere", orgId: "org-2" });
    await startSession(store, { name: "own, deleted", deletedAt: noon });
    await startSession(store, { name: "public, deleted", userId: bob, isPublic: true, deletedAt: noon });
    await inviteUser(store, shared.id, ada);
    await runSampleTurn(store, shared.id, { createdBy: ada });
    await runSampleTurn(store, shared.id, { createdBy: ada });
    await runSampleTurn(store, former.id, { createdBy: ada });

    assert.deepEqual((await namesSeen(store)).toSorted(), ["bob's, public", "bob's, shared", "own"]);
    const bobsOwn = ["bob's", "bob's, public", "bob's, shared"];
    assert.deepEqual((await namesSeen(store, { userId: bob })).toSorted(), bobsOwn);
    assert.deepEqual(await namesSeen(store, { userId: "user-eve" }), ["bob's, public"]);
    assert.deepEqual((await namesSeen(store, { memberId: bob })).toSorted(), ["bob's, public", "bob's, shared"]);
    await inviteUser(store, former.id, bob);
    assert.deepEqual(await namesSeen(store, { userId: bob, memberId: ada }), ["bob's, shared"]);
  });

  test("[S7] the owner takes part from the first turn, others by an invitation; a dismissed user opens no turn, and does not return by trying", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const other = await startSession(store);
    assert.equal(await store.sessions.isParticipant(session.id, ada), false);
    const turnOf = async (over: { createdBy: string }) =>
      openingOf(draftOf(await readSession(store, session.id), over));
    assert.deepEqual(await store.turns.open(await turnOf({ createdBy: bob })), { outcome: "missing" });
    await inviteUser(store, session.id, bob);
    await runSampleTurn(store, session.id);
    await runSampleTurn(store, session.id, { createdBy: bob });
    assert.equal(await store.sessions.isParticipant(session.id, ada), true);
    assert.equal(await store.sessions.isParticipant(session.id, bob), true);
    await store.sessions.changeParticipants(session.id, { invited: [], dismissed: [bob] });
    // The dismissal may happen while a turn is being prepared.
    assert.deepEqual(await store.turns.open(await turnOf({ createdBy: bob })), { outcome: "missing" });
    assert.equal(await store.sessions.isParticipant(session.id, bob), false);
    assert.equal(await store.sessions.isParticipant(session.id, "user-eve"), false);
    assert.equal(await store.sessions.isParticipant(other.id, bob), false);
  });

  test("[S1] a draft is in no list of others, also if it is public or shared", async (context) => {
    const { store } = await open(context);
    const draft = await startSession(store, { name: "draft", isPublic: true, isDraft: true });
    await inviteUser(store, draft.id, bob);
    assert.deepEqual(await namesSeen(store), ["draft"]);
    assert.deepEqual(await namesSeen(store, { userId: bob }), []);
    assert.equal((await store.sessions.update(draft.id, { isDraft: false }, noon))?.isDraft, false);
    assert.deepEqual(await namesSeen(store, { userId: bob }), ["draft"]);
  });

  test("[S7] each filter selects alone and with others, over all pages, and what it selects can be counted", async (context) => {
    const { store } = await open(context);
    await startSession(store, { name: "a", labels: ["urgent"], metadata: { team: "red", size: 3 }, activeAt: noon });
    await startSession(store, { name: "b", labels: ["urgent"], metadata: { team: "blue" }, activeAt: noon + 1 });
    await startSession(store, { name: "c", tokensTotal: 500, lastTurnStatus: "failed", activeAt: noon + 2 });
    await startSession(store, { name: "d", conversationContextId: "review", labels: ["urg"], activeAt: noon + 3 });
    const cases: [Partial<SessionQuery>, string[]][] = [
      [{ label: "urgent" }, ["b", "a"]],
      [{ metadata: { key: "team" } }, ["b", "a"]],
      [{ metadata: { key: "team", value: "red" } }, ["a"]],
      [{ metadata: { key: "size", value: "3" } }, ["a"]],
      [{ metadata: { key: "toString" } }, []],
      [{ label: "urgent", metadata: { key: "team", value: "blue" } }, ["b"]],
      [{ conversationContextId: "review" }, ["d"]],
      [{ status: "failed" }, ["c"]],
      [{ tokensMin: 500 }, ["c"]],
      [{ tokensMin: 501 }, []],
      [{ activeFrom: noon + 1, activeUntil: noon + 2 }, ["c", "b"]],
    ];
    for (const [filter, expected] of cases) {
      assert.deepEqual(await namesSeen(store, filter), expected, JSON.stringify(filter));
      const count = await store.sessions.count({ orgId: sampleOrgId, userId: ada, ...filter });
      assert.equal(count, expected.length, JSON.stringify(filter));
    }
    const query = { orgId: sampleOrgId, userId: ada, label: "urgent", limit: 1 };
    const first = await store.sessions.list(query);
    assert.ok(first.next !== null);
    const second = await store.sessions.list({ ...query, after: first.next });
    assert.deepEqual(
      [first, second].map(({ sessions }) => sessions[0]?.name),
      ["b", "a"],
    );
    assert.equal(second.next, null);
  });

  test("[S7] newest activity comes first, and a turn is activity", async (context) => {
    const { store } = await open(context);
    const first = await startSession(store, { name: "first", activeAt: noon });
    await startSession(store, { name: "third", activeAt: noon + 20 });
    await startSession(store, { name: "second", activeAt: noon + 10 });
    assert.deepEqual(await namesSeen(store), ["third", "second", "first"]);
    await runSampleTurn(store, first.id, { createdAt: noon + 30 });
    assert.deepEqual(await namesSeen(store), ["first", "third", "second"]);
    await store.sessions.update(first.id, { name: "renamed" }, noon + 99);
    assert.deepEqual(await namesSeen(store), ["renamed", "third", "second"]);
  });

  test("[S6] [S7] a list can select archived sessions, the others, or both", async (context) => {
    const { store } = await open(context);
    await startSession(store, { name: "live", activeAt: noon + 1 });
    await startSession(store, { name: "archived", archivedAt: noon });
    assert.deepEqual(await namesSeen(store), ["live", "archived"]);
    assert.deepEqual(await namesSeen(store, { archived: false }), ["live"]);
    assert.deepEqual(await namesSeen(store, { archived: true }), ["archived"]);
  });

  test("[S7] a list can select one repository or workspace", async (context) => {
    const { store } = await open(context);
    await startSession(store, { name: "a", repo: "it's", workspaceId: "w1", activeAt: noon + 2 });
    await startSession(store, { name: "b", repo: "it's", workspaceId: "w2", activeAt: noon + 1 });
    await startSession(store, { name: "c" });
    assert.deepEqual(await namesSeen(store, { repo: "it's" }), ["a", "b"]);
    assert.deepEqual(await namesSeen(store, { repo: "it's", workspaceId: "w2" }), ["b"]);
    assert.deepEqual(await namesSeen(store, { workspaceId: "w3" }), []);
  });

  test("[S7] the last page has no cursor, also when it is full", async (context) => {
    const { store } = await open(context);
    const query = { orgId: sampleOrgId, userId: ada, limit: 2 };
    assert.deepEqual(await store.sessions.list(query), { sessions: [], next: null });
    const sessions = [4, 3, 2, 1].map((at) => sessionOf({ activeAt: noon + at }));
    for (const session of sessions) await store.sessions.insert(session);
    const first = await store.sessions.list(query);
    assert.deepEqual(first, { sessions: sessions.slice(0, 2), next: { activeAt: noon + 3, id: sessions[1]?.id } });
    const second = await store.sessions.list({ ...query, after: first.next ?? assert.fail("no second page") });
    assert.deepEqual(second, { sessions: sessions.slice(2), next: null });
  });

  test("[S7] paging shows every unchanged session exactly once, and none twice, whatever happens in between", async (context) => {
    const { store } = await open(context);
    // It is loaded only where the suite runs: users of the stores do not have it.
    const fc = await import("fast-check");
    await fc.assert(
      fc.asyncProperty(activityOf(fc), (plan) => checkPaging(store, plan)),
      { numRuns: 15, endOnFailure: true },
    );
  });
}

/** Only five times are used, so that many sessions have equal times. Between two pages the next of `events` happens. */
const activityOf = (fc: typeof FastCheck) => {
  const time = fc.integer({ min: 0, max: 4 }).map((step) => noon + step);
  return fc.record({
    startTimes: fc.array(time, { minLength: 1, maxLength: 12 }),
    limit: fc.integer({ min: 1, max: 4 }),
    events: fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant("insert" as const), at: time }),
        fc.record({ kind: fc.constant("turn" as const), at: time, session: fc.nat() }),
      ),
      { maxLength: 8 },
    ),
  });
};
type Activity = ReturnType<typeof activityOf> extends FastCheck.Arbitrary<infer Plan> ? Plan : never;

let runs = 0;

/** Runs one plan in an org of its own, so that one store serves all plans. */
async function checkPaging(store: Records, { startTimes, limit, events }: Activity): Promise<void> {
  const orgId = `org-of-plan-${(runs += 1)}`;
  const atStart = startTimes.map((activeAt) => sessionOf({ orgId, activeAt, createdAt: activeAt }));
  for (const session of atStart) await store.sessions.insert(session);

  const shown: Session[] = [];
  const disturbed = new Set<string>();
  const happening = events.values();
  let after: SessionQuery["after"] | null = undefined;
  while (after !== null) {
    const page = await store.sessions.list({ orgId, userId: ada, limit, ...(after === undefined ? {} : { after }) });
    assert.ok(page.sessions.length <= limit);
    shown.push(...page.sessions);
    after = page.next;
    const { value: event } = happening.next();
    if (event?.kind === "insert") await startSession(store, { orgId, activeAt: event.at, createdAt: event.at });
    if (event?.kind === "turn") {
      const session = atStart[event.session % atStart.length] ?? assert.fail("there is no session");
      disturbed.add(session.id);
      await runSampleTurn(store, session.id, { createdAt: event.at });
    }
  }

  const ids = shown.map((session) => session.id);
  assert.equal(new Set(ids).size, ids.length, "a session was shown twice");
  const resting = atStart.filter((session) => !disturbed.has(session.id)).toSorted(newestFirst);
  const restingShown = ids.filter((id) => resting.some((session) => session.id === id));
  assert.deepEqual(
    restingShown,
    resting.map((session) => session.id),
  );
}

function newestFirst(a: Session, b: Session): number {
  return b.activeAt - a.activeAt || (a.id < b.id ? 1 : -1);
}
