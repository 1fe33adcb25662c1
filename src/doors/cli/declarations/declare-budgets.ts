/** Declares the commands about budgets (F11). */
import { Argument, type Command, Option } from "commander";
import { budgetScopes, type BudgetScope } from "../../../domain/budget.ts";
import type { BudgetOptions } from "../budgets/budgets.ts";
import type { OrgOption } from "../lookup/find-people.ts";
import { createsFolder, type RunCommand } from "./declaring.ts";

export function addBudgetCommands(program: Command, run: RunCommand): void {
  const budget = program.command("budget").description("budgets: what calls of models may cost");
  const commands = () => import("../budgets/budgets.ts");
  const org = (): Option => new Option("--org <id>", "an org of this machine's data; default: your own");
  budget
    .command("set")
    .description("set a budget: a turn whose next call could pass it fails, or waits, before that call")
    .addArgument(new Argument("<scope>", "what it is for").choices(budgetScopes))
    .argument("<amount>", "US dollars, for example 2.50; with --tokens: tokens")
    .option("--of <name>", "which session, person or key; default: the newest session here, yourself")
    .option("--day", "for each day (UTC), in place of in total")
    .option("--tokens", "in tokens, which needs no prices")
    .option("--wait", "at the limit, turns wait until a person lets a call pass; default: they fail")
    .option(
      "--unknown-price <usd>",
      "what a million tokens of a model without a known price count; default: refuse them",
    )
    .addOption(org())
    .action((scope: BudgetScope, amount: string, options: BudgetOptions) =>
      run(async (call) => (await commands()).setBudget(call, { scope, amount }, options), createsFolder),
    );
  budget
    .command("list")
    .description("list the budgets with what is spent, held and left")
    .addOption(org())
    .action((options: OrgOption) => run(async (call) => (await commands()).listBudgets(call, options)));
  budget
    .command("remove")
    .description("remove a budget, and forget what it has counted")
    .argument("<budget>", "the budget (its id, or the end of it)")
    .addOption(org())
    .action((text: string, options: OrgOption) =>
      run(async (call) => (await commands()).removeBudget(call, text, options)),
    );
}
