/** What is stored of the end of a turn. Its own process stores it, or a recovery does. */
import { sha256 } from "../../../domain/ids.ts";
import { stateFile, type State } from "../../../domain/lineage.ts";
import { messageOf, type FinishedTurn, type TurnBlobs } from "../../../domain/turn.ts";
import type { TurnFinish } from "../../../records/record-store.ts";
import type { TurnEndBlobs } from "../../../records/turn-store.ts";
import { encodeBlob, encodeState, type RunBlob } from "./turn-blobs.ts";
import type { BlobHashes } from "./turn-digest.ts";

export interface EndContent {
  run: { key: string; content: RunBlob };
  /** `content` is null for a turn that leaves nothing to the history. */
  state: { key: string; content: State | null };
}

export interface EncodedEnd {
  /** The keys of the blobs, as the row of the turn names them. */
  keys: Pick<TurnBlobs, "run" | "state">;
  blobs: Pick<TurnEndBlobs, "put" | "history">;
  hashes: Pick<BlobHashes, "run" | "state">;
}

export function encodeEnd({ run, state }: EndContent): EncodedEnd {
  const ofRun = { key: run.key, bytes: encodeBlob("run", run.content) };
  const runHash = sha256(ofRun.bytes);
  if (state.content === null) {
    return {
      keys: { run: run.key, state: null },
      blobs: { put: [ofRun], history: null },
      hashes: { run: runHash, state: null },
    };
  }
  const { write: ofState, history } = encodeState(state.key, stateFile(state.content));
  return {
    keys: { run: run.key, state: state.key },
    blobs: { put: [ofRun, ofState], history },
    hashes: { run: runHash, state: sha256(ofState.bytes) },
  };
}

/** Returns the mailbox message of a subagent's turn. The end and the message are one write (A2). */
export function messageToMailbox(turn: FinishedTurn): Pick<TurnFinish, "message"> {
  const message = messageOf(turn);
  return message === null ? {} : { message };
}
