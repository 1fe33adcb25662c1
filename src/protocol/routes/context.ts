/** The routes of contexts (G1): what counts, and the records that an org's admins edit. */
import { z } from "zod";
import {
  context,
  contextEdit,
  contextList,
  contextParams,
  contextQuery,
  contextVersion,
  contextVersions,
  retireQuery,
  versionsQuery,
} from "../context.ts";
import type { RouteName } from "./paths.ts";
import type { RouteSpec } from "./route-spec.ts";

const ifMatch = z.object({ "If-Match": z.string().optional().describe('The version, for example `"3"`.') });

export const contextRoutes = {
  listContexts: {
    summary: "The contexts that count: the configured ones, and the org's records over them.",
    access: "read",
    status: 200,
    answer: contextList,
    errors: [],
  },
  getContextEntry: {
    summary: "A context as it counts, or a version of the org's record of it.",
    access: "read",
    params: contextParams,
    query: contextQuery,
    status: 200,
    answer: context,
    errors: [],
  },
  putContextEntry: {
    summary: "Makes a new version of a context, whole; the versions before it stay readable.",
    access: "admin",
    params: contextParams,
    headers: ifMatch,
    body: contextEdit,
    status: 200,
    answer: context,
    errors: ["context_invalid", "context_changed", "storage_full"],
  },
  retireContextEntry: {
    summary: "Retires the org's record of a context; what the configuration says under its id counts again.",
    access: "admin",
    params: contextParams,
    headers: ifMatch,
    query: retireQuery,
    status: 200,
    answer: contextVersion,
    errors: ["context_changed", "storage_full"],
  },
  listContextVersions: {
    summary: "Who edited a context, and when.",
    access: "read",
    params: contextParams,
    query: versionsQuery,
    status: 200,
    answer: contextVersions,
    errors: [],
  },
} as const satisfies Partial<Record<RouteName, RouteSpec>>;
