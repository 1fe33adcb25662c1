/** `aptove session show --size`: the room that history takes (B7). */
import type { WireSessionSize, WireSizes } from "../../../client/client.ts";
import { groupedNumber, plural } from "../../../system/grouped-number.ts";
import type { ShowOptions } from "../commands/sessions.ts";
import { CommandFailed, exitCodes, UsageError, type ExitCode } from "../failure.ts";
import type { CliInvocation } from "../invocation.ts";
import { namedSession } from "../lookup/find-by-id.ts";
import { bytes, type CliOutput } from "../output.ts";

/** How many turns or sessions are listed. */
const listedMax = 20;

export async function showSize(
  invocation: CliInvocation,
  id: string | undefined,
  options: ShowOptions,
): Promise<ExitCode> {
  refuseContradiction(id, options);
  const client = await invocation.client();
  const { output } = invocation;
  if (options.all === true) {
    const sizes = await client.sessions.sizes({ limit: listedMax });
    if (invocation.json) output.json(sizes);
    else printSizes(sizes, output);
    return exitCodes.fine;
  }
  const session = await namedSession(client, id, (await invocation.copy()).repo);
  const { turn } = options;
  const page = turn === undefined ? { limit: listedMax } : { before: turn + 1, limit: 1 };
  const size = await client.sessions.size(session.id, page);
  if (turn !== undefined && size.turns[0]?.sequence !== turn) {
    throw new CommandFailed("not_found", `the session has no turn ${turn}`, "see its turns: aptove session log");
  }
  if (invocation.json) {
    output.json(size);
    return exitCodes.fine;
  }
  output.line(output.style.bold(output.safe(session.name)));
  if (turn === undefined) output.table([["session", session.id], ...sessionRows(size)]);
  printTurns(size, output);
  return exitCodes.fine;
}

function refuseContradiction(id: string | undefined, { size, all, request, response, turn }: ShowOptions): void {
  if (size !== true) throw new UsageError("--all needs --size", "give both: aptove session show --size --all");
  if (request === true || response === true)
    throw new UsageError("--size prints no request and no response", "leave out --size");
  if (all === true && (id !== undefined || turn !== undefined))
    throw new UsageError("--all is about every session", "leave out --all, or the session and --turn");
}

function sessionRows({ total, inheritedTurns, purge }: WireSessionSize): string[][] {
  return [
    ...totalRows(total),
    ...(inheritedTurns > 0 ? [["rests on", `${plural(inheritedTurns, "turn")} of other sessions, stored there`]] : []),
    ...(purge === null ? [] : [["a purge", purgeWords(purge)]]),
  ];
}

function totalRows({ turns, bytes: stored, requestBytes, byKind }: WireSizes["total"]): string[][] {
  const each = turns === 0 ? "" : `, ${bytes(Math.round(stored / turns))} a turn`;
  const byMost = Object.entries(byKind)
    .filter(([, size]) => size > 0)
    .toSorted(([, a], [, b]) => b - a);
  return [
    ["stored", `${bytes(stored)} in ${plural(turns, "turn")}${each}`],
    ["of that", byMost.map(([kind, size]) => `${kind} ${bytes(size)}`).join(", ") || "nothing"],
    ["sent", `${bytes(requestBytes)} in requests; what they repeat is stored once`],
  ];
}

function purgeWords({ bytes: freed, keptTurns, keptBytes }: NonNullable<WireSessionSize["purge"]>): string {
  if (keptTurns === 0) return `would free ${bytes(freed)}`;
  return `would free ${bytes(freed)}, and keep ${plural(keptTurns, "turn")} (${bytes(keptBytes)}) that other sessions need`;
}

function printTurns({ turns, total }: WireSessionSize, output: CliOutput): void {
  if (turns.length === 0) return;
  const kinds = ["opening", "requests", "run", "state", "input", "rows", "texts", "other"] as const;
  const shown = kinds.filter((kind) => turns.some(({ byKind }) => byKind[kind] > 0));
  output.line();
  output.table([
    ["turn", "stored", ...shown, "sent"],
    ...turns.map(({ sequence, bytes: stored, byKind, requestBytes }) => [
      groupedNumber(sequence),
      bytes(stored),
      ...shown.map((kind) => bytes(byKind[kind])),
      bytes(requestBytes),
    ]),
  ]);
  if (turns.length > 1 && total.turns > turns.length) {
    output.note(`the newest ${turns.length} of ${groupedNumber(total.turns)} turns; another one: --turn <n>`);
  }
}

function printSizes({ sessionCount, total, sessions, isPartial }: WireSizes, output: CliOutput): void {
  output.table([["sessions", groupedNumber(sessionCount)], ...totalRows(total)]);
  if (sessions.length === 0) return;
  output.line();
  output.table([
    ["stored", "turns", "session", "name"],
    ...sessions.map(({ id, name, turns, bytes: stored }) => [bytes(stored), groupedNumber(turns), id, name]),
  ]);
  if (sessionCount > sessions.length) output.note(`the largest ${sessions.length} of ${groupedNumber(sessionCount)}`);
  if (isPartial) output.note("there are more sessions than one report reads");
}
