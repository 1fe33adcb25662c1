/** `aptove session name | names`: names of turns, by which people find them again (U5). */
import type { WireTurnName } from "../../../client/client.ts";
import { exitCodes, type ExitCode } from "../failure.ts";
import type { CliInvocation } from "../invocation.ts";
import { namedSession, shortId } from "../lookup/find-by-id.ts";
import { findPlace, type PlaceOptions } from "./pins.ts";

export async function nameTurn(
  invocation: CliInvocation,
  { turn, words }: { turn: string; words: string[] },
  options: PlaceOptions,
): Promise<ExitCode> {
  const { client, turnId, sessionId } = await findPlace(invocation, turn, options);
  const name = words.length === 0 ? null : words.join(" ");
  printNames(invocation, await client.sessions.nameTurn(sessionId, turnId, name));
  return exitCodes.fine;
}

export async function listNames(invocation: CliInvocation, id: string | undefined): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await namedSession(client, id, (await invocation.copy()).repo);
  printNames(invocation, await client.sessions.turnNames(session.id));
  return exitCodes.fine;
}

function printNames({ output, json }: CliInvocation, names: readonly WireTurnName[]): void {
  if (json) return output.json({ names });
  for (const { turnId, name } of names) output.line(`${output.style.yellow(shortId(turnId))} ${output.safe(name)}`);
  if (names.length === 0) output.note("no turn has a name; aptove session name <turn> <name> gives one");
}
