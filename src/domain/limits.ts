/**
 * Every limit of the program, in one place, unit last. A limit that a person may want to change is a
 * default here and a key of the configuration file; the others are part of a rule and fixed.
 */
export const limits = {
  /** X2: a larger active file is listed as skipped instead of being sent. */
  activeFileBytesMax: 102_400,
  activeFilesPerTurnMax: 200,
  /** T4: instruction and answer summaries. */
  summaryCharactersMax: 1_024,
  /** S2. */
  sessionNameCharactersMax: 60,
  instructionBytesMax: 1_048_576,
  toolsPerTurnMax: 128,
  toolOutputBytesMax: 10_485_760,
  /** What the model gets of a tool's result; the rest is cut. */
  toolResultCharactersMax: 65_536,
  toolTimeMs: 120_000,
  /** P5: of a path that a call names, and of a glob. */
  toolPathCharactersMax: 4_096,
  globCharactersMax: 1_024,
  /** P5: a larger file is neither read nor changed by a tool; what one call of `read` gives of a file. */
  toolFileBytesMax: 10_485_760,
  readLinesMax: 2_000,
  readCharactersMax: 49_152,
  readLineCharactersMax: 2_000,
  /** P5: what `list` shows, and how many files it and `search` look at, for how long. */
  listedEntriesMax: 500,
  listedFilesMax: 100_000,
  listMs: 10_000,
  /** P5: what `search` gives, and how long it may take. */
  searchMatchesMax: 200,
  searchCharactersMax: 32_768,
  searchLineCharactersMax: 300,
  searchContextLinesMax: 20,
  searchedFileBytesMax: 4_194_304,
  searchMs: 10_000,
  /** P5: a change of a file that takes more is told by its size. */
  diffCharactersMax: 262_144,
  /** P5: commands. A command that writes more is ended; of what it wrote, the end is kept. */
  commandMs: 120_000,
  commandMsMax: 600_000,
  commandOutputBytesMax: 2_097_152,
  commandFloodBytesMax: 268_435_456,
  /** Between the signal that asks a command to end and the one that ends it. */
  commandGraceMs: 2_000,
  /** Whole outputs of tools that are kept with one turn; what is over is cut for good. */
  toolOutputsPerTurnBytesMax: 67_108_864,
  /** A1: how deep subagents may begin subagents; how many may run in a session, be begun by one turn, and have turns in a session in all. */
  subagentLevelsMax: 2,
  subagentsRunningMax: 8,
  subagentsPerTurnMax: 8,
  subagentTurnsPerSessionMax: 500,
  subagentNameCharactersMax: 80,
  /** How often a subagent that changes between a look and a word is looked at again. */
  subagentSteerAttemptsMax: 5,
  /** A2: all messages that one turn is given, in text; longer ones share it. */
  mailboxCharactersMax: 131_072,
  planStepsMax: 100,
  planStepCharactersMax: 500,
  /** Of what a call shows while it runs. */
  toolShownCharactersMax: 16_384,
  /** P5: how long an MCP server may take to start, and for how long the first list of tools waits for those that do. */
  mcpStartMs: 30_000,
  mcpStartWaitMs: 10_000,
  /** How soon one that ended, or that did not start, is started again. */
  mcpRestartMs: 15_000,
  /** For what a server that is there answers at once: whether it is, and the list of tools that it said had changed. */
  mcpAnswerMs: 5_000,
  /** One call that shows progress all along; `toolTimeMs` without a sign of life ends it earlier. */
  mcpCallMsMax: 600_000,
  /** One message; a longer one ends the connection. */
  mcpMessageBytesMax: 16_777_216,
  /** What is taken from one server in a tenth of a second, once it said as much as the longest message; the rest waits. */
  mcpBytesPerBeatMax: 2_097_152,
  mcpMessagesPerBeatMax: 500,
  /** Offered, of all servers together; and what one server may list. */
  mcpToolsMax: 96,
  mcpToolsListedMax: 1_000,
  mcpToolNameCharactersMax: 255,
  mcpToolSchemaBytesMax: 65_536,
  mcpToolDescriptionCharactersMax: 4_096,
  /** Names, descriptions and schemas of all that is offered: they are sent with every request. */
  mcpToolsBytesMax: 524_288,
  /** A server's log; the one before it is kept. */
  mcpLogBytesMax: 1_048_576,
  /** Model calls of one turn. */
  stepsPerTurnMax: 50,
  /** The same call, with the same arguments, in one turn; from then on it is answered with an error. */
  repeatedCallsMax: 3,
  /** Blobs of younger turns may belong to a turn that is just being opened (K4). */
  garbageAgeMs: 3_600_000,
  searchWordsMax: 16,
  /** Turns above a fork that its graph shows. */
  graphLineageMax: 1_000,
  /** C6: a request that takes more of the model's window is compacted first; of that, this share stays as it was. */
  windowShareMax: 0.8,
  compactionKeepShare: 0.3,
  /** Responses of one turn, as they come over the wire; a model that never ends is ended here. */
  answerBytesMax: 134_217_728,
  /** How often a runner looks for what other processes want of its turns (R3); where it is woken for that, once in so many times. */
  controlPollMs: 100,
  controlPollsHeard: 10,
  /** H5: the whole body of one request. */
  requestBodyBytesMax: 16_777_216,
  /** The whole file of an import over HTTP, which is read as it arrives. */
  importBytesMax: 1_073_741_824,
  /** One line of it, which is read as a whole. */
  importLineBytesMax: 33_554_432,
  importBlobsPerTurnMax: 1_000,
  jsonDepthMax: 100,
  /** One text field of a session or a request that ends in a row. */
  fieldCharactersMax: 4_096,
  labelsPerSessionMax: 64,
  metadataCharactersMax: 65_536,
  /** P3: how long a pairing code is good, and how many wrong guesses there may be meanwhile. */
  pairingCodeMs: 300_000,
  pairingTriesMax: 5,
  /** How soon an open connection learns that another process revoked its key, where nothing wakes it. */
  keyPollMs: 500,
  /** H4: a token of an identity provider, and how far its clock may be off. */
  bearerCharactersMax: 8_192,
  bearerClockToleranceMs: 30_000,
  /** Its keys: how long they are waited for, how large they may be, and how long it is left alone after a failure. */
  identityMs: 5_000,
  identityBytesMax: 1_048_576,
  identityRestMs: 5_000,
  devicesListedMax: 1_000,
  participantsPerSessionMax: 100,
  /** How long an entry of the audit log is kept; how often old ones are dropped, and how many at once. */
  auditRetentionDays: 365,
  auditDropMs: 3_600_000,
  auditDroppedMax: 1_000,
  /** P3: connections of one user, and after what silence one is taken for gone: a WebSocket, one over HTTP. */
  acpConnectionsPerUserMax: 32,
  acpPingMs: 30_000,
  acpIdleMs: 300_000,
  concurrentRunsPerUserMax: 32,
  requestsPerMinuteMax: 1_200,
  pageSizeDefault: 50,
  pageSizeMax: 200,
  /** Q3. */
  retrievalCandidatesMax: 24,
  retrievalChunksMax: 8,
  retrievalChunksPerFileMax: 3,
  retrievalTokensMax: 6_000,
  /** Q1: a larger file is counted as skipped. */
  indexedFileBytesMax: 1_048_576,
  chunkLinesMax: 80,
  chunkCharactersMax: 6_000,
  /** Small neighbours in a file are one chunk up to this. */
  chunkMergeCharactersMax: 1_500,
  /** A file that takes longer to parse is cut by lines. */
  parseMsMax: 2_000,
  /** Of a question, for search: the beginning and the end of a longer one. */
  questionCharactersMax: 8_000,
  /** How long a run waits for another that has the index (B4). */
  indexWaitMsMax: 60_000,
  indexBusyMsMax: 5_000,
  /** Q2: an index in Qdrant whose run gave no sign of life for so long is taken over by the next. */
  indexLeaseMs: 15_000,
  /** Runs that did not finish, whose traces are kept out of every search; of older ones nothing is left. */
  indexVoidRunsMax: 64,
  /** Q5: one request to Qdrant; how often one of a run is sent, and the pause before the second time, which doubles. */
  qdrantRequestMsMax: 10_000,
  qdrantAttemptsMax: 4,
  qdrantBackoffMs: 250,
  qdrantReleaseMsMax: 2_000,
  /** Of indexes that were searched lately: which generation is current. */
  manifestsKept: 256,
  indexJournalBytesMax: 67_108_864,
  /** Vectors of repositories that were searched lately, in memory; the one being searched is always there. */
  vectorCacheBytesMax: 536_870_912,
  /** C2: the provider keeps a response for 30 days; the chain is not trusted in the last one. */
  chainLifetimeMs: 30 * 24 * 3_600_000,
  chainMarginMs: 24 * 3_600_000,
  /** C7. */
  providerAttemptsMax: 4,
  providerBackoffMs: 500,
  providerBackoffMaxMs: 30_000,
  /** Until the provider's answer begins, and between two pieces of it. Models that reason are silent for long. */
  providerFirstByteMs: 120_000,
  providerIdleMs: 240_000,
  /** How long the end of the body is waited for after the terminal event, so that the stored bytes are whole (D3). */
  providerDrainMs: 500,
  /** More of one event, or of an error's body, is not taken. */
  providerEventBytesMax: 16_777_216,
  providerErrorBytesMax: 1_048_576,
  /** H2: how long a store may take to say that it works, and for how long what it said counts. */
  healthAnswerMs: 2_000,
  healthKeptMs: 1_000,
  /**
   * R1, R2: a lease, how often it is renewed, how long before its end the runner stops what it runs, and how often lost
   * turns are looked for. The first and the last together are what a server's death costs: 12 of the 15 seconds.
   */
  leaseMs: 10_000,
  leaseRenewMs: 2_000,
  leaseMarginMs: 2_500,
  recoverMs: 2_000,
  /**
   * How long what failed because PostgreSQL was away is asked again, and how long it is asked what became of a commit
   * that it did not answer. Both together are less than what is left of a lease when its renewal fails.
   */
  recordsRetryMs: 5_000,
  recordsSettleMs: 5_000,
  /** PostgreSQL: what a person may change in `[records]`. */
  recordsPoolMax: 10,
  recordsConnectMs: 5_000,
  recordsStatementMs: 15_000,
  recordsLockMs: 5_000,
  recordsIdleInTransactionMs: 10_000,
  recordsKeepAliveMs: 10_000,
  /** Lost turns that a runner takes over at once, and how many of them it fails side by side. */
  recoveredTurnsMax: 64,
  recoveriesAtOnceMax: 8,
  /** A runner on another machine that began so long ago and runs nothing is forgotten. */
  forgottenRunnerMs: 7 * 24 * 3_600_000,
  /** R4. */
  shutdownGraceMs: 10_000,
  /** V2. */
  heartbeatMs: 15_000,
  /** Each open session of an ACP connection has tools of its own, and may have servers of tools. */
  acpSessionsMax: 64,
  /** P1: one message of a client. */
  acpMessageBytesMax: 33_554_432,
  /** Texts, numbers, lists and objects of it, which each cost time however short they are. */
  acpMessageValuesMax: 100_000,
  /** P4: how long a client may take to end and release a terminal of its own. */
  acpClientMsMax: 5_000,
  /** V2: how soon the events that another process appends are seen. */
  livePollMs: 25,
  /** The same between servers: how soon, where nothing wakes the listener; and where something does, in case that was lost. */
  livePollUnheardMs: 100,
  livePollHeardMs: 2_000,
  /** How long a server that is away is waited for; turns go on meanwhile. */
  liveAwayMsMax: 15_000,
  /** R5: for one answer of PostgreSQL; then its connection is taken for broken. */
  liveAnswerMsMax: 10_000,
  /** How often the connection that listens is tried, and how soon a broken one is opened again, at first and at most. */
  liveCheckMs: 5_000,
  /** How often logs are looked for that a killed process left behind. */
  leftLogsMs: 3_600_000,
  /** How long one answer of Redis is waited for; then the log behind it does the work. */
  redisAnswerMsMax: 500,
  /** How long the log behind Redis may lack what Redis has: in that time a server's events are one write. */
  redisLagMs: 250,
  /** Of one turn: entries that Redis keeps, how long after the last one, and how many are read at once. */
  redisEntriesMax: 10_000,
  redisKeepMs: 3_600_000,
  redisReadEntriesMax: 1_000,
  liveReconnectMs: 50,
  liveReconnectMsMax: 2_000,
  idempotencyKeyCharactersMax: 255,
  stateCacheBytesMax: 67_108_864,
  /** W7: workspaces whose configuration is kept as worked out, with their opened providers. */
  workspaceConfigurationsKept: 256,
  /** G1: contexts that an org keeps as records, of both kinds, and one of them as JSON. */
  contextsPerOrgMax: 100,
  contextBytesMax: 131_072,
  /** Contexts of orgs that had turns lately, as they were read. */
  contextCacheBytesMax: 67_108_864,
  /** Boot prompts of which it is remembered that they are stored. */
  keptPromptsMax: 1_000,
  /** I1: parts of one turn's input, the content of one, and of all of them. */
  inputPartsMax: 32,
  inputPartBytesMax: 10_485_760,
  inputBytesMax: 12_582_912,
  partNameCharactersMax: 255,
  /** For the guess whether a history nears the window: what an image or a document is counted as. */
  mediaTokensGuess: 1_600,
  /** I2: how long an address is, how often it leads on, and how long its content may take. */
  urlCharactersMax: 4_096,
  urlRedirectsMax: 5,
  urlMs: 20_000,
  /** B1: more cannot be one text in JavaScript, so it could not be read back. */
  blobBytesMax: 536_870_888,

  /** Tries of one request to S3, with pauses that double: about six seconds in all at most, three on average. */
  s3AttemptsMax: 6,
  s3BackoffMs: 200,
  s3BackoffMaxMs: 5_000,
  /** Until S3 answers, and its answer ends; large bodies get the time that they take at this speed. */
  s3AnswerMs: 10_000,
  s3BytesPerSecondMin: 250_000,
  /** A page of a list: 1,000 keys of 512 characters, with what stands about each. */
  s3ListBytesMax: 4_194_304,
  /** W2, W1: what devices and people may call themselves and their workspaces. */
  deviceIdCharactersMax: 255,
  workspaceNameCharactersMax: 200,
  /** W7: faults of a configuration that are told one by one; a key that is longer is compared with none. */
  configFaultsMax: 50,
  configKeyCharactersMax: 100,
  /** W6: how exact the mark of a workspace's last use is, and how long a use spares it whatever is asked. */
  useMarkMs: 60_000,
  recentUseMs: 3_600_000,
  /** W5: a larger transcript is not read, but put aside. */
  transcriptBytesMax: 67_108_864,
  /** W4: how long after a turn it is written down, with what ended meanwhile. */
  transcriptPauseMs: 250,
  /** W4: a turn with more text is not appended to its transcript, but the whole file is replaced. */
  transcriptAppendCharactersMax: 4_194_304,
  /** Sessions of a workspace whose transcripts are kept beside `session.md`; the store has the others. */
  transcriptsMax: 50,
  /** B4: how long the files of workspaces and bindings are waited for, while others write them. */
  fileLockWaitMsMax: 10_000,
  /** B3: what a writer left aside this long ago was left by one that ended. */
  abandonedFileAgeMs: 3_600_000,
} as const;
