import assert from "node:assert/strict";
import { test } from "node:test";
import { commandEnvironment } from "./environment.ts";

test("[P5] [E8] a variable whose name or value looks like a secret is not in a command's environment", () => {
  const secret = {
    OPENAI_API_KEY: "x",
    ANTHROPIC_API_KEY: "x",
    GEMINI_API_KEY: "x",
    SOME_APIKEY: "x",
    AWS_ACCESS_KEY_ID: "x",
    AWS_SECRET_ACCESS_KEY: "x",
    AWS_SESSION_TOKEN: "x",
    AZURE_CLIENT_SECRET: "x",
    GOOGLE_APPLICATION_CREDENTIALS: "/key.json",
    GITHUB_TOKEN: "x",
    GH_TOKEN: "x",
    NPM_CONFIG__AUTH: "x",
    npm_config_token: "x",
    PGPASSWORD: "x",
    MYSQL_PWD: "x",
    DB_PASS: "x",
    SENTRY_DSN: "x",
    SESSION_COOKIE: "x",
    APTOVE_DATA_DIR: "x",
    APTOVE_SERVER: "x",
    DATABASE_URL: "postgres://me:hidden@db/x",
    HTTP_ENDPOINT: "see https://me:hidden@example.com/",
    PLAIN_ONE: "sk-proj-abc",
    PLAIN_TWO: "ghp_abc",
    PLAIN_THREE: "AKIAABCDEFGH",
    PLAIN_FOUR: "-----BEGIN RSA PRIVATE KEY-----\nabc",
    PLAIN_FIVE: "eyJhbGciOi.eyJzdWIi.abc",
  };
  const plain = {
    PATH: "/bin",
    HOME: "/somewhere",
    LANG: "C.UTF-8",
    PWD: "/x",
    OLDPWD: "/y",
    SSH_AUTH_SOCK: "/agent",
    AWS_REGION: "eu-west-1",
    NODE_OPTIONS: "--max-old-space-size=4096",
    KEYBOARD: "de",
    MONKEY_BUSINESS: "1",
    HTTPS_PROXY: "http://proxy:8080",
    GIT_AUTHOR_NAME: "Me",
  };
  const passed = commandEnvironment({ ...secret, ...plain, GONE: undefined }, {});
  assert.deepEqual(passed, { ...plain, TERM: "dumb", GIT_TERMINAL_PROMPT: "0" });
});

test("[P5] [E8] a key from the configuration is never passed on, whatever the variable's name", () => {
  const own = { MY_LLM: "k1", COPY: "has k1 in it", PLACE: "home", WORK: "w", EMPTY: "" };
  const passed = commandEnvironment(own, { secretNames: ["WORK"], secretValues: ["k1", ""] });
  assert.deepEqual(passed, { EMPTY: "", PLACE: "home", TERM: "dumb", GIT_TERMINAL_PROMPT: "0" });
});
