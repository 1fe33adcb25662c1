/** Sessions and turns in their wire format, for tests of code that shows them. */
import type { WireSession } from "../src/protocol/session.ts";
import type { WireTurnSummary } from "../src/protocol/turn.ts";

/** Returns an id. Ids sort like their numbers. */
function idOf(number: number): string {
  const hex = number.toString(16).padStart(12, "0");
  return `01999999-0000-7000-8000-${hex}`;
}

function timeOf(number: number): string {
  return new Date(Date.UTC(2026, 0, 1) + number * 1_000).toISOString();
}

export function sampleSession(number: number, more: Partial<WireSession> = {}): WireSession {
  const at = timeOf(number);
  return {
    id: idOf(1_000_000 + number),
    name: `session ${number}`,
    key: `session-${number}`,
    description: "",
    labels: [],
    isPublic: false,
    isDraft: false,
    category: null,
    rating: null,
    userId: "user",
    agentContextId: "default",
    agentContextName: "Default",
    conversationContextId: "default",
    conversationContextName: "Default",
    model: null,
    settings: {},
    workspaceId: null,
    repo: "repo",
    otherRepos: [],
    defaultLanguage: null,
    metadata: {},
    originTurnId: null,
    headTurnId: null,
    turnCount: 1,
    lastTurnStatus: "completed",
    lastTurnStopReason: "stop",
    lastTurnAt: at,
    tokensTotal: 0,
    hasUncountedTokens: false,
    costUsd: 0,
    summary: null,
    createdAt: at,
    updatedAt: at,
    activeAt: at,
    archivedAt: null,
    deletedAt: null,
    ...more,
  };
}

/** `parent`: the number of the turn that this one continues. */
export function sampleTurn(number: number, parent: number | null): WireTurnSummary {
  const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0, totalTokens: 2 };
  return {
    id: idOf(number),
    sessionId: sampleSession(1).id,
    parentId: parent === null ? null : idOf(parent),
    rerunOf: null,
    sequence: number,
    depth: number,
    kind: "agent",
    spawnedBy: null,
    subagent: null,
    status: "completed",
    createdAt: timeOf(number),
    statusAt: timeOf(number),
    createdBy: "user",
    mode: "ask",
    provider: "offline",
    model: "offline-1",
    instructionSummary: `say ${number}`,
    answerSummary: `answer ${number}`,
    stopReason: "stop",
    failures: [],
    durationMs: 1,
    usage,
    warningCount: 0,
    wasCompacted: false,
  };
}
