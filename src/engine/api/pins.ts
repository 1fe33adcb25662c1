/** Pins: turns and passages of turns that no compaction drops (M6). */
import type { Caller } from "../../domain/caller.ts";
import type { Pin, PinnablePart } from "../../domain/pin.ts";

/**
 * What is to be pinned. Without `text`, `from` and `to`: the whole part, or the whole turn. `text` is a passage that stands
 * only once in the part, or in the turn if no part is named. `from` and `to` are characters of the part.
 */
export interface PinRequest {
  turnId: string;
  part?: PinnablePart;
  text?: string;
  from?: number;
  to?: number;
}

export interface ShownPin extends Pin {
  /** The pinned passage. Null if it cannot be read. */
  text: string | null;
  /** True if the history of the session's head has the turn. Otherwise the pin has no effect until the head moves there. */
  isInHistory: boolean;
}

/** Pinning, by those who may run turns in the session. Everyone who may see the session may see its pins. */
export interface Pins {
  /** Returns the pins of a session, oldest turn first. Throws `not_found`. */
  list(caller: Caller, sessionId: string): Promise<ShownPin[]>;
  /**
   * Pins a turn of the head's history, or a passage of one, and returns the pin. If the same passage is pinned already, it
   * returns that pin. Throws `not_found`, `forbidden`, `pin_invalid` and `pins_too_large`.
   */
  add(caller: Caller, sessionId: string, request: PinRequest): Promise<ShownPin>;
  /**
   * Removes a pin, and returns the pins that are left. It is no error if there is none with this id. What the model has
   * received already stays in the history; the next compaction may drop it. Throws `not_found`, `forbidden`.
   */
  remove(caller: Caller, sessionId: string, pinId: string): Promise<ShownPin[]>;
}
