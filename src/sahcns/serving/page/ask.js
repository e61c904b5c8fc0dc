// Questions to the service that sent this page, and nobody else.

const LONGEST = 4000; // letters of an address; what is longer goes into a body
const TRIES = 5; // where the service is busy

/** The answer to GET path?fields, or a thrown Error with the service's sentence. Empty fields are left out. */
export async function ask(path, fields = {}, signal, tries = TRIES) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && !value.length));
  const query = new URLSearchParams(given.flatMap(([name, value]) => [value].flat().map((one) => [name, one]))).toString();
  const headers = sessionStorage.token ? { Authorization: `Bearer ${sessionStorage.token}` } : {};
  const posted = query.length > LONGEST;
  const answer = posted
    ? await fetch(path, { method: "POST", signal, headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(Object.fromEntries(given)) })
    : await fetch(query ? `${path}?${query}` : path, { signal, headers });
  if (answer.status === 401) {
    await askForToken();
    return ask(path, fields, signal);
  }
  if ([429, 503].includes(answer.status) && tries > 1) {
    await new Promise((resolve) => { setTimeout(resolve, 1000 * (Number(answer.headers.get("retry-after")) || 1)); });
    return ask(path, fields, signal, tries - 1);
  }
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(content.error || `the service answered ${answer.status}`);
  return content;
}

let asking = null;

function askForToken() {
  asking ??= new Promise((resolve) => {
    const dialog = document.querySelector("#token");
    const input = dialog.querySelector("input");
    delete sessionStorage.token;
    dialog.addEventListener("close", () => {
      sessionStorage.token = input.value;
      input.value = "";
      asking = null;
      resolve();
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

/** Runs the latest of several calls: those before it are given up. */
export function latest(work) {
  let current;
  return async (...given) => {
    current?.abort();
    const own = (current = new AbortController());
    try {
      return await work(own.signal, ...given);
    } catch (error) {
      if (own.signal.aborted) return undefined;
      throw error;
    }
  };
}
