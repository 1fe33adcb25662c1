/**
 * Thinking that comes back must be unchanged. Its signature contains all that is needed to check that: the
 * model, the text, and for models that preserve thinking the prefix that it followed.
 */
import type { ContentBlockParam } from "@anthropic-ai/sdk/resources/messages/messages";
import { modelFamily } from "../../src/domain/models.ts";
import { fault } from "./check.ts";
import { rulesOf } from "./models.ts";
import { type PlacedBlock, placedBlocks, Prefix } from "./prefix.ts";
import type { MessagesBody } from "./request-rules.ts";

interface Signed {
  model: string;
  text: string;
  prefix: string;
}

export function signatureOf(signed: Signed): string {
  return Buffer.from(JSON.stringify({ ...signed, model: modelFamily(signed.model) })).toString("base64url");
}

function readSignature(signature: string): Signed | null {
  try {
    return JSON.parse(Buffer.from(signature, "base64url").toString()) as Signed;
  } catch {
    return null;
  }
}

/** A thinking block that was removed from a request before the model saw it. */
export interface DroppedThinking {
  path: string;
  reason: "model_binding_mismatch" | "prefix_binding_mismatch";
}

export interface SeenConversation {
  /** All that the model sees, in order. */
  blocks: PlacedBlock[];
  dropped: DroppedThinking[];
  /** The prefix of the answer. */
  prefix: Prefix;
}

/** Throws a Refusal for thinking that was changed or moved, unless the request allows the server to drop it. */
export function seenConversation(body: MessagesBody): SeenConversation {
  const seen: SeenConversation = { blocks: [], dropped: [], prefix: new Prefix(body) };
  for (const placed of placedBlocks(body)) {
    const { role, block, turn, place } = placed;
    const reason = droppedFor(placed, body, seen.prefix);
    if (reason !== null) {
      seen.dropped.push({ path: `messages.${turn}.content.${place}`, reason });
      continue;
    }
    seen.blocks.push(placed);
    seen.prefix.add(role, block);
  }
  return seen;
}

function droppedFor(
  { block, turn, place }: PlacedBlock,
  body: MessagesBody,
  prefix: Prefix,
): DroppedThinking["reason"] | null {
  const given = thinkingOf(block);
  if (given === null) return null;
  const at = `messages.${turn}.content.${place}`;
  const signed = readSignature(given.signature);
  if (signed?.text !== given.text) throw fault(at, `Invalid \`signature\` in \`${block.type}\` block`);
  if (signed.model !== modelFamily(body.model)) return "model_binding_mismatch";
  if (!rulesOf(body.model).preservesThinking || signed.prefix === prefix.digest) return null;
  if (body.thinking?.type === "adaptive" && body.thinking.block_binding?.prefix_mismatch_behavior === "drop_block") {
    return "prefix_binding_mismatch";
  }
  const fix = 'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".';
  const bound = "The block is bound to a different conversation.";
  throw fault(at, `Invalid \`signature\` in \`${block.type}\` block. ${bound} ${fix}`);
}

/** Returns the signature of a thinking block. Redacted thinking is only a signature. */
function thinkingOf(block: ContentBlockParam): { text: string; signature: string } | null {
  if (block.type === "thinking") return { text: block.thinking, signature: block.signature };
  return block.type === "redacted_thinking" ? { text: "", signature: block.data } : null;
}
