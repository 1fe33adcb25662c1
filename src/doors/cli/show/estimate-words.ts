/** What the next turn would send, and what it would cost, in words. */
import type { WireEstimate } from "../../../client/client.ts";
import { groupedNumber, plural } from "../../../system/grouped-number.ts";
import type { CliInvocation } from "../invocation.ts";
import { dollars } from "../output.ts";

export function showEstimate({ output }: CliInvocation, estimate: WireEstimate): void {
  const { provider, model, tokens, contextTokens, manifest } = estimate;
  const window = contextTokens === null ? "" : ` of ${groupedNumber(contextTokens)}`;
  output.line(output.safe(`${provider} ${model}: about ${groupedNumber(tokens.total)} tokens${window}`));
  const files = plural(manifest.activeFiles.filter(({ wasSentToLLM }) => wasSentToLLM).length, "file");
  const chunks = plural(manifest.chunks.length, "chunk");
  const skills =
    manifest.skills?.wasSent === true ? `, ${plural(manifest.skills.offered.length, "skill")} by name` : "";
  const given = (manifest.facts ?? []).filter(({ wasSent }) => wasSent).length;
  const facts = given > 0 ? `, ${plural(given, "fact")} of the memory` : "";
  output.table(
    [
      ["boot prompt", tokens.prompt, ""],
      ["tools", tokens.tools, ""],
      ["history", tokens.history, plural(manifest.historyTurns, "turn")],
      ["context", tokens.context, `${chunks}, ${files}${skills}${facts}`],
      ["instruction", tokens.instruction, ""],
    ].map(([kind, count, about]) => [`  ${kind}`, groupedNumber(Number(count)).padStart(9), String(about)]),
  );
  if (tokens.cachedMax > 0)
    output.line(`up to ${groupedNumber(tokens.cachedMax)} of them may be in the provider's cache`);
  output.line(priceWords(estimate));
  for (const forecast of estimate.budgets) output.line(budgetWords(forecast));
  if (estimate.isSummarisedFirst) output.line("the history is summarised first, which is a call of its own");
  for (const { message } of estimate.warnings) output.note(output.safeNote(message));
  output.note("nothing was sent to the model; tools lead to further calls");
}

function priceWords({ price }: WireEstimate): string {
  if (price === null) return "price: not known for this model";
  const { inputMinUsd: min, inputMaxUsd: max, outputUsdPerThousand: thousand, maxUsd: whole } = price;
  const input = dollars(min) === dollars(max) ? dollars(max) : `${dollars(min)} to ${dollars(max)}`;
  const most = whole === null ? "" : `; at most ${dollars(whole)}`;
  return `price: ${input} to send, and ${dollars(thousand)} for 1,000 tokens of answer${most}`;
}

function budgetWords({ budget, callMax, refusal }: WireEstimate["budgets"][number]): string {
  const { scope, period, unit, left, limit } = budget;
  const amount = (value: number): string => (unit === "usd" ? dollars(value) : plural(value, "token"));
  const name = `budget of the ${scope} ${period === "day" ? "for a day" : "in total"}`;
  const room = `${name}: ${amount(left)} left of ${amount(limit)}`;
  if (refusal === "unpriced") return `${room}; the call would be refused, because its price is not known`;
  const most = callMax === null ? "" : `, the call can use ${amount(callMax)}`;
  return refusal === "over" ? `${room}${most}, so it would not be made` : `${room}${most}`;
}
