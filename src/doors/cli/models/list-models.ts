/** `aptove model list` (G3). */
import type { WireOfferedModel } from "../../../client/client.ts";
import { withoutNullish } from "../../../protocol/given.ts";
import { groupedNumber } from "../../../system/grouped-number.ts";
import type { CliInvocation } from "../invocation.ts";
import { namedWorkspace } from "../lookup/named-workspace.ts";
import { exitCodes, UsageError, type ExitCode } from "../failure.ts";

export interface ModelListOptions {
  provider?: string;
  workspace?: string;
}

export async function listOfferedModels(
  invocation: CliInvocation,
  { provider, workspace }: ModelListOptions,
): Promise<ExitCode> {
  const { output } = invocation;
  const client = await invocation.client();
  const workspaceId = workspace === undefined ? undefined : await namedWorkspace(invocation, workspace);
  const offered = await client.contexts.models(withoutNullish({ workspaceId }));
  const models = offered.filter((one) => provider === undefined || one.provider === provider);
  if (models.length === 0) {
    const names = [...new Set(offered.map((one) => one.provider))].join(", ");
    const fix = names === "" ? "configure a provider: aptove login" : `name one of ${names}`;
    throw new UsageError(provider === undefined ? "no provider is configured" : `${provider} is not configured`, fix);
  }
  if (invocation.json) {
    output.json({ models });
    return exitCodes.fine;
  }
  output.table(models.map((one) => [`${one.provider}/${one.model}`, windowText(one), priceText(one), sourceText(one)]));
  output.note("prices are in US dollars for a million tokens of input, cached input and output");
  return exitCodes.fine;
}

function windowText({ contextTokens }: WireOfferedModel): string {
  return contextTokens === null ? "window not known" : `${groupedNumber(contextTokens)} tokens`;
}

function priceText({ price }: WireOfferedModel): string {
  return price === null ? "price not known" : `$${price.input}, $${price.cached}, $${price.output}`;
}

function sourceText({ source }: WireOfferedModel): string {
  return source === null ? "" : `read in ${source.asOf}`;
}
