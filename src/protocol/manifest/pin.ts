/** Pins of a session in requests and responses (M6). */
import * as z from "zod";
import { isoTime } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { pinnableParts, type Pin } from "../../domain/pin.ts";
import { idSchema, timeSchema } from "../values.ts";

const pinnablePartSchema = z
  .enum(pinnableParts)
  .describe("What the passage is a part of: the instruction, the answer, or the whole turn, which is both.");

/** A passage of a turn, in the manifest of a later turn and in a list of pins. */
export const passageFields = {
  turnId: idSchema,
  part: pinnablePartSchema,
  from: z.int().describe("Its first character, counted from 0 in UTF-16 code units."),
  to: z.int().describe("The first character after it."),
  contentHash: z.string(),
};

const pinSchema = z
  .object({
    id: idSchema,
    ...passageFields,
    number: z.int().describe("The number of the turn in the history, as the model receives it."),
    text: z.string().nullable().describe("The pinned passage. Null if it cannot be read."),
    isInHistory: z
      .boolean()
      .describe("False: the history of the session's head does not have the turn, so the pin has no effect there."),
    createdAt: timeSchema,
  })
  .meta({ id: "Pin" });
export type WirePin = z.infer<typeof pinSchema>;

export const pinListSchema = z
  .object({ pins: z.array(pinSchema).describe("Oldest turn first.") })
  .meta({ id: "PinList" });
export const pinAnswerSchema = pinSchema;

const passageText = z
  .string()
  .min(1)
  .max(limits.pinsTokensMax * 4);

export const pinStartSchema = z
  .strictObject({
    turnId: idSchema.describe("A finished turn of the history of the session's head."),
    part: pinnablePartSchema.optional(),
    text: passageText
      .optional()
      .describe("The passage, word for word. It must stand only once in the part, or else in the turn."),
    from: z.int().min(0).optional().describe("In place of `text`: the first character in the part; default: 0."),
    to: z.int().min(1).optional().describe("The first character after the passage; default: the end of the part."),
  })
  .meta({
    id: "PinStart",
    description: "Without `text`, `from` and `to`, the whole part is pinned; without `part` too, the whole turn.",
  });
export type WirePinStart = z.input<typeof pinStartSchema>;

export const pinParamsSchema = z.strictObject({ id: idSchema, pinId: idSchema });

/** A pin with what a list shows beside it. */
export interface ShownWirePin extends Pin {
  text: string | null;
  isInHistory: boolean;
}

export function toWirePin({ depth, createdAt, ...pin }: ShownWirePin): WirePin {
  return { ...pin, number: depth, createdAt: isoTime(createdAt) };
}
