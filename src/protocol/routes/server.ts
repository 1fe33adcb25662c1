/** The routes of devices and of the server itself. */
import { z } from "zod";
import { deviceList, pairedDevice, pairing, pairingClaim, pairingCode, pairingStart } from "../device.ts";
import { alive, readiness } from "../health.ts";
import type { RouteName } from "./paths.ts";
import type { RouteSpec } from "./route-spec.ts";
import { garbageOrder, garbageReport } from "../tree.ts";

export const serverRoutes = {
  listDevices: {
    summary: "The caller's devices, each with a token of its own; for an admin those of the org.",
    access: "read",
    status: 200,
    answer: deviceList,
    errors: [],
  },
  createPairingCode: {
    summary: "Makes a code by which one device gets a token of the caller's, once, within five minutes.",
    access: "write",
    body: pairingStart,
    status: 201,
    answer: pairingCode,
    errors: ["workspace_unknown", "storage_full"],
  },
  getPairingCode: {
    summary: "Whether a code that the caller made was claimed, and by which device.",
    access: "read",
    status: 200,
    answer: pairing,
    errors: [],
  },
  pairDevice: {
    summary: "Gives a device its token, for a code; a wrong one costs every open code one of five tries.",
    access: "open",
    body: pairingClaim,
    status: 201,
    answer: pairedDevice,
    errors: ["pairing_refused", "rate_limited", "storage_full"],
  },
  revokeDevice: {
    summary: "Makes a device's token worthless, and closes its connections.",
    access: "write",
    status: 204,
    errors: [],
  },

  collectGarbage: {
    summary: "Deletes what is stored and no turn needs; a dry run only says what that is.",
    access: "admin",
    body: garbageOrder,
    status: 200,
    answer: garbageReport,
    errors: ["storage_failed"],
  },
  healthz: { summary: "Whether the server lives.", access: "open", status: 200, answer: alive, errors: [] },
  readyz: {
    summary: "Whether the server can take turns; 503 with the same shape when it cannot. An admin is told why.",
    access: "open",
    greets: true,
    status: 200,
    answer: readiness,
    errors: [],
  },
  openapi: {
    summary: "This interface as OpenAPI 3.1.",
    access: "open",
    status: 200,
    answer: z.record(z.string(), z.unknown()),
    errors: [],
  },
} as const satisfies Partial<Record<RouteName, RouteSpec>>;
