/**
 * The environment of a command: that of this process without its secrets (P5, E8). Commands need most of it, and nobody
 * can list what; so everything is passed on but what is named as a secret, is called like one, or looks like one.
 */

export interface CommandEnvironment {
  /** Names of variables that hold keys, from the configuration. */
  secretNames?: readonly string[];
  /** The keys themselves: no variable that contains one is passed on, whatever its name; in output they are hidden. */
  secretValues?: readonly string[];
}

/** Called like a secret: AWS_SECRET_ACCESS_KEY, GH_TOKEN, PGPASSWORD, and whatever is ours. */
const secretName =
  /^APTOVE_|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SIGNING_?KEY|ENCRYPTION_?KEY|MASTER_?KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|(?:^|_)(?:PASS|PWD|AUTH|KEY|PAT|DSN)$/i;

/** The working folder, and what the shell makes of it. */
const harmlessNames = new Set(["PWD", "OLDPWD"]);

/** Looks like a secret: the beginnings that makers of keys give them, private keys, addresses with a password. */
const secretValue =
  /^(?:sk-|sk_live_|rk_live_|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|AKIA|ASIA|AIza|ya29\.|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{20}|aptove_|eyJ[\w-]+\.eyJ)|-----BEGIN [A-Z ]*PRIVATE KEY|\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:[^\s/@]+@/i;

export function commandEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  { secretNames = [], secretValues = [] }: CommandEnvironment,
): Record<string, string> {
  const passed = Object.entries(own).filter((entry): entry is [string, string] => {
    const [name, value] = entry;
    if (value === undefined || secretNames.includes(name)) return false;
    if (secretValues.some((secret) => secret !== "" && value.includes(secret))) return false;
    return harmlessNames.has(name) || !(secretName.test(name) || secretValue.test(value));
  });
  // Nobody is there to answer a question or to look at colours.
  return { ...Object.fromEntries(passed), TERM: "dumb", GIT_TERMINAL_PROMPT: "0" };
}
