/**
 * The access matrix: every route and every door, for every kind of caller (S3, S7, H4). What each caller may do is worked
 * out from the rules of docs/people.md, not from what the program does. A route without a rule does not compile. What a caller
 * may not see gets, to the last byte, the answer for what does not exist. The test prints the table for a public and a private session.
 */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { paths, type RouteName } from "../src/protocol/routes/paths.ts";
import { routes } from "../src/protocol/routes/routes.ts";
import { isKnown, rules, standingOf, type Rule } from "./access-rules.ts";
import { accessWorld, people, type AccessWorld, type Case, type Outcome, type Who } from "./access-world.ts";

const ruleOf: Record<RouteName, keyof typeof rules> = {
  execute: "continue",
  estimate: "continue",
  listSessions: "anyKey",
  createSession: "anyWriter",
  importSessions: "anyWriter",
  getSession: "read",
  updateSession: "change",
  removeSession: "change",
  restoreSession: "removed",
  listHeadMoves: "read",
  undo: "change",
  purgeSession: "removed",
  archiveSession: "change",
  unarchiveSession: "change",
  moveHead: "change",
  getGraph: "read",
  getForest: "anyKey",
  verifySession: "read",
  sessionSize: "read",
  getSizes: "anyKey",
  exportSession: "read",
  listTurns: "read",
  getLastTurn: "read",
  interruptSession: "stop",
  steerSession: "continue",
  sessionEvents: "read",
  getMailbox: "read",
  fireMailbox: "continue",
  listPins: "read",
  addPin: "continue",
  removePin: "continue",
  listTurnNames: "read",
  nameTurn: "continue",
  getSharing: "read",
  changeSharing: "change",
  startSummary: "continue",
  listSummaries: "read",
  getSummary: "read",
  stopSummary: "continue",
  getSummaryRequest: "read",
  getSummaryResponse: "read",
  getTurn: "read",
  getTurnSummary: "read",
  getInstruction: "read",
  getAnswer: "read",
  getRequest: "read",
  getResponse: "read",
  getOutput: "read",
  getSource: "read",
  getContext: "read",
  diffTurns: "read",
  turnEvents: "read",
  archiveTurn: "change",
  interruptTurn: "stop",
  steerTurn: "continue",
  listQuestions: "read",
  answerQuestion: "continue",
  askQuestion: "continue",
  withdrawQuestion: "continue",
  followNews: "anyKey",
  listApprovals: "anyKey",
  getCosts: "anyKey",
  listIndexes: "anyKey",
  listIndexRuns: "anyKey",
  startIndexRun: "runsTheServer",
  stopIndexRun: "runsTheServer",
  listIndexedFiles: "anyKey",
  search: "anyKey",
  getOrg: "ownOrg",
  updateOrg: "ownOrgAdmin",
  listUsers: "anyKey",
  createUser: "anyAdmin",
  getUser: "ownOrg",
  updateUser: "ownOrgAdmin",
  listUserSessions: "ownOrg",
  listAudit: "anyAdmin",
  listKeys: "noDevice",
  createKey: "writerNoDevice",
  revokeKey: "ownersKey",
  listBudgets: "anyKey",
  setBudget: "change",
  removeBudget: "ownOrgAdmin",
  listContexts: "anyKey",
  getContextEntry: "ownOrg",
  putContextEntry: "anyAdmin",
  retireContextEntry: "ownOrgAdmin",
  listContextVersions: "ownOrg",
  listModels: "anyKey",
  listWorkspaces: "anyKey",
  createWorkspace: "runsTheServer",
  getWorkspace: "workspaceOfServer",
  deleteWorkspace: "writesWorkspace",
  getTranscript: "workspaceOfServer",
  correctTranscript: "writesWorkspace",
  listPermissions: "workspaceOfServer",
  forgetPermission: "writesWorkspace",
  listFacts: "workspaceOfServer",
  addFact: "writesWorkspace",
  getFact: "workspaceOfServer",
  changeFact: "writesWorkspace",
  forgetFact: "writesWorkspace",
  listDevices: "anyKey",
  createPairingCode: "writerNoDevice",
  getPairingCode: "ownersCode",
  pairDevice: "everybody",
  revokeDevice: "ownersDevice",
  signIn: "everybody",
  signInWays: "everybody",
  beginSignIn: "everybody",
  signOut: "anyKey",
  createSignInCode: "writerNoDevice",
  inspectServer: "runsTheServer",
  collectGarbage: "runsTheServer",
  me: "anyKey",
  healthz: "everybody",
  readyz: "everybody",
  openapi: "everybody",
};

