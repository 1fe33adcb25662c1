/** `aptove budget set | list | remove` (F11). */
import type { AptoveClient, WireBudget, WireBudgetStart } from "../../../client/client.ts";
import { groupedNumber } from "../../../system/grouped-number.ts";
import { exitCodes, UsageError, type ExitCode } from "../failure.ts";
import type { CliInvocation } from "../invocation.ts";
import { findById, findSession, latestSession, shortId, shortIds } from "../lookup/find-by-id.ts";
import { allKeys, allUsers, clientOf, findUser, theOnly, type OrgOption } from "../lookup/find-people.ts";
import { dollars } from "../output.ts";

export interface BudgetOptions extends OrgOption {
  of?: string;
  day?: boolean;
  tokens?: boolean;
  wait?: boolean;
  unknownPrice?: string;
}

export async function setBudget(
  invocation: CliInvocation,
  { scope, amount }: { scope: WireBudget["scope"]; amount: string },
  options: BudgetOptions,
): Promise<ExitCode> {
  const isTokens = options.tokens === true;
  const limit = amountOf(amount, isTokens);
  const unknown = options.unknownPrice === undefined ? null : amountOf(options.unknownPrice, false);
  const client = await clientOf(invocation, options);
  const targetId = await targetOf(invocation, client, { scope, of: options.of });
  const start: WireBudgetStart = {
    scope,
    ...(targetId !== null && { targetId }),
    period: options.day === true ? "day" : "total",
    unit: isTokens ? "tokens" : "usd",
    limit,
    onLimit: options.wait === true ? "wait" : "fail",
    ...(unknown !== null && { unknownUsdPerMillion: unknown }),
  };
  const budget = await client.budgets.set(start);
  const { output } = invocation;
  if (invocation.json) output.json(budget);
  else {
    const name = nameOf(budget, await targetNames(client, [budget]));
    output.line(output.safe(`budget ${shortId(budget.id)}: ${name}, ${usedText(budget)}`));
  }
  return exitCodes.fine;
}

function amountOf(text: string, isTokens: boolean): number {
  const pattern = isTokens ? /^\d[\d_,]*$/ : /^\$?\d+(?:\.\d+)?$/;
  if (pattern.test(text)) return Number(text.replaceAll(/[$_,]/g, ""));
  throw new UsageError(`"${text}" is not an amount`, isTokens ? "give tokens: 200000" : "give US dollars: 2.50");
}

interface NamedTarget {
  scope: WireBudget["scope"];
  of: string | undefined;
}

/** Returns the id of what the budget is for. Null: the caller, or the caller's org. */
async function targetOf(
  invocation: CliInvocation,
  client: AptoveClient,
  { scope, of }: NamedTarget,
): Promise<string | null> {
  if (scope === "session") {
    const { repo } = await invocation.copy();
    return (of === undefined ? await latestSession(client, repo) : await findSession(client, of, repo)).id;
  }
  if (scope === "org") {
    if (of !== undefined) throw new UsageError("--of does not go with an org", "name another org with --org");
    return null;
  }
  if (scope === "person") return of === undefined ? null : (await findUser(client, of)).id;
  if (of === undefined) throw new UsageError("which key?", "name it: --of <key>; see aptove key list");
  const keys = (await allKeys(client)).filter(({ revokedAt }) => revokedAt === null);
  return theOnly(keys, of, { what: "key", list: "aptove key list" }).id;
}

export async function listBudgets(invocation: CliInvocation, options: OrgOption): Promise<ExitCode> {
  const client = await clientOf(invocation, options);
  const budgets = await client.budgets.list();
  const { output } = invocation;
  if (invocation.json) {
    output.json({ budgets });
    return exitCodes.fine;
  }
  if (budgets.length === 0) output.note("there are no budgets; set one: aptove budget set session 5");
  const short = shortIds(budgets.map(({ id }) => id));
  const names = await targetNames(client, budgets);
  const rows = budgets.map((budget) => [
    short.get(budget.id) ?? budget.id,
    nameOf(budget, names),
    usedText(budget),
    moreText(budget),
  ]);
  output.table(rows);
  return exitCodes.fine;
}

/** Returns the names of persons and keys. A session and an org are shown by their ids. */
async function targetNames(client: AptoveClient, budgets: readonly WireBudget[]): Promise<Map<string, string>> {
  const has = (scope: WireBudget["scope"]): boolean => budgets.some((budget) => budget.scope === scope);
  const named = [...(has("person") ? await allUsers(client) : []), ...(has("key") ? await allKeys(client) : [])];
  return new Map(named.map(({ id, name }) => [id, name]));
}

function nameOf({ scope, period, targetId }: WireBudget, names: ReadonlyMap<string, string>): string {
  const whose = scope === "org" ? "your org" : `${scope} ${names.get(targetId) ?? shortId(targetId)}`;
  return `${whose}, ${period === "day" ? "each day" : "in total"}`;
}

function usedText(budget: WireBudget): string {
  const amount = (value: number): string => (budget.unit === "usd" ? dollars(value) : `${groupedNumber(value)} tokens`);
  const { limit, spent, reserved, left } = budget;
  const held = reserved === 0 ? "" : `, ${amount(reserved)} held for running calls`;
  return `${amount(spent)} of ${amount(limit)} spent${held}, ${amount(left)} left`;
}

function moreText({ unknownUsdPerMillion: usd, onLimit }: WireBudget): string {
  return [
    ...(onLimit === "wait" ? ["turns wait at the limit"] : []),
    ...(usd === null ? [] : [`models without a price count $${usd} for a million tokens`]),
  ].join(", ");
}

export async function removeBudget(invocation: CliInvocation, text: string, options: OrgOption): Promise<ExitCode> {
  const client = await clientOf(invocation, options);
  const budget = findById(await client.budgets.list(), { what: "budget", text, list: "aptove budget list" });
  await client.budgets.remove(budget.id);
  if (invocation.json) invocation.output.json({ removed: budget.id });
  else invocation.output.line(`removed budget ${shortId(budget.id)}`);
  return exitCodes.fine;
}
