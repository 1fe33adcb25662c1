/** The lines of a conversation of another tool (O8): one header, and every turn after the one that it continues. */
import * as z from "zod";
import { AptoveError } from "../../../domain/errors.ts";
import { foreignTools, type ForeignSession, type ForeignTurn } from "../../../domain/foreign.ts";
import { exportedStopReasonSchema, exportedUsageSchema } from "../row-schemas.ts";
import { byName, checkedValue, exactly, fieldText, list, sha256Hex, time, wholeFromZero } from "../schema.ts";

/** The source of a turn: its bytes, compressed (gzip), and the SHA-256 and number of the bytes before that. */
export interface PackedSource {
  gzip: string;
  bytes: number;
  sha256: string;
}

export type ForeignTurnLine = ForeignTurn<PackedSource>;

const item = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("user"), text: z.string() }),
  z.strictObject({ type: z.literal("assistant"), text: z.string() }),
  z.strictObject({ type: z.literal("reasoning"), text: z.string(), model: z.string() }),
  z.strictObject({ type: z.literal("tool_call"), callId: z.string(), name: z.string(), arguments: z.string() }),
  z.strictObject({ type: z.literal("tool_result"), callId: z.string(), output: z.string(), isError: z.boolean() }),
]);

const facts = {
  id: fieldText,
  parent: fieldText.nullable(),
  startedAt: time,
  endedAt: time,
  model: fieldText,
  instruction: z.string(),
  items: list(item),
  stopReason: exportedStopReasonSchema,
  modelRequests: wholeFromZero,
  usage: exportedUsageSchema.nullable(),
  summary: z.strictObject({ text: z.string(), items: wholeFromZero }).exactOptional(),
  unmapped: byName(wholeFromZero),
  source: z.strictObject({ gzip: z.string(), bytes: wholeFromZero, sha256: sha256Hex }),
};

const subagent = z.strictObject({ id: fieldText, name: fieldText, turns: list(z.strictObject(facts)) });

const turnLine = exactly<ForeignTurnLine>()(z.strictObject({ ...facts, subagents: list(subagent) }));

const session = exactly<ForeignSession>()(
  z.strictObject({
    tool: z.enum(foreignTools),
    id: fieldText,
    version: fieldText.nullable(),
    folder: fieldText.nullable(),
    repo: fieldText.nullable(),
    name: fieldText.nullable(),
    createdAt: time,
    updatedAt: time,
  }),
);

const format = 1;

/** Returns true if a line is the header of a conversation of another tool. */
export function isForeignHeader(line: string): boolean {
  return line.startsWith('{"aptove":"conversation"');
}

/** Returns the conversation that the header names. Throws `import_invalid`, `import_newer`. */
export function foreignHeader(line: string): ForeignSession {
  const header = parsed(line, 1);
  if (typeof header["format"] === "number" && header["format"] > format)
    throw new AptoveError("import_newer", `the conversation has the format ${header["format"]}`);
  return checked(session, header["session"], 1);
}

/** Returns a turn. Throws `import_invalid`, which names the line. */
export function foreignTurn(line: string, number: number): ForeignTurnLine {
  return checked(turnLine, parsed(line, number), number);
}

function checked<T>(schema: z.ZodType<T>, value: unknown, number: number): T {
  const result = checkedValue(schema, value, "the turn");
  if ("fault" in result) throw new AptoveError("import_invalid", `line ${number}: ${result.fault}`);
  return result.value;
}

function parsed(line: string, number: number): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    throw new AptoveError("import_invalid", `line ${number} is not JSON`);
  }
}
