/**
 * Gemini signs parts of its answers, and requires each signature back with exactly the part that it came with: the
 * signature holds the reasoning. Our text and call items have no field for it, so a reasoning item beside them carries
 * it as data that only this provider can read (C5).
 */
import * as z from "zod";

/**
 * What the signature of a reasoning item signs. `thought`: its own text. `text`: the assistant's text before it.
 * `call`: the call after it. The last `characters` of a text came in one part with the signature; their number may be 0.
 */
export const signedReasoning = z.discriminatedUnion("signs", [
  z.object({ signs: z.enum(["thought", "text"]), thoughtSignature: z.string().min(1), characters: z.int().min(0) }),
  z.object({ signs: z.literal("call"), thoughtSignature: z.string().min(1) }),
]);

export type SignedReasoning = z.infer<typeof signedReasoning>;

/** Gemini 3 and later refuse a call without a signature. Google documents this text for calls of other models. */
export const noSignature = "skip_thought_signature_validator";

/** Checks whether a model requires signatures: Gemini 3 and later do. */
export function wantsSignatures(model: string): boolean {
  return !/(?:^|\/)(?:gemini-[12][.-]|gemma)/.test(model);
}
