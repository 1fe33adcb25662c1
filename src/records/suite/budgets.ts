/** What a store must do about budgets: never hold more than what is left, through any process, and count each call once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dayMs, type Budget, type BudgetTargets, type CallAmount } from "../../domain/budget.ts";
import { newId } from "../../domain/ids.ts";
import type { BudgetReservation, ReserveResult } from "../record-store.ts";
import {
  ada,
  draftOf,
  noon,
  openingOf,
  sampleOrgId,
  sampleRunnerId,
  sessionOf,
  type OpenRecordsForTest,
  type RecordsWith,
} from "./samples.ts";

/** The parts that these tests need. */
type Parts = "sessions" | "turns" | "runners" | "purges" | "budgets";
type Records = RecordsWith<Parts>;

function budgetOf(over: Partial<Budget> = {}): Budget {
  return {
    id: newId(),
    orgId: sampleOrgId,
    scope: "person",
    targetId: ada,
    period: "total",
    unit: "usd",
    limit: 100,
    unknownPrice: null,
    onLimit: "fail",
    createdAt: noon,
    createdBy: ada,
    ...over,
  };
}

const targets: BudgetTargets = { sessionId: "session-1", userId: ada, orgId: sampleOrgId, keyId: null };

function reservationOf(bound: Partial<CallAmount>, over: Partial<BudgetReservation> = {}): BudgetReservation {
  const call = { turnId: newId(), step: 1, runnerId: sampleRunnerId };
  return { ...call, targets, bound: { usd: 0, tokens: 0, ...bound }, passed: [], ...over };
}

const outcomes = (results: readonly ReserveResult[]): string[] => results.map(({ outcome }) => outcome);

async function amountsOf({ budgets }: Records, id: string): Promise<[number, number] | null> {
  const state = await budgets.get(id);
  return state === null ? null : [state.spent, state.reserved];
}

