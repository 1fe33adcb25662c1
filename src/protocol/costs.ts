/** What turns have cost, what the next one would cost, and budgets, in requests and responses (U9, F11). */
import * as z from "zod";
import {
  budgetPeriods,
  budgetReactions,
  budgetScopes,
  budgetTokensMax,
  budgetUnits,
  budgetUsdMax,
  leftOf,
  nanoUsd,
  shownAmount,
  usdOf,
  type BudgetStart,
  type BudgetState,
  type ForeseenBudget,
} from "../domain/budget.ts";
import { isoTime } from "../domain/ids.ts";
import { contextManifestSchema } from "./manifest/manifest.ts";
import { timeSchema, usageSchema, warningSchema } from "./values.ts";

export const costsQuerySchema = z.strictObject({
  from: timeSchema.describe("Turns that were created at this time or later."),
  until: timeSchema.optional().describe("Turns that were created before this time. If absent: up to now."),
});

export const costsSchema = z
  .object({
    cells: z.array(
      z
        .object({
          day: z.string().describe("The day of the turns in UTC, as `2026-11-23`."),
          sessionId: z.string(),
          userId: z.string().describe("The user who began the turns."),
          model: z.string(),
          turns: z.int(),
          usage: usageSchema,
        })
        .meta({ id: "CostCell" }),
    ),
    sessions: z.array(z.object({ id: z.string(), name: z.string() })).describe("The sessions of the cells."),
    isPartial: z.boolean().describe("True if there are more sessions than one report reads. The oldest are left out."),
  })
  .meta({ id: "Costs" });
export type WireCosts = z.infer<typeof costsSchema>;

const budgetFields = {
  scope: z
    .enum(budgetScopes)
    .describe("What the budget is for: the calls of a session, of a person, of a key or of an org."),
  period: z.enum(budgetPeriods).describe("`day`: it begins again at midnight UTC."),
  unit: z.enum(budgetUnits).describe("US dollars or tokens. All amounts of the budget are in this unit."),
  limit: z.number().min(0).max(budgetTokensMax).describe("What calls may use in the period."),
  onLimit: z
    .enum(budgetReactions)
    .describe("What a turn does whose next call could pass the limit: it fails, or waits for an approval."),
};
const perMillion = z
  .number()
  .min(0.001)
  .max(budgetUsdMax)
  .nullable()
  .describe(
    "What a million tokens of a model without a known price count, in US dollars. Null: its calls are refused.",
  );

export const budgetSchema = z
  .object({
    id: z.string(),
    targetId: z.string().describe("The id of the session, the user, the key or the org."),
    ...budgetFields,
    unknownUsdPerMillion: perMillion,
    spent: z.number().describe("What calls have used in the current period."),
    reserved: z.number().describe("What is held for calls that run now: the most that they can use."),
    left: z.number(),
    createdAt: timeSchema,
    createdBy: z.string(),
  })
  .meta({ id: "Budget" });
export type WireBudget = z.infer<typeof budgetSchema>;

export const budgetListSchema = z.object({ budgets: z.array(budgetSchema) }).meta({ id: "BudgetList" });

export const budgetStartSchema = z
  .strictObject({
    scope: budgetFields.scope,
    targetId: z.string().min(1).optional().describe("If absent: the caller, the caller's key, or the caller's org."),
    period: budgetFields.period.optional().describe("Default: `total`."),
    unit: budgetFields.unit.optional().describe("Default: `usd`."),
    limit: budgetFields.limit,
    onLimit: budgetFields.onLimit.optional().describe("Default: `fail`."),
    unknownUsdPerMillion: perMillion.optional().describe("Default: null. Only for dollars."),
  })
  .meta({ id: "BudgetStart" });
export type WireBudgetStart = z.infer<typeof budgetStartSchema>;

export function toWireBudget(budget: BudgetState): WireBudget {
  const { id, scope, targetId, period, unit, limit, unknownPrice, onLimit, createdAt, createdBy } = budget;
  const amount = (value: number): number => shownAmount(budget, value);
  return {
    id,
    scope,
    targetId,
    period,
    unit,
    onLimit,
    createdBy,
    limit: amount(limit),
    spent: amount(budget.spent),
    reserved: amount(budget.reserved),
    left: amount(leftOf(budget)),
    unknownUsdPerMillion: unknownPrice === null ? null : usdOf(unknownPrice * million),
    createdAt: isoTime(createdAt),
  };
}

const million = 1_000_000;

export function fromWireBudget(start: WireBudgetStart): BudgetStart {
  const { scope, targetId, period = "total", unit = "usd", limit, onLimit, unknownUsdPerMillion = null } = start;
  return {
    scope,
    period,
    unit,
    limit: unit === "usd" ? Math.floor(limit * 1e6) * 1e3 : Math.floor(limit),
    ...(targetId !== undefined && { targetId }),
    ...(onLimit !== undefined && { onLimit }),
    ...(unknownUsdPerMillion !== null && { unknownPrice: Math.ceil(nanoUsd(unknownUsdPerMillion) / million) }),
  };
}

const dollars = z.number().describe("US dollars.");

export const estimateSchema = z
  .object({
    provider: z.string(),
    model: z.string(),
    contextTokens: z.int().nullable().describe("The size of the model's window. Null: it is not known."),
    tokens: z
      .object({
        prompt: z.int(),
        tools: z.int(),
        history: z.int(),
        context: z
          .int()
          .describe("What the message has beside the instruction: code, files, rules, notes and results."),
        instruction: z.int(),
        total: z.int(),
        cachedMax: z.int().describe("The part of `total` that the provider may still have in its cache."),
      })
      .describe(
        "Tokens of the request, by kind. They are estimates; `history` is what the provider counted, if it did.",
      ),
    price: z
      .object({
        inputMinUsd: dollars.describe("With everything cached that may be."),
        inputMaxUsd: dollars.describe("With nothing cached, and written to the cache where that costs more."),
        outputUsdPerThousand: dollars.describe("For a thousand tokens of output."),
        maxUsd: dollars
          .nullable()
          .describe("The most that the call can cost. Null: `settings` do not limit the output."),
      })
      .nullable()
      .describe("Null: the price of the model is not known."),
    budgets: z
      .array(
        z.object({
          budget: budgetSchema,
          callMax: z
            .number()
            .nullable()
            .describe(
              "The most that the call can use of it. Null: the price is not known, or something else comes first.",
            ),
          refusal: z
            .enum(["over", "unpriced"])
            .nullable()
            .describe("Why the call would not be made now. Null: it would be."),
        }),
      )
      .describe("The budgets that the call would count for."),
    isSummarisedFirst: z.boolean().describe("True if the history would be summarised first, in a call of its own."),
    manifest: contextManifestSchema,
    warnings: z.array(warningSchema),
  })
  .meta({ id: "TurnEstimate" });
export type WireEstimate = z.infer<typeof estimateSchema>;

export function toWireForeseen(budgets: readonly ForeseenBudget[]): WireEstimate["budgets"] {
  return budgets.map(({ budget, callMax, refusal }) => {
    return { budget: toWireBudget(budget), callMax: callMax === null ? null : shownAmount(budget, callMax), refusal };
  });
}
