/**
 * Work that several requests or turns share. If one of them started it in its own context, every line of the log, and every span, about
 * the work of the others would have the ids of that one.
 */
import { AsyncLocalStorage } from "node:async_hooks";

/** Runs work, and all that it starts, outside the request or turn that calls it. Returns what the work returns. */
export const apart: <T>(work: () => T) => T = AsyncLocalStorage.snapshot();
