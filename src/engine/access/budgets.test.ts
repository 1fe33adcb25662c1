import assert from "node:assert/strict";
import { test } from "node:test";
import type { BudgetScope } from "../../domain/budget.ts";
import { alice, testParts } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { budgetSettersOnly } from "./budgets.ts";

test("[F11] a member may set neither the budget of the org nor that of a person", async () => {
  const set = (scope: BudgetScope): Promise<void> =>
    budgetSettersOnly(testParts(), { ...alice, role: "member" }, { scope, targetId: alice.userId });
  await assert.rejects(set("org"), hasCode("forbidden", /only an admin may change the budget of the org;/));
  await assert.rejects(set("person"), hasCode("forbidden", /only an admin may change the budget of a person;/));
});
