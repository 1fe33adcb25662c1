/** The routes of contexts (G1): the contexts in effect, and the records that an org's admins edit. */
import * as z from "zod";
import {
  contextSchema,
  contextEditSchema,
  contextListSchema,
  contextParamsSchema,
  contextQuerySchema,
  contextVersionSchema,
  contextVersionsSchema,
  modelListSchema,
  modelsQuerySchema,
  retireQuerySchema,
  versionsQuerySchema,
} from "../context.ts";
import type { RouteName } from "./paths.ts";
import type { RouteSpec } from "./route-spec.ts";

const ifMatch = z.object({ "If-Match": z.string().optional().describe('The version, for example `"3"`.') });

export const contextRoutes = {
  listContexts: {
    summary: "Lists the contexts in effect: the configured ones, and the org's records, which override them.",
    access: "read",
    status: 200,
    answer: contextListSchema,
    errors: [],
  },
  getContextEntry: {
    summary: "Returns a context as it is in effect, or a version of the org's record of it.",
    access: "read",
    params: contextParamsSchema,
    query: contextQuerySchema,
    status: 200,
    answer: contextSchema,
    errors: [],
  },
  putContextEntry: {
    summary: "Makes a new version of a context from the whole content. Earlier versions stay readable.",
    access: "admin",
    params: contextParamsSchema,
    headers: ifMatch,
    body: contextEditSchema,
    status: 200,
    answer: contextSchema,
    errors: ["context_invalid", "context_changed", "storage_full"],
  },
  retireContextEntry: {
    summary: "Retires the org's record of a context. The context of the configuration with this id is in effect again.",
    access: "admin",
    params: contextParamsSchema,
    headers: ifMatch,
    query: retireQuerySchema,
    status: 200,
    answer: contextVersionSchema,
    errors: ["context_changed", "storage_full"],
  },
  listContextVersions: {
    summary: "Lists who edited a context, and when. One of the configuration that was never edited has no versions.",
    access: "read",
    params: contextParamsSchema,
    query: versionsQuerySchema,
    status: 200,
    answer: contextVersionsSchema,
    errors: [],
  },
  listModels: {
    summary: "Lists the models that the configured providers offer, with window and price where they are known.",
    access: "read",
    query: modelsQuerySchema,
    status: 200,
    answer: modelListSchema,
    errors: [],
  },
} as const satisfies Partial<Record<RouteName, RouteSpec>>;
