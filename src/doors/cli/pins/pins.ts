/** `aptove session pin | unpin | pins`, and the same in a chat: what no compaction drops (M6). */
import type { AptoveClient, WirePin, WirePinStart } from "../../../client/client.ts";
import type { CliInvocation } from "../invocation.ts";
import { exitCodes, type ExitCode } from "../failure.ts";
import { findById, findTurnId, namedSession, shortId, shortIds } from "../lookup/find-by-id.ts";
import { firstLine, type CliOutput } from "../output.ts";

/** The session in whose history a turn is. */
export interface PlaceOptions {
  session?: string;
}

export interface PinOptions extends PlaceOptions {
  of?: NonNullable<WirePinStart["part"]>;
}

export async function pinTurn(
  invocation: CliInvocation,
  { turn, words }: { turn: string; words: string[] },
  options: PinOptions,
): Promise<ExitCode> {
  const { of: part } = options;
  const { client, turnId, sessionId } = await findPlace(invocation, turn, options);
  const text = words.length === 0 ? {} : { text: words.join(" ") };
  const pin = await client.sessions.pin(sessionId, { turnId, ...text, ...(part !== undefined && { part }) });
  const { output } = invocation;
  if (invocation.json) output.json(pin);
  else {
    for (const line of pinLines([pin], output)) output.line(line);
    output.note(
      `no summary drops it; aptove session unpin ${shortId(pin.id)} -s ${shortId(sessionId)} removes the pin`,
    );
  }
  return exitCodes.fine;
}

/** Finds a turn, and the session in which it is to be pinned or named. */
export async function findPlace(
  invocation: CliInvocation,
  turn: string,
  { session }: PlaceOptions,
): Promise<{ client: AptoveClient; turnId: string; sessionId: string }> {
  const client = await invocation.client();
  const { repo } = await invocation.copy();
  const turnId = await findTurnId(client, turn, repo);
  const sessionId =
    session === undefined
      ? await sessionOfTurn(client, turn, { turnId, repo })
      : (await namedSession(client, session, repo)).id;
  return { client, turnId, sessionId };
}

/** Returns the session of the turn. With `last` it is the newest session, also if its head is a turn of the one it was forked from. */
async function sessionOfTurn(
  client: AptoveClient,
  turn: string,
  { turnId, repo }: { turnId: string; repo: string },
): Promise<string> {
  if (turn === "last") return (await namedSession(client, undefined, repo)).id;
  return (await client.turns.summary(turnId)).sessionId;
}

export async function listPins(invocation: CliInvocation, id: string | undefined): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await namedSession(client, id, (await invocation.copy()).repo);
  printPins(invocation, await client.sessions.pins(session.id));
  return exitCodes.fine;
}

export async function unpin(invocation: CliInvocation, pin: string, { session: id }: PinOptions): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await namedSession(client, id, (await invocation.copy()).repo);
  printPins(invocation, await removePin(client, session.id, pin));
  return exitCodes.fine;
}

function printPins({ output, json }: CliInvocation, pins: readonly WirePin[]): void {
  if (json) return output.json({ pins });
  for (const line of pinLines(pins, output)) output.line(line);
  if (pins.length === 0) output.note("nothing is pinned; aptove session pin <turn> pins a turn");
}

/** Removes the pin of an id, or of a part of one. Returns the pins that are left. */
export async function removePin(client: AptoveClient, sessionId: string, text: string): Promise<WirePin[]> {
  const pin = findById(await client.sessions.pins(sessionId), { what: "pin", text, list: "aptove session pins" });
  return await client.sessions.unpin(sessionId, pin.id);
}

/** Describes pins, one line each. */
export function pinLines(pins: readonly WirePin[], output: CliOutput): string[] {
  const { yellow, dim } = output.style;
  const short = shortIds(pins.map(({ id }) => id));
  return pins.map(({ id, turnId, number, part, text, isInHistory }) => {
    const from = `${part === "turn" ? "all of turn" : `the ${part} of turn`} ${number} (${shortId(turnId)})`;
    const words = text === null ? "its text cannot be read" : JSON.stringify(output.safe(firstLine(text, 70)));
    return `${yellow(short.get(id) ?? id)} ${from}: ${words}${isInHistory ? "" : dim(" (not in this branch)")}`;
  });
}
