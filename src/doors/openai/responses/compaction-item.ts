/** The content of a compaction item: a reference to the turn whose history it stands for. */
import { isId } from "../../../domain/ids.ts";

const prefix = "aptove:";

export function compactionContent(turnId: string): string {
  return Buffer.from(prefix + turnId).toString("base64url");
}

/** Returns the turn of a compaction. Null: this server did not make it. */
export function turnOfCompaction(content: string): string | null {
  const text = Buffer.from(content, "base64url").toString();
  const id = text.startsWith(prefix) ? text.slice(prefix.length) : "";
  return isId(id) ? id : null;
}
