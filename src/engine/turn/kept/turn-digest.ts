/**
 * The digest that seals a turn (D2). It covers the digest of the parent, everything in the row that never changes, the
 * steps, and the bytes of the blobs. So a change of any turn, in a row or in a blob, breaks the digest of that turn and
 * of every turn after it. The requests of later model calls have their own blobs; the SHA-256 of the exact body in
 * their step seals them.
 */
import { sha256 } from "../../../domain/ids.ts";
import type { Step } from "../../../domain/step.ts";
import type { ArchivedTurn, FinishedTurn } from "../../../domain/turn.ts";
import { canonicalJson } from "../../../system/canonical-json.ts";

export interface SealedParts {
  /** The digest of the parent. Null for a root, and if the parent was never sealed. */
  parent: string | null;
  steps: readonly Step[];
  /** The SHA-256 of the bytes of each blob. */
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
  // Null is left out, so a field that a later version adds with null breaks no digest.
  return sha256(canonicalJson(sealed, { leavesOutNull: true }));
}

/**
 * Returns the part of a finished turn that never changes. Hiding adds its time. Archiving changes the status and its time, and keeps the
 * outcome (T2).
 */
function sealedRow(turn: FinishedTurn | ArchivedTurn): object {
  const { digest: _digest, statusAt: _statusAt, hiddenAt: _hiddenAt, ...row } = turn;
  if (row.status !== "archived") return row;
  const { was, ...rest } = row;
  return { ...rest, ...was };
}
