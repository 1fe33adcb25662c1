/** Handlers for budgets (F11). */
import { fromWireBudget, toWireBudget } from "../../../protocol/costs.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";

export function budgetHandlers({
  engine: {
    people: { budgets },
  },
}: HandlerDependencies): RouteHandlers<"listBudgets" | "setBudget" | "removeBudget"> {
  return {
    listBudgets: async ({ caller }) =>
      answer("listBudgets", { budgets: (await budgets.list(caller)).map(toWireBudget) }),
    setBudget: async ({ caller, body }) =>
      answer("setBudget", toWireBudget(await budgets.set(caller, fromWireBudget(body)))),
    removeBudget: async ({ caller, id }) => {
      await budgets.remove(caller, id);
      return new Response(null, { status: 204 });
    },
  };
}
