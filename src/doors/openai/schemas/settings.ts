/** What responses and chat completions have in common: metadata, settings of the model, tools. */
import * as z from "zod";
import { keepingAllKeys } from "../../../protocol/values.ts";

/** Pairs of text, of which OpenAI takes 16. */
export const wireMetadata = keepingAllKeys(
  z
    .record(z.string().max(64), z.string().max(512))
    .refine((pairs) => Object.keys(pairs).length <= 16, "has more than 16 pairs"),
);

export const effortSchema = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);
export const verbositySchema = z.enum(["low", "medium", "high"]);

const schemaFormat = {
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, '_' or '-'"),
  description: z.string().nullish(),
  schema: z.record(z.string(), z.unknown()),
  strict: z.boolean().nullish(),
};

export const textFormat = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text") }),
  z.object({ type: z.literal("json_object") }),
  z.object({ type: z.literal("json_schema"), ...schemaFormat }),
]);

export type WireTextFormat = z.infer<typeof textFormat>;

export const functionFields = {
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
};
export type WireFunction = z.infer<z.ZodObject<typeof functionFields>>;

const named = z.object({ type: z.string(), name: z.string() });
export const toolChoiceSchema = z.union([
  z.enum(["none", "auto", "required"]),
  z.object({ type: z.literal("allowed_tools"), mode: z.enum(["auto", "required"]), tools: z.array(named) }),
  named,
]);
export type WireToolChoice = z.infer<typeof toolChoiceSchema>;