export function budgetTests(open: OpenRecordsForTest<Parts>): void {
  test("[F11] calls that are reserved at once, through every store on the records, never hold more than what is left", async (context) => {
    const { store, reopen } = await open(context);
    const other = reopen === null ? store : await reopen();
    if (reopen !== null) context.after(() => other.close());
    const { id } = await store.budgets.set(budgetOf());
    const reservations = Array.from({ length: 12 }, () => reservationOf({ usd: 30 }));
    const results = await Promise.all(reservations.map((one, n) => (n % 2 === 0 ? store : other).budgets.reserve(one)));
    assert.equal(outcomes(results).filter((outcome) => outcome === "reserved").length, 3);
    assert.deepEqual(await amountsOf(other, id), [0, 90]);
    const refused = results.find((result) => result.outcome === "refused");
    assert.ok(refused?.outcome === "refused");
    assert.deepEqual(
      refused.refusals.map(({ reason, amount }) => [reason, amount]),
      [["over", 30]],
    );

    // What was held is replaced by what was used, through whichever store, and a second report changes nothing.
    const held = reservations.filter((_, n) => results[n]?.outcome === "reserved");
    for (let again = 0; again < 2; again += 1)
      await Promise.all(held.map((call, n) => (n % 2 === 0 ? other : store).budgets.settle(call, new Map([[id, 1]]))));
    assert.deepEqual(await amountsOf(store, id), [3, 0]);
  });

  test("[F11] a call is held in all of its budgets, or in none, each in its own unit", async (context) => {
    const { store } = await open(context);
    const dollars = await store.budgets.set(budgetOf({ limit: 1_000 }));
    const tokens = await store.budgets.set(
      budgetOf({ unit: "tokens", limit: 50, scope: "org", targetId: sampleOrgId }),
    );
    await store.budgets.set(budgetOf({ targetId: "another person", limit: 0 }));
    const first = reservationOf({ usd: 10, tokens: 30 });
    assert.deepEqual(outcomes([await store.budgets.reserve(first)]), ["reserved"]);
    const second = reservationOf({ usd: 10, tokens: 30 });
    const refused = await store.budgets.reserve(second);
    assert.ok(refused.outcome === "refused");
    assert.deepEqual(
      refused.refusals.map(({ budget, amount }) => [budget.id, budget.reserved, amount]),
      [[tokens.id, 30, 30]],
    );
    assert.deepEqual(await amountsOf(store, dollars.id), [0, 10]);

    // A person let the call pass the one budget. The other one still holds.
    assert.deepEqual(outcomes([await store.budgets.reserve({ ...second, passed: [tokens.id] })]), ["reserved"]);
    const third = reservationOf({ usd: 2_000, tokens: 1 }, { passed: [tokens.id] });
    assert.deepEqual(outcomes([await store.budgets.reserve(third)]), ["refused"]);
    // What is not known to be used counts as what was held.
    await store.budgets.settle(second, new Map([[dollars.id, null]]));
    await store.budgets.settle(
      first,
      new Map([
        [dollars.id, 4],
        [tokens.id, 5],
      ]),
    );
    assert.deepEqual(await amountsOf(store, dollars.id), [14, 0]);
    assert.deepEqual(await amountsOf(store, tokens.id), [35, 0]);
  });

  test("[F11] a call that was not sent counts nothing, and neither does one that is settled again", async (context) => {
    const { store } = await open(context);
    const { id } = await store.budgets.set(budgetOf());
    const [sent, unsent] = [reservationOf({ usd: 10 }), reservationOf({ usd: 20 })];
    for (const reservation of [sent, unsent]) await store.budgets.reserve(reservation);
    for (let again = 0; again < 2; again += 1) {
      await store.budgets.settle(sent, new Map([[id, 4]]));
      await store.budgets.settle(unsent, "nothing");
      assert.deepEqual(await amountsOf(store, id), [4, 0]);
    }
  });

  test("[F11] a call without a known price is refused, or counts what the budget says for a token", async (context) => {
    const { store } = await open(context);
    const strict = await store.budgets.set(budgetOf());
    const refused = await store.budgets.reserve(reservationOf({ usd: null, tokens: 7 }, { passed: [strict.id] }));
    assert.ok(refused.outcome === "refused");
    assert.deepEqual(
      refused.refusals.map(({ reason, amount }) => [reason, amount]),
      [["unpriced", null]],
    );
    await store.budgets.set(budgetOf({ unknownPrice: 3 }));
    assert.deepEqual(outcomes([await store.budgets.reserve(reservationOf({ usd: null, tokens: 7 }))]), ["reserved"]);
    assert.deepEqual(await amountsOf(store, strict.id), [0, 21]);
  });

  test("[F11] what a lost call held counts as used", async (context) => {
    const { store } = await open(context);
    const process = { host: "here", bootId: "1", pid: 1, processStart: "", startedAt: noon };
    await store.runners.insert({ id: sampleRunnerId, ...process });
    const { id } = await store.budgets.set(budgetOf());
    const [turn, dead, alive] = [{ turnId: "lost" }, { runnerId: "gone" }, {}];
    for (const over of [turn, dead, alive]) await store.budgets.reserve(reservationOf({ usd: 10 }, over));
    await store.budgets.settleLost({ turnId: "lost" });
    assert.deepEqual(await amountsOf(store, id), [10, 20]);
    for (let again = 0; again < 2; again += 1) await store.budgets.settleLost("of lost runners");
    assert.deepEqual(await amountsOf(store, id), [20, 10]);
  });

  test("[F11] a budget that is set again keeps its counts, and one that is removed is gone with them", async (context) => {
    const { store } = await open(context);
    const made = await store.budgets.set(budgetOf({ limit: 50 }));
    await store.budgets.reserve(reservationOf({ usd: 40 }));
    const changed = budgetOf({ limit: 45, unknownPrice: 2, onLimit: "wait", createdAt: noon + 5 });
    const { id, createdAt } = made;
    const expected = { ...changed, id, createdAt, spent: 0, reserved: 40 };
    assert.deepEqual(await store.budgets.set(changed), expected);
    assert.deepEqual(await store.budgets.list(sampleOrgId), [expected]);
    assert.deepEqual(await store.budgets.list("another org"), []);
    assert.deepEqual(await store.budgets.applying(targets), [expected]);
    assert.deepEqual(await store.budgets.applying({ ...targets, userId: "bob" }), []);
    assert.deepEqual(await store.budgets.withBudget(["bob", ada, ada]), [ada]);
    assert.equal(await store.budgets.remove(id), true);
    assert.equal(await store.budgets.remove(id), false);
    assert.equal(await store.budgets.get(id), null);
    const again = await store.budgets.set({ ...changed, id });
    assert.deepEqual([again.spent, again.reserved], [0, 0]);
  });

  test("[F11] a budget of a day counts the current day only, by the clock of the store", async (context) => {
    const { store } = await open(context);
    const { id } = await store.budgets.set(budgetOf({ period: "day" }));
    const before = Math.floor(Date.now() / dayMs);
    const reserved = await store.budgets.reserve(reservationOf({ usd: 60 }));
    const after = Math.floor(Date.now() / dayMs);
    assert.ok(reserved.outcome === "reserved");
    assert.ok([before, after].includes(reserved.holds[0]?.day ?? 0));
    assert.deepEqual(await amountsOf(store, id), [0, 60]);
  });

  test("[F11] [K5] the opening of a turn tells whether the turn has a budget", async (context) => {
    const { store } = await open(context);
    const opened = async (keyId: string | null): Promise<boolean | null> => {
      const session = sessionOf();
      const opening = openingOf(draftOf(session), { newSession: session });
      const result = await store.turns.open({ ...opening, budgets: { ...targets, sessionId: session.id, keyId } });
      return result.outcome === "opened" ? result.hasBudget : null;
    };
    assert.equal(await opened("key-1"), false);
    await store.budgets.set(budgetOf({ scope: "key", targetId: "key-1" }));
    assert.deepEqual([await opened("key-1"), await opened("key-2"), await opened(null)], [true, false, false]);
  });

  test("[F11] [S6] a session that is purged takes its budgets along", async (context) => {
    const { store } = await open(context);
    const session = sessionOf();
    await store.sessions.insert(session);
    const { id } = await store.budgets.set(budgetOf({ scope: "session", targetId: session.id }));
    await store.budgets.reserve(reservationOf({ usd: 1 }, { targets: { ...targets, sessionId: session.id } }));
    assert.equal(await store.purges.purgeSession(session.id, []), true);
    assert.equal(await store.budgets.get(id), null);
  });
}
