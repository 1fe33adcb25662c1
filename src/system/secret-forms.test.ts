/** The table of names whose files do not leave by themselves (E8), and of names that only look like them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { mayHoldSecrets } from "./secret-forms.ts";

const secret = `
  .env a/.env .ENV .env.local .env.production .env-local .env_prod .env~ .env.bak .env.js .envrc .envrc.local prod.env a/docker.env docker.env.local
  .netrc _netrc .pgpass .htpasswd .npmrc a/.npmrc .pypirc .git-credentials .dockercfg
  .aws/credentials .docker/config.json home/.docker/config.json .kube/config credentials.json gcp-credentials.json
  terraform.tfstate terraform.tfstate.backup prod.tfvars prod.auto.tfvars.json
  id_rsa .ssh/id_dsa id_ecdsa id_ed25519 id_ed25519_sk id_ecdsa_sk id_rsa.old ssh_host_rsa_key etc/ssh_host_ed25519_key
  server.pem ca-key.pem cert-key.pem privkey.pem server.key config/master.key server.key.bak putty.ppk a.p12 a.pfx a.jks a.keystore a.kdbx
`;

const open = `
  .env.example .env.sample .env.template .env.dist .env.defaults .env.schema .env-example .env.local.example .env.production.example .env.example~
  .envrc.example example.env prod.env.example terraform.tfvars.example example.tfvars
  .env.d.ts .env.ts src/.env.test.ts config/prod.env.js .environment src/env.ts environment.prod.ts venv
  docker/config.json kube/config credentials.ts docs/credentials.md locales/en/credentials.json
  main.tf id_rsa.pub ssh_host_rsa_key.pub ssh_host.ts
  certs/ca.pem root-ca.pem cert.pem client.cert.pem fullchain.pem public.pem dhparam.pem locale/messages.key i18n/de/messages.key
  src/key.ts keyboard.ts tokens.json package.json README.md
`;

const namesIn = (table: string): string[] => table.trim().split(/\s+/);

test("[E8] [Q1] [X1] a name says whether a file may hold secrets", () => {
  assert.deepEqual(
    namesIn(secret).filter((name) => !mayHoldSecrets(name)),
    [],
    "these may hold secrets",
  );
  assert.deepEqual(namesIn(open).filter(mayHoldSecrets), [], "these hold none");
});
