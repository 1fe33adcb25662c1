/**
 * Every limit of the program. Each name ends with its unit. A limit that a person may want to change is a default here
 * and a key of the configuration file. The others are part of a rule and fixed.
 */
import { knowledgeLimits } from "./limits/knowledge.ts";
import { peopleLimits } from "./limits/people.ts";
import { skillLimits } from "./limits/skills.ts";

export const limits = {
  /** X2: a larger active file is listed as skipped instead of being sent. */
  activeFileBytesMax: 102_400,
  activeFilesPerTurnMax: 200,
  /** Each of them is searched in each turn. */
  repositoriesPerSessionMax: 16,
  /** X8: tokens of a message's active files, their share of the window and of a tool loop's step, and the waiting files named. */
  activeFilesTokensMax: 32_000,
  activeFilesWindowShareMax: 0.4,
  activeFilesLoopShare: 0.125,
  waitingFilesNamedMax: 8,
  /** T4: the summaries of instructions and answers. */
  summaryCharactersMax: 1_024,
  /** S2: the name that a session gets from its first instruction. */
  sessionNameCharactersMax: 60,
  instructionBytesMax: 1_048_576,
  /** O5: the earlier items of one turn. */
  earlierItemsMax: 20_000,
  toolsPerTurnMax: 128,
  toolOutputBytesMax: 10_485_760,
  /** The part of a tool's result that the model receives. The rest is cut off. */
  toolResultCharactersMax: 65_536,
  toolTimeMs: 120_000,
  /** P5: a path and a glob in the arguments of a call. */
  toolPathCharactersMax: 4_096,
  globCharactersMax: 1_024,
  /** P5: the size of a file that a tool reads or changes, and what one call of `read` returns. */
  toolFileBytesMax: 10_485_760,
  readLinesMax: 2_000,
  readCharactersMax: 49_152,
  readLineCharactersMax: 2_000,
  /** P5: the entries that `list` returns, the files that `list` and `search` examine, and their time. */
  listedEntriesMax: 500,
  listedFilesMax: 100_000,
  listMs: 10_000,
  /** P5: what `search` returns, and how long it may take. */
  searchMatchesMax: 200,
  searchCharactersMax: 32_768,
  searchLineCharactersMax: 300,
  searchContextLinesMax: 20,
  searchedFileBytesMax: 4_194_304,
  searchMs: 10_000,
  /** P5: of a larger change of a file, its size and this much of its beginning and of its end are shown. */
  diffCharactersMax: 262_144,
  diffPartCharactersMax: 4_096,
  /** P5: commands. A command whose output exceeds the last limit is ended. The end of its output is kept. */
  commandMs: 120_000,
  commandMsMax: 600_000,
  commandOutputBytesMax: 2_097_152,
  commandFloodBytesMax: 268_435_456,
  /** The time between the signal that asks a command to end and the signal that kills it. */
  commandGraceMs: 2_000,
  /** The complete outputs of tools that are stored with one turn. What exceeds it is lost. */
  toolOutputsPerTurnBytesMax: 67_108_864,
  /**
   * A1: the levels of subagents, the subagents that may run in one session, the subagents that one turn may start, and
   * the turns that all subagents of a session may have.
   */
  subagentLevelsMax: 2,
  subagentsRunningMax: 8,
  subagentsPerTurnMax: 8,
  subagentTurnsPerSessionMax: 500,
  /** How often a message to a subagent is tried again if the subagent changes its state meanwhile. */
  subagentSteerAttemptsMax: 5,
  /** A2: the text of all mailbox messages that one turn delivers. Longer texts share it. */
  mailboxCharactersMax: 131_072,
  planStepsMax: 100,
  planStepCharactersMax: 500,
  /** The output of a running call that is shown. */
  toolShownCharactersMax: 16_384,
  /** P5: the time that an MCP server has to start, and that the first list of tools waits for the servers. */
  mcpStartMs: 30_000,
  mcpStartWaitMs: 10_000,
  /** The time until a server that ended or failed to start is started again. */
  mcpRestartMs: 15_000,
  /** The time for an answer that needs no work: a ping, and the list of tools after it changed. */
  mcpAnswerMs: 5_000,
  /** One call that reports progress. A call without any sign of progress ends after `toolTimeMs`. */
  mcpCallMsMax: 600_000,
  /** One message. A longer one ends the connection. */
  mcpMessageBytesMax: 16_777_216,
  /**
   * What is read from one server in a tenth of a second after it has sent as much as the longest message. The rest
   * waits.
   */
  mcpBytesPerBeatMax: 2_097_152,
  mcpMessagesPerBeatMax: 500,
  /** The tools of all servers that the model receives, and the tools that one server may list. */
  mcpToolsMax: 96,
  mcpToolsListedMax: 1_000,
  mcpToolNameCharactersMax: 255,
  mcpToolSchemaBytesMax: 65_536,
  mcpToolDescriptionCharactersMax: 4_096,
  /** The names, descriptions and schemas of all offered tools, which are sent with every request. */
  mcpToolsBytesMax: 524_288,
  /** The log of one server. The log before it is kept too. */
  mcpLogBytesMax: 1_048_576,
  /** The model calls of one turn, and the most that its settings may allow. */
  stepsPerTurnMax: 50,
  stepsPerTurnSettingMax: 10_000,
  /** The most tokens of an answer that a setting may allow. */
  outputTokensSettingMax: 10_000_000,
  /** The number of times that one turn may repeat a call with the same arguments. After that the call returns an error. */
  repeatedCallsMax: 3,
  /** K4: the age from which blobs without a row are garbage. A younger turn may just be opening. */
  garbageAgeMs: 3_600_000,
  /** K4: if a larger share of the blobs is garbage, the records may be lost, and only an explicit order deletes it. */
  garbageShareMax: 0.5,
  searchWordsMax: 16,
  /** A page of a session's graph: its turns, the forks that it names of each turn, and the characters of a text. */
  graphTurnsMax: 1_000,
  graphForksPerTurnMax: 10,
  graphTextCharactersMax: 200,
  /** A page of the forest of sessions: its trees, the forks of each turn, all its sessions, and how deep they are. */
  forestTreesMax: 100,
  forestForksPerTurnMax: 3,
  forestSessionsMax: 1_000,
  forestLevelsMax: 40,
  /** C6: a request that takes a larger share of the model's window is compacted first. The second share stays as it was. */
  windowShareMax: 0.8,
  compactionKeepShare: 0.3,
  /** C6: the context windows that the configuration may name. */
  contextTokensMin: 256,
  contextTokensMax: 100_000_000,
  /** The share that a summary may take, and the share for the piece that one call summarises. */
  summaryShare: 0.2,
  summaryPieceShare: 0.5,
  summaryWordsMin: 50,
  summaryPieceCharactersMin: 1_000,
  /** M5: the lines of a summary of a session, the length of a line and of a quote, and the shortest quote that is no part of its line. */
  summaryLinesMax: 60,
  summaryRejectedMax: 100,
  summaryLineCharactersMax: 400,
  summaryQuoteCharactersMax: 300,
  summaryQuoteCharactersMin: 12,
  /** M5: what one call reads at most, in tokens, and of each result of a tool in characters. */
  summaryCallTokensMax: 60_000,
  summaryResultCharactersMax: 2_000,
  /** M5: how often an answer that is in no valid form is asked for again. */
  summaryAnswersMax: 2,
  /** M5: how long a request may wait for the end of a summary, and how often it looks if another process makes it. */
  summaryWaitMsMax: 30_000,
  summaryPollMs: 500,
  /** A longer instruction is only summarised. A shorter one stays word for word until it is carried out. */
  instructionKeptCharactersMax: 8_000,
  /** How many times more tokens a provider may count than the estimate, before the difference counts as its error. */
  tokenDensityMax: 4,
  /** How often a request that the provider finds too long is shortened before the turn fails. */
  shorteningsMax: 4,
  /** The responses of one turn, as they arrive. A model that never ends its answer is cut off here. */
  answerBytesMax: 134_217_728,
  /**
   * R3: how often a runner polls for the requests of other processes. If wake-ups work, it polls only once in so many
   * rounds.
   */
  controlPollMs: 100,
  /** V5: how long a client's question stays open without being renewed, how long its answer is kept, and the size of its view. */
  questionLeaseMs: 60_000,
  /** V5: how often a client looks whether its question was answered elsewhere. */
  questionPollMs: 1_000,
  questionAnswerMs: 600_000,
  questionBytesMax: 262_144,
  controlPollsPerWakeUp: 10,
  /** H5: the body of one request. */
  requestBodyBytesMax: 16_777_216,
  /** The file of an import over HTTP, which is read as it arrives. */
  importBytesMax: 1_073_741_824,
  /** One line of that file, which is read into memory. */
  importLineBytesMax: 33_554_432,
  importBlobsPerTurnMax: 1_000,
  jsonDepthMax: 100,
  /** One text field of a session or a request that is stored in a row. */
  fieldCharactersMax: 4_096,
  labelsPerSessionMax: 64,
  metadataCharactersMax: 65_536,
  ...peopleLimits,
  /**
   * P3: the connections of one user, and the silence after which a connection counts as lost: a WebSocket, and one over
   * HTTP.
   */
  acpConnectionsPerUserMax: 32,
  acpPingMs: 30_000,
  acpIdleMs: 300_000,
  concurrentRunsPerUserMax: 32,
  requestsPerMinuteMax: 1_200,
  /** T12, V4: the turns in which the one that a retry repeats is searched, and messages that the model never received. */
  recentTurnsMax: 50,
  pageSizeDefault: 50,
  pageSizeMax: 200,
  /** X6: the files of earlier turns that are compared with the working copy, and those that one message names. */
  reviewedFilesMax: 200,
  notedFilesMax: 50,
  ...knowledgeLimits,
  ...skillLimits,
  /** C2: a provider keeps a response for 30 days. In the last day the chain is not used any more. */
  chainLifetimeMs: 30 * 24 * 3_600_000,
  chainMarginMs: 24 * 3_600_000,
  /** C7: the attempts of one model call, and the pauses between them. */
  providerAttemptsMax: 4,
  providerBackoffMs: 500,
  providerBackoffMaxMs: 30_000,
  /** C7: the longest wait of a provider that is believed. A longer one counts as none. */
  providerWaitMaxMs: 365 * 24 * 3_600_000,
  /**
   * The time until the answer of a provider begins, and between two pieces of it. Reasoning models are silent for a
   * long time.
   */
  providerFirstByteMs: 120_000,
  providerIdleMs: 240_000,
  /** How long a connection to a provider is kept for the next request, unless the provider names a shorter time. */
  providerConnectionMs: 240_000,
  /** How long the engine waits for the end of the body after the terminal event, so that the stored bytes are complete (D3). */
  providerDrainMs: 500,
  /** T11, R4: how long a driver may take to end after its signal has aborted. It is less than `leaseMarginMs`. */
  providerEndMs: 1_000,
  /** One event of a provider, and the body of an error. Longer ones are cut off. */
  providerEventBytesMax: 16_777_216,
  providerErrorBytesMax: 1_048_576,
  /** H2: the time that a store has to answer a health check, and how long the answer is cached. */
  healthAnswerMs: 2_000,
  healthKeptMs: 1_000,
  /** L1: the time that each part of the server has to answer an inspection. */
  inspectionMs: 10_000,
  /** H2: how often a health check also writes to the stores, and the characters that it writes. */
  healthWriteMs: 15_000,
  healthCharacters: 16_384,
  /**
   * R1, R2: the length of a lease, how often it is renewed, how long before its end the runner stops its turns, and how
   * often lost turns are searched. The death of a server costs the first and the last together: 12 of the 15 seconds.
   */
  leaseMs: 10_000,
  leaseRenewMs: 2_000,
  leaseMarginMs: 2_500,
  recoverMs: 2_000,
  /**
   * How long an operation that failed because PostgreSQL could not be reached is retried, and how long the outcome of
   * an unanswered commit is queried. Both together are less than the rest of a lease when its renewal fails.
   */
  recordsRetryMs: 5_000,
  /** How long a server that starts waits for PostgreSQL. A command waits for `recordsRetryMs`. */
  recordsStartMs: 30_000,
  recordsSettleMs: 5_000,
  /** T11: how long the end of a turn waits for stores that do not answer, and the longest pause between two attempts. */
  endWaitMsMax: 30_000,
  endPauseMsMax: 1_000,
  /** PostgreSQL: the defaults of the section `[records]` of the configuration. */
  recordsPoolMax: 10,
  recordsConnectMs: 5_000,
  recordsStatementMs: 15_000,
  recordsLockMs: 5_000,
  recordsIdleInTransactionMs: 10_000,
  recordsKeepAliveMs: 10_000,
  /** The lost turns that a runner takes over at once, and how many of them it ends side by side. */
  recoveredTurnsMax: 64,
  recoveriesAtOnceMax: 8,
  /** How often a turn that names no head is placed again if the head moved before it could be opened (T5). */
  placeAttemptsMax: 8,
  /** A runner on another machine that was not noted for so long is deleted, and how often each one is noted again. */
  forgottenRunnerMs: 7 * 24 * 3_600_000,
  runnerNotedMs: 24 * 3_600_000,
  /** R4: the time that running turns have to finish when the process stops. */
  shutdownGraceMs: 10_000,
  /** V2: no piece is added to a piece of a text that is so long, so that a slow log makes no message that a client refuses. */
  joinedPieceCharactersMax: 65_536,
  /** V2: the time between two heartbeats of a stream. */
  heartbeatMs: 15_000,
  /** U3: the newest sessions whose changes are news, and the news that may wait for one listener. */
  changesSessionsMax: 100,
  changesWaitingMax: 100,
  /** H5: the streams of news of one user, each a tab or a program that listens. */
  newsListenersPerUserMax: 128,
  /** U3: how often changes are looked for without a hint; with wake-ups, only once in so many rounds. */
  changesPollMs: 2_000,
  changesPollsPerWakeUp: 8,
  /** U3: the shortest pause between two looks, and how many times as long as the look it is. */
  changesPauseMs: 50,
  changesPauses: 4,
  /** The open sessions of an ACP connection. */
  acpSessionsMax: 256,
  /** The open sessions of an ACP connection whose tools and MCP servers run. Those that were not used for the longest time rest. */
  acpSessionsAwakeMax: 64,
  /** The time for which the list of a provider's models is used, the time to read it, and its size. */
  modelListMs: 3_600_000,
  modelListTimeMs: 10_000,
  modelListBytesMax: 4_194_304,
  /** The longest time that output of a running command is held back from an ACP client. */
  acpOutputMs: 100,
  /** P1: one message of a client. */
  acpMessageBytesMax: 33_554_432,
  /** The values in one message, each of which costs time. */
  acpMessageValuesMax: 100_000,
  /** P4: the time that a client has to end and release one of its terminals. */
  acpClientMsMax: 5_000,
  /** V2: how soon a process sees the events that another process appends. */
  livePollMs: 25,
  /** V2: the same between servers: without wake-ups, and with wake-ups, in case one was lost. */
  livePollWithoutWakeUpsMs: 100,
  livePollWithWakeUpsMs: 2_000,
  /** How long an unreachable server of the live log is waited for. Turns continue meanwhile. */
  liveAwayMsMax: 15_000,
  /** R5: the time for one answer of PostgreSQL. After it the connection counts as broken. */
  liveAnswerMsMax: 10_000,
  /**
   * How often the listening connection is tested, and the first and the longest pause before a broken one is opened
   * again.
   */
  liveCheckMs: 5_000,
  /** How often logs that a killed process left behind are searched. */
  leftLogsMs: 3_600_000,
  /** The time for one answer of Redis. After it the log behind Redis is used. */
  redisAnswerMsMax: 500,
  /** How long the recovery of a turn waits for Redis, which may have events of its last moment. It is less than a lease. */
  redisAwayMsMax: 5_000,
  /** How long the log behind Redis may lag. The events of a server in that time are one write. */
  redisLagMs: 250,
  /** One turn in Redis: how many entries are kept, how long after the last one, and how many are read at once. */
  redisEntriesMax: 10_000,
  redisKeepMs: 3_600_000,
  /** How long Redis knows that a stream was dropped. What a process sent before that arrives much earlier. */
  redisDroppedKeepMs: 300_000,
  redisReadEntriesMax: 1_000,
  /** Q7: the cache of a process, one text of the cache in Redis, and how long Redis keeps it. */
  sharedCacheCharactersMax: 16_777_216,
  sharedCacheTextBytesMax: 1_048_576,
  sharedCacheKeepMs: 3_600_000,
  liveReconnectMs: 50,
  liveReconnectMsMax: 2_000,
  idempotencyKeyCharactersMax: 255,
  stateCacheBytesMax: 67_108_864,
  /** W7: the workspaces whose resolved configuration is cached, with their opened providers. */
  workspaceConfigurationsKept: 256,
  /** G1: the contexts that an org keeps as records, of both kinds, and the size of one of them as JSON. */
  contextsPerOrgMax: 100,
  contextBytesMax: 131_072,
  /** The caches of contexts of orgs, and of rules of sessions, that had turns recently. */
  contextCacheBytesMax: 67_108_864,
  /** The sessions whose next turn needs no read, each with its head (some KB), and the orgs whose newest contexts are known. */
  rememberedSessionsMax: 1_000,
  /** The boot prompts that are known to be stored. */
  keptPromptsMax: 1_000,
  /** I1: the parts of one turn's input, the content of one part, and the content of all parts. */
  inputPartsMax: 32,
  inputPartBytesMax: 10_485_760,
  inputBytesMax: 12_582_912,
  partNameCharactersMax: 255,
  /** The tokens that an image or a document counts as, in the estimate of the size of a history. */
  mediaTokensGuess: 1_600,
  /** I2: the length of an address, its redirects, and the time for its content. */
  urlCharactersMax: 4_096,
  urlRedirectsMax: 5,
  urlMs: 20_000,
  /** B1: the size of a blob. A larger one could not be one string in JavaScript, so it could not be read back. */
  blobBytesMax: 536_870_888,

  /** The attempts of one request to S3, with pauses that double: about six seconds in total at most. */
  s3AttemptsMax: 6,
  s3BackoffMs: 200,
  s3BackoffMaxMs: 5_000,
  /** The time until an answer of S3 begins and ends. Large bodies get the time that they need at this speed. */
  s3AnswerMs: 10_000,
  s3BytesPerSecondMin: 250_000,
  /** One page of a list: 1,000 keys of 512 characters and the markup around each. */
  s3ListBytesMax: 4_194_304,
  /** W2, W1: the ids of devices and the names of workspaces. */
  deviceIdCharactersMax: 255,
  workspaceNameCharactersMax: 200,
  /**
   * W7: the faults of a configuration that are listed one by one, and the length of a key that is compared with the
   * known ones.
   */
  configFaultsMax: 50,
  configKeyCharactersMax: 100,
  /** W6: the precision of a workspace's time of last use, and how long after a use a workspace is never deleted. */
  useMarkMs: 60_000,
  recentUseMs: 3_600_000,
  /** W5: the size of a transcript. A larger one is not read, but set aside. */
  transcriptBytesMax: 67_108_864,
  /** W5: the size of a transcript that a person reads and corrects over the API. A larger one is edited on the disk. */
  transcriptEditBytesMax: 4_194_304,
  /** W4: how long after a turn its transcript is synced to the disk, together with those of turns that end meanwhile. */
  transcriptPauseMs: 2_000,
  /** W4: the text of a turn that is appended to a transcript. For a longer one the whole file is written again. */
  transcriptAppendCharactersMax: 4_194_304,
  /** The sessions of a workspace whose transcripts are kept beside `session.md`. That of another one is written anew from the store with its next turn. */
  transcriptsMax: 256,
  /** B4: how long a process waits for the lock of the workspaces' and bindings' files. */
  fileLockWaitMsMax: 10_000,
  /** B3: the age from which a temporary file counts as left by a writer that ended. */
  abandonedFileAgeMs: 3_600_000,
} as const;
