/** Compares requests, for idempotency keys (T13). */
import { sha256 } from "../../../domain/ids.ts";
import { canonicalJson } from "../../../system/canonical-json.ts";
import type { TurnRequest } from "../../engine.ts";

/** Returns a hash that is the same for equal requests (T13). Contents of files count by their hash. What the caller's machine says of itself does not count. */
export function requestHash(request: TurnRequest): string {
  const { idempotencyKey: _key, workingCopy: _copy, rules: _rules, place: _place, skills: _skills, ...own } = request;
  const { activeFiles, input, withdrawn: _withdrawn, ...rest } = own;
  const files = (activeFiles ?? []).map(({ content, sha256: hash, ...file }) => ({
    ...file,
    hash: content === null ? hash : sha256(content),
  }));
  const parts = input?.map((part) =>
    "content" in part && part.content !== undefined ? { ...part, content: sha256(part.content) } : part,
  );
  return sha256(canonicalJson({ ...rest, files, ...(parts !== undefined && { input: parts }) }));
}