/** Other ways to the same session or turn: variants of one route, and the other doors. */
const otherWays: [name: string, rule: keyof typeof rules, ask: (world: AccessWorld, one: Case) => Promise<Outcome>][] =
  [
    [
      "execute: by turn",
      "continueOnce",
      (world, one) => world.execute(one, { responseContinuationId: one.target.turnId }),
    ],
    ["execute: fork", "fork", (world, one) => world.execute(one, { fork: { turnId: one.target.turnId } })],
    ["execute: rerun", "fork", (world, one) => world.execute(one, { rerun: { turnId: one.target.turnId } })],
    ["createSession: fork", "fork", (world, one) => world.create(one, { forkOf: one.target.turnId })],
    ["session show (CLI)", "read", (world, one) => world.show(one)],
  ];

test("[S3] [S7] [H4] [P3] who may do what, over every route and every door", async (t) => {
  const world = await accessWorld(t);
  await checkEveryRoute(t, world, { hasOtherDoors: true });
});

test("[U2] [H4] who may do what with the cookie of the page, over every route", async (t) => {
  const world = await accessWorld(t, { byCookie: true });
  await checkEveryRoute(t, world, { hasOtherDoors: false });
});

async function checkEveryRoute(
  t: TestContext,
  world: AccessWorld,
  { hasOtherDoors }: { hasOtherDoors: boolean },
): Promise<void> {
  const table: string[] = [];
  const wrong: string[] = [];
  const check = async (name: string, by: keyof typeof rules, ask: (one: Case) => Promise<Outcome>): Promise<void> => {
    const rule: Rule = rules[by];
    const isRemoved = by === "removed";
    const cells: string[] = [];
    for (const who of people) {
      const outcomes: Outcome[] = [];
      for (const isPublic of [true, false]) {
        const expected = rule(who, standingOf(who, isPublic));
        const isSpent = expected === "ok" && ["change", "removed", "continueOnce"].includes(by);
        const target = await world.target({ isPublic, isRemoved, isSpent });
        const found = await ask({ who, target });
        if (found !== expected)
          wrong.push(`${name}, ${who}, ${isPublic ? "public" : "private"}: ${found}, not ${expected}`);
        outcomes.push(found);
      }
      cells.push([...new Set(outcomes.map((outcome) => shown[outcome] ?? outcome))].join("/"));
    }
    table.push(
      [name.padEnd(22), ...cells.map((cell, at) => cell.padEnd(widthOf(people[at] ?? "owner")))].join(" ").trimEnd(),
    );
  };
  for (const name of Object.keys(paths) as RouteName[]) {
    await check(name, ruleOf[name], (one) => world.ask(name, one));
  }
  for (const [name, rule, ask] of otherWays) {
    if (hasOtherDoors || !name.includes("CLI")) await check(name, rule, (one) => ask(world, one));
  }
  if (hasOtherDoors) await check("connect (ACP)", "comesInByAcp", (one) => world.connect(one));
  const head = ["public/private".padEnd(22), ...people.map((who) => who.padEnd(widthOf(who)))].join(" ");
  t.diagnostic(["", head, ...table].join("\n"));
  assert.deepEqual(wrong, []);
}

function widthOf(who: Who): number {
  return Math.max(who.length, 7);
}

const shown: Partial<Record<Outcome, string>> = {
  ok: "yes",
  forbidden: "403",
  not_found: "404",
  unauthenticated: "401",
};

test("[S7] [H4] [P3] lists and search contain what the caller may see, and nothing else", async (t) => {
  const world = await accessWorld(t);
  for (const isPublic of [true, false]) await world.target({ isPublic, isRemoved: false, isSpent: false });
  for (const who of people.filter(isKnown)) {
    const expected = [true, false].filter((isPublic) => standingOf(who, isPublic) !== "none");
    assert.deepEqual(await world.listed(who), { listed: expected, searched: expected, ofOwner: expected }, who);
  }
});

test("[H4] the access in the route table agrees with the first check of the route's rule", () => {
  for (const name of Object.keys(paths) as RouteName[]) {
    const rule: Rule = rules[ruleOf[name]];
    const { access } = routes[name];
    assert.equal(rule("anonymous", "none") === "ok", access === "open", name);
    if (access === "write" || access === "admin") assert.equal(rule("reader", "owner"), "forbidden", name);
    if (access === "admin") assert.equal(rule("owner", "owner"), "forbidden", name);
  }
});
