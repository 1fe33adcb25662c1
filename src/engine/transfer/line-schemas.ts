/** The schemas of the lines of an export. */
import * as z from "zod";
import type { BlobLine, EndLine, HeaderLine, PartLine, SessionLine, ExportedSummaryLine, TurnLine } from "./format.ts";
import { exportedStepSchema, exportedTurnSchema } from "./row-schemas.ts";
import { exportedSessionSchema } from "./session-schema.ts";
import { exportedSummarySchema } from "./summary-lines.ts";
import {
  checkedValue,
  fieldText,
  exactly,
  list,
  type SchemaResult,
  sha256Hex,
  wholeFromOne,
  wholeFromZero,
} from "./schema.ts";

const base64 = z.string().refine((value) => Buffer.from(value, "base64").toString("base64") === value, "is not base64");

const content = z.union([
  z.strictObject({ text: z.string() }),
  z.strictObject({ base64 }),
  z.strictObject({ parts: wholeFromOne }),
]);

const lineSchemas = {
  session: exactly<SessionLine>()(z.strictObject({ kind: z.literal("session"), session: exportedSessionSchema })),
  blob: exactly<BlobLine>()(
    z.strictObject({ kind: z.literal("blob"), key: z.string(), bytes: wholeFromZero, sha256: sha256Hex, content }),
  ),
  part: exactly<PartLine>()(z.strictObject({ kind: z.literal("part"), base64 })),
  turn: exactly<TurnLine>()(
    z.strictObject({ kind: z.literal("turn"), turn: exportedTurnSchema, steps: list(exportedStepSchema) }),
  ),
  summary: exactly<ExportedSummaryLine>()(
    z.strictObject({ kind: z.literal("summary"), summary: exportedSummarySchema }),
  ),
};

export const endSchema = exactly<EndLine>()(
  z.strictObject({
    kind: z.literal("end"),
    sessions: wholeFromZero,
    turns: wholeFromZero,
    blobs: wholeFromZero,
    sha256: sha256Hex,
  }),
);

export const headerSchema = exactly<HeaderLine>()(
  z.strictObject({ aptove: z.literal("export"), format: wholeFromOne, version: fieldText }),
);

/** Checks a line between the header and the end by the schema of its kind. */
export function checkedLine(
  line: Record<string, unknown>,
): SchemaResult<SessionLine | BlobLine | PartLine | TurnLine | ExportedSummaryLine> {
  const kind = String(line["kind"]);
  if (!isKind(kind)) return { fault: `lines of the kind ${JSON.stringify(kind)} are not known` };
  return checkedValue(lineSchemas[kind], line, kind);
}

function isKind(kind: string): kind is keyof typeof lineSchemas {
  return Object.hasOwn(lineSchemas, kind);
}
