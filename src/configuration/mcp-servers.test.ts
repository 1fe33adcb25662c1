import assert from "node:assert/strict";
import { test } from "node:test";
import { faultOf, load, workspaceFile } from "../../testing/configuration.ts";
import { effectiveValues } from "./config-text.ts";
import { configuredMcpServers } from "./mcp-servers.ts";
import { maskArguments, maskSecret } from "../system/mask-secret.ts";

const twoServers = [
  "[mcp_servers.files]",
  'command = "npx"',
  'args = ["-y", "server", "${HOME}/notes", "", "$${LITERAL}"]',
  "time_ms = 5000",
  "env.LEVEL = 'debug'",
  "env.TOKEN = '${FILES_TOKEN}'",
  "[mcp_servers.tracker]",
  'url = "https://mcp.example.org/mcp?key=${TRACKER_KEY}"',
  'headers.Authorization = "Bearer ${TRACKER_TOKEN}"',
].join("\n");

test("[P5] [W7] variables of the environment are filled into the servers of the configuration", async (t) => {
  const { configuration } = await load(t, { file: twoServers });
  const env = { HOME: "/h", FILES_TOKEN: "f", TRACKER_KEY: "k", TRACKER_TOKEN: "secret\n" };
  assert.deepEqual(configuredMcpServers(configuration, env), {
    servers: [
      {
        type: "stdio",
        name: "files",
        command: "npx",
        args: ["-y", "server", "/h/notes", "", "${LITERAL}"],
        env: { LEVEL: "debug", TOKEN: "f" },
        timeMs: 5_000,
      },
      {
        type: "http",
        name: "tracker",
        url: "https://mcp.example.org/mcp?key=k",
        headers: { Authorization: "Bearer secret" },
      },
    ],
    faults: [],
  });
});

test("[P5] [E8] a server that cannot be used affects no other server, and no value is reported", async (t) => {
  const { configuration } = await load(t, { file: twoServers });
  const some = { HOME: "/h", FILES_TOKEN: "", TRACKER_KEY: "k" };
  assert.deepEqual(configuredMcpServers(configuration, some), {
    servers: [],
    faults: [
      'the MCP server "files" is left out: FILES_TOKEN is not set in the environment',
      'the MCP server "tracker" is left out: TRACKER_TOKEN is not set in the environment',
    ],
  });
  const env = { HOME: "/h", FILES_TOKEN: "f", TRACKER_KEY: "k", TRACKER_TOKEN: "two\nlines-of-secret" };
  const { servers, faults } = configuredMcpServers(configuration, env);
  assert.deepEqual(
    servers.map(({ name }) => name),
    ["files"],
  );
  assert.deepEqual(faults, [
    'the MCP server "tracker" is left out: the header Authorization has a value that cannot be sent',
  ]);
  const elsewhere = await load(t, { file: 'mcp_servers.a.url = "${WHERE}/mcp"' }).catch(
    (error: Error) => error.message,
  );
  assert.match(String(elsewhere), /mcp_servers.a.url must be an address/);
  const host = await load(t, { file: 'mcp_servers.a.url = "https://${HOST}/mcp"' });
  assert.deepEqual(configuredMcpServers(host.configuration, { HOST: "me:hunter2@h" }).faults, [
    'the MCP server "a" is left out: its url, with the environment\'s values, must not contain a user or a password; use headers',
  ]);
});

test("[P5] [W7] a server in two layers is one server, and a workspace can turn off a server of the global file", async (t) => {
  const config = '[mcp_servers.files]\nenabled = false\n[mcp_servers.tracker]\nheaders.X-Team = "a"';
  const { configuration } = await load(t, { file: twoServers, workspace: { config } });
  const env = { HOME: "/h", FILES_TOKEN: "f", TRACKER_KEY: "k", TRACKER_TOKEN: "t" };
  assert.deepEqual(configuredMcpServers(configuration, env).servers, [
    {
      type: "http",
      name: "tracker",
      url: "https://mcp.example.org/mcp?key=k",
      headers: { Authorization: "Bearer t", "X-Team": "a" },
    },
  ]);
});

test("[P5] [W7] exactly one of command and url, over all layers, each with its own keys", async (t) => {
  const both = await faultOf(t, {
    file: 'mcp_servers.a.command = "x"',
    workspace: { config: 'mcp_servers.a.url = "https://x"' },
  });
  assert.match(both, new RegExp(`^${workspaceFile}: mcp_servers.a.url and mcp_servers.a.command exclude each other`));
  assert.match(both, /command is set by \S+config.toml\)$/);
  const cases: [string, RegExp][] = [
    ["[mcp_servers.a]", /mcp_servers.a needs a command, or a url$/],
    ["mcp_servers.a.enabled = false", /mcp_servers.a needs a command, or a url$/],
    ['mcp_servers.a = { url = "https://x", args = [] }', /mcp_servers.a.args is for a server with a command$/],
    ['mcp_servers.a = { url = "https://x", env.A = "b" }', /mcp_servers.a.env is for a server with a command$/],
    ['mcp_servers.a = { command = "x", headers.A = "b" }', /mcp_servers.a.headers is for a server with a url$/],
  ];
  for (const [file, expected] of cases) assert.match(await faultOf(t, { file }), expected, file);
});

