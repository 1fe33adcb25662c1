/** The filters of the list of sessions. */
import { computed, signal } from "@preact/signals";
import type { SessionListOptions } from "../../src/client/client.ts";

export const filters = signal<SessionListOptions>({ archived: false });

export const hasFilter = computed(() =>
  Object.entries(filters.value).some(([name, value]) => name !== "archived" || value === true),
);
