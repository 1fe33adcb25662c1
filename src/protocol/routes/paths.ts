/**
 * Names, methods and paths of all HTTP routes. The client uses only this table, so it does not load the schemas. The
 * server and the OpenAPI document use `routes.ts`, which adds the schemas.
 */

export interface RoutePath {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path, with its parameters in braces as in OpenAPI. */
  path: `/${string}`;
}

export const paths = {
  execute: { method: "POST", path: "/api/ai/agent/execute" },
  estimate: { method: "POST", path: "/api/ai/agent/estimate" },

  listSessions: { method: "GET", path: "/api/sessions" },
  createSession: { method: "POST", path: "/api/sessions" },
  importSessions: { method: "POST", path: "/api/sessions/import" },
  getSession: { method: "GET", path: "/api/sessions/{id}" },
  updateSession: { method: "PATCH", path: "/api/sessions/{id}" },
  removeSession: { method: "DELETE", path: "/api/sessions/{id}" },
  restoreSession: { method: "POST", path: "/api/sessions/{id}/restore" },
  purgeSession: { method: "POST", path: "/api/sessions/{id}/purge" },
  archiveSession: { method: "POST", path: "/api/sessions/{id}/archive" },
  unarchiveSession: { method: "POST", path: "/api/sessions/{id}/unarchive" },
  moveHead: { method: "PUT", path: "/api/sessions/{id}/head" },
  listHeadMoves: { method: "GET", path: "/api/sessions/{id}/head" },
  undo: { method: "POST", path: "/api/sessions/{id}/undo" },
  getGraph: { method: "GET", path: "/api/sessions/{id}/graph" },
  verifySession: { method: "GET", path: "/api/sessions/{id}/verify" },
  sessionSize: { method: "GET", path: "/api/sessions/{id}/size" },
  exportSession: { method: "GET", path: "/api/sessions/{id}/export" },
  listTurns: { method: "GET", path: "/api/sessions/{id}/turns" },
  getLastTurn: { method: "GET", path: "/api/sessions/{id}/turns/last" },
  interruptSession: { method: "POST", path: "/api/sessions/{id}/interrupt" },
  steerSession: { method: "POST", path: "/api/sessions/{id}/steer" },
  getMailbox: { method: "GET", path: "/api/sessions/{id}/mailbox" },
  fireMailbox: { method: "POST", path: "/api/sessions/{id}/fire" },
  listPins: { method: "GET", path: "/api/sessions/{id}/pins" },
  addPin: { method: "POST", path: "/api/sessions/{id}/pins" },
  removePin: { method: "DELETE", path: "/api/sessions/{id}/pins/{pinId}" },
  listTurnNames: { method: "GET", path: "/api/sessions/{id}/turn-names" },
  nameTurn: { method: "PUT", path: "/api/sessions/{id}/turn-names/{turnId}" },
  sessionEvents: { method: "GET", path: "/api/sessions/{id}/events" },

  startSummary: { method: "POST", path: "/api/sessions/{id}/summaries" },
  listSummaries: { method: "GET", path: "/api/sessions/{id}/summaries" },
  getSummary: { method: "GET", path: "/api/summaries/{id}" },
  stopSummary: { method: "POST", path: "/api/summaries/{id}/stop" },
  getSummaryRequest: { method: "GET", path: "/api/summaries/{id}/request" },
  getSummaryResponse: { method: "GET", path: "/api/summaries/{id}/response" },

  getTurn: { method: "GET", path: "/api/turns/{id}" },
  getTurnSummary: { method: "GET", path: "/api/turns/{id}/summary" },
  getInstruction: { method: "GET", path: "/api/turns/{id}/instruction" },
  getAnswer: { method: "GET", path: "/api/turns/{id}/answer" },
  getRequest: { method: "GET", path: "/api/turns/{id}/request" },
  getResponse: { method: "GET", path: "/api/turns/{id}/response" },
  getOutput: { method: "GET", path: "/api/turns/{id}/output" },
  getSource: { method: "GET", path: "/api/turns/{id}/source" },
  getContext: { method: "GET", path: "/api/turns/{id}/context" },
  diffTurns: { method: "GET", path: "/api/turns/{id}/diff" },
  turnEvents: { method: "GET", path: "/api/turns/{id}/events" },
  archiveTurn: { method: "POST", path: "/api/turns/{id}/archive" },
  interruptTurn: { method: "POST", path: "/api/turns/{id}/interrupt" },
  steerTurn: { method: "POST", path: "/api/turns/{id}/steer" },
  listQuestions: { method: "GET", path: "/api/turns/{id}/questions" },
  answerQuestion: { method: "POST", path: "/api/turns/{id}/questions" },
  askQuestion: { method: "PUT", path: "/api/turns/{id}/questions" },
  withdrawQuestion: { method: "DELETE", path: "/api/turns/{id}/questions" },

  followNews: { method: "GET", path: "/api/events" },
  listApprovals: { method: "GET", path: "/api/approvals" },
  getCosts: { method: "GET", path: "/api/costs" },
  getSizes: { method: "GET", path: "/api/sizes" },
  listIndexedFiles: { method: "GET", path: "/api/indexes/files" },
  listIndexes: { method: "GET", path: "/api/indexes" },
  listIndexRuns: { method: "GET", path: "/api/indexes/runs" },
  startIndexRun: { method: "POST", path: "/api/indexes/runs" },
  stopIndexRun: { method: "DELETE", path: "/api/indexes/runs" },

  search: { method: "GET", path: "/api/search" },
  getForest: { method: "GET", path: "/api/forest" },

  getSharing: { method: "GET", path: "/api/sessions/{id}/sharing" },
  changeSharing: { method: "POST", path: "/api/sessions/{id}/sharing" },

  getOrg: { method: "GET", path: "/api/orgs/{id}" },
  updateOrg: { method: "PATCH", path: "/api/orgs/{id}" },
  listUsers: { method: "GET", path: "/api/users" },
  createUser: { method: "POST", path: "/api/users" },
  getUser: { method: "GET", path: "/api/users/{id}" },
  updateUser: { method: "PATCH", path: "/api/users/{id}" },
  listUserSessions: { method: "GET", path: "/api/users/{id}/sessions" },
  listAudit: { method: "GET", path: "/api/audit" },

  listKeys: { method: "GET", path: "/api/keys" },
  createKey: { method: "POST", path: "/api/keys" },
  revokeKey: { method: "DELETE", path: "/api/keys/{id}" },

  listBudgets: { method: "GET", path: "/api/budgets" },
  setBudget: { method: "PUT", path: "/api/budgets" },
  removeBudget: { method: "DELETE", path: "/api/budgets/{id}" },

  listContexts: { method: "GET", path: "/api/contexts" },
  getContextEntry: { method: "GET", path: "/api/contexts/{kind}/{name}" },
  putContextEntry: { method: "PUT", path: "/api/contexts/{kind}/{name}" },
  retireContextEntry: { method: "DELETE", path: "/api/contexts/{kind}/{name}" },
  listContextVersions: { method: "GET", path: "/api/contexts/{kind}/{name}/versions" },
  listModels: { method: "GET", path: "/api/models" },

  listWorkspaces: { method: "GET", path: "/api/workspaces" },
  createWorkspace: { method: "POST", path: "/api/workspaces" },
  getWorkspace: { method: "GET", path: "/api/workspaces/{workspace}" },
  deleteWorkspace: { method: "DELETE", path: "/api/workspaces/{workspace}" },
  getTranscript: { method: "GET", path: "/api/workspaces/{workspace}/transcript" },
  correctTranscript: { method: "PUT", path: "/api/workspaces/{workspace}/transcript" },
  listPermissions: { method: "GET", path: "/api/workspaces/{workspace}/permissions" },
  forgetPermission: { method: "DELETE", path: "/api/workspaces/{workspace}/permissions" },
  listFacts: { method: "GET", path: "/api/workspaces/{workspace}/memory" },
  addFact: { method: "POST", path: "/api/workspaces/{workspace}/memory" },
  getFact: { method: "GET", path: "/api/workspaces/{workspace}/memory/{fact}" },
  changeFact: { method: "PUT", path: "/api/workspaces/{workspace}/memory/{fact}" },
  forgetFact: { method: "DELETE", path: "/api/workspaces/{workspace}/memory/{fact}" },

  listDevices: { method: "GET", path: "/api/devices" },
  createPairingCode: { method: "POST", path: "/api/devices/pairing-codes" },
  getPairingCode: { method: "GET", path: "/api/devices/pairing-codes/{id}" },
  pairDevice: { method: "POST", path: "/api/devices/pair" },
  revokeDevice: { method: "DELETE", path: "/api/devices/{id}" },

  signIn: { method: "POST", path: "/api/sign-in" },
  signOut: { method: "DELETE", path: "/api/sign-in" },
  signInWays: { method: "GET", path: "/api/sign-in" },
  beginSignIn: { method: "POST", path: "/api/sign-in/attempts" },
  createSignInCode: { method: "POST", path: "/api/sign-in/codes" },

  inspectServer: { method: "GET", path: "/api/doctor" },
  collectGarbage: { method: "POST", path: "/api/gc" },
  me: { method: "GET", path: "/api/me" },
  healthz: { method: "GET", path: "/healthz" },
  readyz: { method: "GET", path: "/readyz" },
  openapi: { method: "GET", path: "/openapi.json" },
} as const satisfies Record<string, RoutePath>;

export type RouteName = keyof typeof paths;
