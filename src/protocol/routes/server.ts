/** The routes of devices, of indexes, and of the server itself. */
import * as z from "zod";
import {
  deviceListSchema,
  pairedDeviceSchema,
  pairingSchema,
  pairingClaimSchema,
  pairingCodeSchema,
  pairingStartSchema,
} from "../device.ts";
import { inspectionSchema } from "../server/doctor.ts";
import { aliveSchema, readinessSchema } from "../server/health.ts";
import { indexListSchema, indexRunsSchema, indexStartSchema, indexStopSchema } from "../server/index-list.ts";
import {
  attemptSchema,
  attemptStartSchema,
  signedInSchema,
  signInCodeSchema,
  signInSchema,
  signInWaysSchema,
} from "../sign-in.ts";
import type { RouteName } from "./paths.ts";
import type { RouteSpec } from "./route-spec.ts";
import { linesMediaType } from "../transfer.ts";
import { garbageOrderSchema, garbageReportSchema } from "../tree.ts";

export const serverRoutes = {
  listDevices: {
    summary: "Lists the caller's devices, or all devices of the org for an admin. Each device has its own token.",
    access: "read",
    status: 200,
    answer: deviceListSchema,
    errors: [],
  },
  createPairingCode: {
    summary: "Makes a pairing code. One device can exchange it for a token of the caller, once, within five minutes.",
    access: "write",
    body: pairingStartSchema,
    status: 201,
    answer: pairingCodeSchema,
    errors: ["workspace_unknown", "storage_full"],
  },
  getPairingCode: {
    summary: "Returns whether a pairing code of the caller was claimed, and by which device.",
    access: "read",
    status: 200,
    answer: pairingSchema,
    errors: [],
  },
  pairDevice: {
    summary:
      "Gives a device its token in exchange for a pairing code. A wrong code takes one of five attempts from every open code.",
    access: "open",
    body: pairingClaimSchema,
    status: 201,
    answer: pairedDeviceSchema,
    errors: ["pairing_refused", "rate_limited", "storage_full"],
  },
  revokeDevice: {
    summary: "Revokes a device's token, and closes the device's connections.",
    access: "write",
    status: 204,
    errors: [],
  },

  signIn: {
    summary:
      "Signs a browser in to the page, with a code, a key, a pairing code or an answer of the identity provider. The answer sets a cookie, and has a secret that the page sends with each request.",
    access: "open",
    body: signInSchema,
    status: 201,
    answer: signedInSchema,
    errors: ["sign_in_refused", "pairing_refused", "identity_unavailable", "rate_limited", "storage_full"],
  },
  signInWays: {
    summary: "Returns whether browsers can sign in at an identity provider.",
    access: "open",
    status: 200,
    answer: signInWaysSchema,
    errors: [],
  },
  beginSignIn: {
    summary:
      "Begins a sign-in at the identity provider (authorization code with PKCE). Keep `state`, `nonce` and `verifier`, and open `address`.",
    access: "open",
    body: attemptStartSchema,
    status: 201,
    answer: attemptSchema,
    errors: ["sign_in_refused", "identity_unavailable", "rate_limited"],
  },
  signOut: {
    summary: "Ends the sign-in of this browser and removes its cookie. With any other key, nothing changes.",
    access: "read",
    status: 204,
    errors: [],
  },
  createSignInCode: {
    summary: "Makes a code with which one browser can sign in as the caller, once, within an hour, on this server.",
    access: "write",
    status: 201,
    answer: signInCodeSchema,
    errors: [],
  },

  listIndexes: {
    summary: "Lists the repositories of the caller's org that are indexed.",
    access: "read",
    status: 200,
    answer: indexListSchema,
    errors: [],
  },
  listIndexRuns: {
    summary: "Returns which repositories are being indexed, how far each run is, and how the last runs ended.",
    access: "read",
    status: 200,
    answer: indexRunsSchema,
    errors: [],
  },
  startIndexRun: {
    summary:
      "Begins to index a repository again, from the folder that it was indexed from, and does not wait for the end. If this server does so already, nothing changes.",
    access: "admin",
    body: indexStartSchema,
    status: 204,
    errors: ["not_found", "index_missing", "repository_invalid"],
  },
  stopIndexRun: {
    summary: "Stops a run that an admin began on this server. The index stays as it was before the run.",
    access: "admin",
    query: indexStopSchema,
    status: 204,
    errors: ["not_found", "index_missing"],
  },

  inspectServer: {
    summary:
      "Checks the parts of the server as `aptove doctor` does, and says how to fix each fault. As NDJSON, each check arrives when it is done.",
    access: "admin",
    status: 200,
    answer: inspectionSchema,
    otherAnswers: { [linesMediaType]: "One check a line: first each as `running`, and again when it is done." },
    errors: [],
  },
  collectGarbage: {
    summary: "Deletes stored contents that no turn needs. A dry run only reports them.",
    access: "admin",
    body: garbageOrderSchema,
    status: 200,
    answer: garbageReportSchema,
    errors: ["garbage_doubtful", "storage_failed", "blobs_unavailable"],
  },
  healthz: {
    summary: "Returns 200 if the server process is running.",
    access: "open",
    status: 200,
    answer: aliveSchema,
    errors: [],
  },
  readyz: {
    summary:
      "Returns 200 if the server can run turns, otherwise 503 in the same form. An admin also receives the reason.",
    access: "open",
    greets: true,
    status: 200,
    answer: readinessSchema,
    unavailable: readinessSchema,
    errors: [],
  },
  openapi: {
    summary: "Returns this API as an OpenAPI 3.1 document.",
    access: "open",
    status: 200,
    answer: z.record(z.string(), z.unknown()),
    errors: [],
  },
} as const satisfies Partial<Record<RouteName, RouteSpec>>;