test("[P5] [W7] errors name the misspelt and malformed keys of a server", async (t) => {
  const cases: [string, RegExp][] = [
    ['[mcp_server.a]\ncommand = "x"', /mcp_server is not known; did you mean "mcp_servers"\?/],
    ['mcp_servers.a.comand = "x"', /mcp_servers.a.comand is not known; did you mean "mcp_servers.a.command"\?/],
    ['mcp_servers."a b".command = "x"', /mcp_servers.a b is not a name/],
    ['mcp_servers.a = "npx"', /mcp_servers.a must be a table/],
    ['mcp_servers.a = { command = "" }', /command must be a text that is not empty/],
    ['mcp_servers.a = { command = "x", args = "y" }', /args must be a list of texts/],
    ['mcp_servers.a = { command = "x", args = ["${}"] }', /args must name a variable in each \$\{NAME\}/],
    ['mcp_servers.a = { command = "x", env.A = "${B:-c}" }', /env.A must name a variable/],
    ['mcp_servers.a = { command = "x", env.A = "${B" }', /env.A must name a variable/],
    ['mcp_servers.a = { command = "x", env.A = 1 }', /env.A must be a text/],
    ['mcp_servers.a = { command = "x", env."A=B" = "" }', /env.A=B is not a name: letters, digits or "_"/],
    ['mcp_servers.a = { url = "https://x", headers."A B" = "" }', /headers.A B is not a name/],
    ['mcp_servers.a = { url = "ftp://x" }', /url must be an address that starts with https/],
    ['mcp_servers.a = { url = "https://me:hunter2@x" }', /url must not contain a user or a password/],
    ['mcp_servers.a = { command = "x", time_ms = 1 }', /time_ms must be a whole number from 100/],
    ['mcp_servers.a = { command = "x", enabled = "no" }', /enabled must be true or false/],
  ];
  for (const [file, expected] of cases) {
    const detail = await faultOf(t, { file });
    assert.match(detail, expected, file);
    assert.ok(!detail.includes("hunter2"));
  }
});

test("[P5] [E8] values of a server are masked, and names of variables are not", async (t) => {
  const file = [
    'mcp_servers.a = { command = "x", env = { A_B = "a-very-secret-token", C = "pre-${C}" } }',
    'mcp_servers.b = { url = "https://h.example.org/s/a-very-secret-token/mcp?key=very-secret&v=${V}" }',
  ].join("\n");
  const values = new Map(effectiveValues(await load(t, { file })).map(({ key, value }) => [key, value]));
  assert.equal(values.get("mcp_servers.a.env.A_B"), '"a-v***ken"');
  assert.equal(values.get("mcp_servers.a.env.C"), '"***${C}"');
  assert.equal(values.get("mcp_servers.b.url"), '"https://h.example.org/s/a-v***ken/mcp?key=***&v=${V}"');
  assert.equal(maskSecret("Bearer ${TOKEN}"), "***${TOKEN}");
  assert.ok(!JSON.stringify([...values]).includes("very-secret"));
});

test("[E8] arguments are shown without their secrets, which are recognised by name or by form", () => {
  const cases: [string[], string[]][] = [
    [
      ["-y", "server", "docs"],
      ["-y", "server", "docs"],
    ],
    [
      ["--api-key", "abcdefghijklmnop"],
      ["--api-key", "abc***nop"],
    ],
    [["--token=abcdefghijklmnop"], ["--token=abc***nop"]],
    [
      ["--header", "Authorization: Bearer abc123456789"],
      ["--header", "Authorization: Bea***789"],
    ],
    [
      ["-e", "GITHUB_TOKEN=short", "-e", "LOG=debug"],
      ["-e", "GITHUB_TOKEN=***", "-e", "LOG=debug"],
    ],
    [
      ["--token", "${TOKEN}", "--auth", "--verbose"],
      ["--token", "${TOKEN}", "--auth", "--verbose"],
    ],
    [["postgres://ada:secret@db/x"], ["postgres://ada:***@db/x"]],
    [["sk-abcdefghijklmnop"], ["***"]],
    [["https://example.org/?key=abcdef"], ["https://example.org/?key=***"]],
  ];
  for (const [args, shown] of cases) assert.deepEqual(maskArguments(args), shown);
});
