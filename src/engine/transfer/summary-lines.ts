/**
 * Summaries of sessions in an export (M5): their lines, and the checks of an import. A forged file could otherwise name
 * blobs and turns that are not its own.
 */
import * as z from "zod";
import { summaryBlobs, summaryParts } from "../../domain/summary.ts";
import { AptoveError } from "../../domain/errors.ts";
import { sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { blobKeys } from "../turn/kept/turn-blobs.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import type { AncestorTurn } from "./check-turn.ts";
import { blobBytes, type BlobLine, type ExportedSummary, type PartLine } from "./format.ts";
import { exportedFailureSchema, exportedStopReasonSchema, exportedUsageSchema } from "./row-schemas.ts";
import { exactly, fieldText, list, sha256Hex, time, uuid, wholeFromOne, wholeFromZero } from "./schema.ts";
import type { SpooledLine } from "./spool.ts";

const short = (max: number) => fieldText.refine(({ length }) => length <= max, `has more than ${max} characters`);
const atMost = (max: number) => [(value: unknown[]) => value.length <= max, `has more than ${max} elements`] as const;

const line = z.strictObject({
  part: z.enum(summaryParts),
  text: short(limits.summaryLineCharactersMax),
  sources: list(z.strictObject({ turnId: uuid, quote: short(limits.summaryQuoteCharactersMax) })).refine(
    ({ length }) => length > 0,
    "names no turn",
  ),
});

const endFacts = {
  at: time,
  usage: exportedUsageSchema,
  rejected: list(z.strictObject({ what: z.enum(["line", "source"]), text: fieldText, reason: fieldText })).refine(
    ...atMost(limits.summaryRejectedMax),
  ),
};

const end = z.discriminatedUnion("status", [
  z.strictObject({
    ...endFacts,
    status: z.literal("completed"),
    lines: list(line).refine(...atMost(limits.summaryLinesMax)),
  }),
  z.strictObject({ ...endFacts, status: z.literal("failed"), failure: exportedFailureSchema }),
]);

const call = z.strictObject({
  index: wholeFromOne,
  provider: fieldText,
  model: fieldText,
  startedAt: time,
  request: z.strictObject({ blob: z.string(), bytes: wholeFromZero, sha256: sha256Hex }),
  end: z
    .strictObject({
      endedAt: time,
      outcome: z.discriminatedUnion("status", [
        z.strictObject({ status: z.literal("completed"), stopReason: exportedStopReasonSchema }),
        z.strictObject({ status: z.literal("failed"), failure: exportedFailureSchema }),
      ]),
      usage: exportedUsageSchema,
      response: z.string().nullable(),
    })
    .nullable(),
});

export const exportedSummarySchema = exactly<ExportedSummary>()(
  z.strictObject({
    id: uuid,
    sessionId: uuid,
    userId: uuid,
    cause: z.enum(["request", "archived"]),
    fromTurnId: uuid,
    throughTurnId: uuid,
    throughDepth: wholeFromOne,
    basedOn: uuid.nullable(),
    provider: fieldText,
    model: fieldText,
    createdAt: time,
    calls: list(call),
    end,
  }),
);

/** A blob of a summary in a file: the exact bytes of a request or a response. */
export interface CheckedSummaryBlob {
  key: string;
  bytes: number;
  hash: string;
  /** The lines of the file that hold the blob. */
  places: SpooledLine[];
}

/** A summary of a file, without what its line has. */
export interface FileSummary extends Pick<ExportedSummary, "id" | "sessionId" | "throughTurnId"> {
  line: SpooledLine;
  blobs: CheckedSummaryBlob[];
}

const keyPattern = /^turns\/[0-9a-f-]{36}\/summary-\d{1,9}-(?:request|response)-[0-9a-f-]{36}\.json$/;

/** Returns null if the line is another blob. */
export function checkSummaryBlob(
  blob: BlobLine,
  parts: readonly PartLine[],
): Omit<CheckedSummaryBlob, "places"> | { fault: string } | null {
  const { key } = blob;
  if (!keyPattern.test(key)) return null;
  const bytes = blobBytes(blob, parts);
  if (bytes.length !== blob.bytes || sha256(bytes) !== blob.sha256)
    return { fault: `${key} does not have its SHA-256` };
  if (bytes.length > limits.blobBytesMax) return { fault: `${key} is larger than ${limits.blobBytesMax} bytes` };
  return { key, bytes: bytes.length, hash: blob.sha256 };
}

/** Returns what is wrong with the range of a summary and with the turns that its lines name. Null: nothing. */
export function rangeFault(
  { sessionId, fromTurnId, throughTurnId, throughDepth, ...rest }: ExportedSummary,
  {
    through,
    originTurnId,
  }: { through: (AncestorTurn & { sessionId: string }) | undefined; originTurnId: string | null },
): string | null {
  const isOfSession = through?.sessionId === sessionId || throughTurnId === originTurnId;
  if (through === undefined || !isOfSession) return "it does not end at a turn of its session in the file";
  if (through.depth !== throughDepth) return "its last turn does not have the depth that it names";
  const branch = new Set<string>();
  let first: AncestorTurn = through;
  for (let at: AncestorTurn | null = through; at !== null; at = at.parent) {
    branch.add(at.id);
    first = at;
  }
  if (first.id !== fromTurnId) return "it does not begin with the first turn of its branch";
  const lines = rest.end.status === "completed" ? rest.end.lines : [];
  const stray = lines.flatMap(({ sources }) => sources).find(({ turnId }) => !branch.has(turnId));
  return stray === undefined ? null : `a line names the turn ${stray.turnId}, which is not in its range`;
}

/** Returns what is wrong with the blobs that the calls of a summary name: its own, all there, and no others. */
export function callsFault(
  { id, throughTurnId, calls }: ExportedSummary,
  given: ReadonlyMap<string, CheckedSummaryBlob>,
): string | null {
  const named = new Set<string>();
  for (const [at, { index, request, end: ended }] of calls.entries()) {
    const blob = given.get(request.blob);
    const response = ended?.response ?? null;
    if (index !== at + 1) return `its call ${at + 1} has the number ${index}`;
    if (request.blob !== blobKeys.summaryRequest(throughTurnId, index, id))
      return `its call ${index} names another blob`;
    if (blob?.hash !== request.sha256 || blob.bytes !== request.bytes) return `its request ${index} does not match`;
    named.add(request.blob);
    if (response === null) continue;
    if (response !== blobKeys.summaryResponse(throughTurnId, index, id)) return `its call ${index} names another blob`;
    if (!given.has(response)) return `its response ${index} is not in the file`;
    named.add(response);
  }
  const stray = [...given.keys()].find((key) => !named.has(key));
  return stray === undefined ? null : `no call names the blob ${stray}`;
}

/** The largest limit that every database takes. */
const everySummary = 2 ** 31 - 1;

/** Yields the ended summaries of a session whose last turn is in the file, oldest first. */
export async function* summariesToExport(
  { deps }: EngineCore,
  sessionId: string,
  isInFile: (turnId: string) => boolean,
): AsyncGenerator<{ summary: ExportedSummary; blobs: [string, Uint8Array][] }> {
  const all = await deps.records.summaries.list(sessionId, { limit: everySummary });
  for (const { orgId: _orgId, end: ended, ...summary } of all.toReversed()) {
    if (ended === null || !isInFile(summary.throughTurnId)) continue;
    const blobs: [string, Uint8Array][] = [];
    for (const key of summaryBlobs(summary)) {
      const bytes = await deps.blobs.get(key);
      if (bytes === null) throw new AptoveError("blob_missing", `there is no blob ${key}`, { facts: { key } });
      blobs.push([key, bytes]);
    }
    yield { summary: { ...summary, end: ended }, blobs };
  }
}
