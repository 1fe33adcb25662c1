/** Signatures that are valid for one part of one model's answer and nothing else, like Gemini's. */
import { createHash } from "node:crypto";
import type { Part } from "@google/genai";

/** The signature that Google documents for calls of another model. */
const skipped = "skip_thought_signature_validator";

export function sign(part: Part, model: string): string {
  const { text, thought, functionCall } = part;
  const signed = JSON.stringify([model, text, thought, functionCall?.id, functionCall?.name, functionCall?.args]);
  return createHash("sha256").update(signed).digest("base64");
}

export function isSignatureOf(part: Part, model: string): boolean {
  return part.thoughtSignature === sign(part, model) || part.thoughtSignature === skipped;
}

/** True if the model requires signatures. Version 2.5 signs too, but requires none. */
export function asksForSignatures(model: string): boolean {
  return !model.startsWith("gemini-2");
}
