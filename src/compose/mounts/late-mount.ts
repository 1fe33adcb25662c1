/**
 * A mount whose door is loaded by its first request. Most servers are never asked for most of their doors, and what a door
 * loads stays in memory: the official SDK of MCP alone is ten megabytes.
 */
import type { HttpMount } from "../../doors/http/mount.ts";
import { OpenedOnce } from "../../system/opened-once.ts";

/** What the server must know of a mount before its door is loaded. */
export type MountPlace = Pick<HttpMount, "path" | "methods" | "bodyBytesMax" | "refusal">;

type MountedDoor = Pick<HttpMount, "fetch" | "upgrade"> & { close?(): void | Promise<void> };

export interface LateMount {
  mount: HttpMount;
  /** Closes the connections of the door, if it was loaded. */
  close(): Promise<void>;
}

/** `load` is called at most once, unless it rejects: then the next request tries again. */
export function lateMount(place: MountPlace, load: () => Promise<MountedDoor>): LateMount {
  const door = new OpenedOnce(load);
  return {
    mount: {
      ...place,
      fetch: async (request, client) => await (await door.open()).fetch(request, client),
      upgrade: async (handshake, client) => await (await door.open()).upgrade(handshake, client),
    },
    // A door whose load fails meanwhile has nothing to close.
    close: async () => void (await (await door.ifOpen())?.close?.()),
  };
}
