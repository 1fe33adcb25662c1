/** The sign-in: with a key, with a pairing code, or by an address that carries a code (which needs no view). */
import { useEffect, useState } from "preact/hooks";
import { browserName, client, signedOutBecause, signIn, signInAtProvider, wordsOf } from "../api/connection.ts";
import { navigate, route } from "../routes.ts";

const insecure = location.protocol === "http:" && !["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);

export function SignIn() {
  const isPairing = route.value.name === "pair";
  return (
    <main class="sign-in" id="view">
      <h1>aptove</h1>
      {signedOutBecause.value !== "" && <p role="alert">{signedOutBecause.value}</p>}
      {insecure && (
        <p class="notice wait">
          This connection is not encrypted: others on the network can read what you send and see.
        </p>
      )}
      {isPairing ? (
        <Pairing />
      ) : (
        <>
          <AtProvider />
          <WithKey />
        </>
      )}
    </main>
  );
}

function useAttempt(attempt: () => Promise<void>) {
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setFault("");
    await attempt().catch((error: unknown) => setFault(wordsOf(error)));
    setBusy(false);
  };
  return { fault, isBusy, submit };
}

/** Shows nothing if the server has no identity provider for browsers. */
function AtProvider() {
  const [provider, setProvider] = useState<string | null>(null);
  const { fault, isBusy, submit } = useAttempt(signInAtProvider);
  useEffect(() => {
    // A server that does not answer is shown by the rest of the page.
    void client.page.ways().then(
      ({ identityProvider }) => setProvider(identityProvider),
      () => undefined,
    );
  }, []);
  if (provider === null) return null;
  return (
    <form onSubmit={(event) => void submit(event)}>
      {fault !== "" && <p role="alert">{fault}</p>}
      <button class="primary" type="submit" disabled={isBusy}>
        Sign in with {provider}
      </button>
    </form>
  );
}

function WithKey() {
  const [key, setKey] = useState("");
  const { fault, isBusy, submit } = useAttempt(() => signIn({ key: key.trim() }));
  return (
    <form onSubmit={(event) => void submit(event)}>
      <p>
        Open the address that <code>npm start</code> prints; <code>aptove page</code> prints a new one. Or sign in with
        an API key.
      </p>
      <label>
        API key
        <input
          type="password"
          name="key"
          autocomplete="current-password"
          required
          value={key}
          onInput={({ currentTarget }) => setKey(currentTarget.value)}
        />
      </label>
      {fault !== "" && <p role="alert">{fault}</p>}
      <button class="primary" type="submit" disabled={isBusy}>
        Sign in
      </button>
      <p class="dim">
        On a phone: <code>aptove device pair</code> shows a code for the camera, or <a href="/pair">type it</a>.
      </p>
    </form>
  );
}

function Pairing() {
  const [code, setCode] = useState(location.hash.slice(1));
  const [name, setName] = useState(browserName());
  const { fault, isBusy, submit } = useAttempt(async () => {
    await signIn({ pairingCode: code, name });
    history.replaceState(null, "", "/pair");
    navigate("/", { replace: true });
  });
  return (
    <form onSubmit={(event) => void submit(event)}>
      <p>This browser becomes a device. It sees its own workspace, and you can revoke it at any time.</p>
      <label>
        Pairing code
        <input required value={code} autocomplete="off" onInput={({ currentTarget }) => setCode(currentTarget.value)} />
      </label>
      <label>
        Name in the list of devices
        <input required value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
      </label>
      {fault !== "" && <p role="alert">{fault}</p>}
      <button class="primary" type="submit" disabled={isBusy}>
        Pair this browser
      </button>
      <p class="dim">
        <a href="/">Sign in with a key instead</a>
      </p>
    </form>
  );
}
