/**
 * The digest that seals a turn (D2): over the parent's digest, all that the row says for ever, the steps, and the
 * bytes of the blobs. So a change of any turn, in a row or in a blob, breaks its own digest and that of every turn
 * after it. Requests of later model calls have blobs of their own: what seals them is the SHA-256 of the exact body
 * in their step.
 */
import { sha256 } from "../../../domain/ids.ts";
import type { Step } from "../../../domain/step.ts";
import type { ArchivedTurn, FinishedTurn } from "../../../domain/turn.ts";
import { canonicalJson } from "../../../system/canonical-json.ts";

export interface SealedParts {
  /** The parent's digest; null for a root, and below a turn that was never sealed. */
  parent: string | null;
  steps: readonly Step[];
  /** SHA-256 of the bytes of each blob. */
  hashes: BlobHashes;
}

export interface BlobHashes {
  opening: string;
  run: string | null;
  state: string | null;
}

export function turnDigest(turn: FinishedTurn | ArchivedTurn, { parent, steps, hashes }: SealedParts): string {
  const inOrder = steps.toSorted((a, b) => a.index - b.index);
  const { opening, run, state } = hashes;
  const sealed = [parent, sealedRow(turn), inOrder, [opening, run, state]];
  // A field that a later version adds with null breaks no digest, because null is left out.
  return sha256(canonicalJson(sealed, { leavesOutNull: true }));
}

/** What never changes of a finished turn. To put it away changes the status and its time, and keeps what it was (T2). */
function sealedRow(turn: FinishedTurn | ArchivedTurn): object {
  const { digest: _digest, statusAt: _statusAt, ...row } = turn;
  if (row.status !== "archived") return row;
  const { was, ...rest } = row;
  return { ...rest, ...was };
}
