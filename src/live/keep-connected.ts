/** Keeps the one connection of a process open, for every driver of several servers. */
import { limits } from "../domain/limits.ts";
import { pause } from "../system/abort.ts";

export interface KeptConnection {
  /** Opens the connection, calls `opened`, and settles when it has broken. It may reject, before it is open or later. */
  connect(opened: () => void): Promise<void>;
  /** Receives why it rejected. */
  failed(error: unknown): void;
}

/**
 * Opens the connection, and opens it again whenever it breaks, until the signal aborts. The pause between two attempts grows while they
 * fail, and differs from process to process, so that a store that comes back is not asked by all of them at once. Never rejects.
 */
export async function keepConnected({ connect, failed }: KeptConnection, signal: AbortSignal): Promise<void> {
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      await connect(() => (tries = 0));
    } catch (error) {
      if (!signal.aborted) failed(error);
    }
    const pauseMs = Math.min(limits.liveReconnectMs * 2 ** tries, limits.liveReconnectMsMax);
    await pause(pauseMs * (0.5 + Math.random() / 2), signal);
  }
}
