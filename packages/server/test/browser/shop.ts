import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A shop's page on an origin of its own. */
export interface Shop extends AsyncDisposable {
  readonly url: string;
}

/**
 * Serves one page whose script does what the browser library does when a customer presses the
 * button (interface 2.7): asks whether the key is good, stores the card, and asks for a name for
 * the device. It sends what the library sends: no header of its own, and JSON as plain text, so
 * that the browser sends no preflight request.
 */
export async function startShop(): Promise<Shop> {
  const server = createServer((request, response) => {
    const isPage = request.url === "/";
    response
      .writeHead(isPage ? 200 : 404, { "Content-Type": "text/html; charset=utf-8" })
      .end(isPage ? page : "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const script = `
const byFetch = async (method, url, body) => {
  const response = await fetch(url, { method, body });
  return { status: response.status, body: await response.json() };
};
const byXhr = (method, url, body) => new Promise((resolve, reject) => {
  const request = new XMLHttpRequest();
  request.open(method, url);
  request.onload = () => resolve({ status: request.status, body: JSON.parse(request.responseText) });
  request.onerror = () => reject(new TypeError("the browser did not let the page read the answer"));
  request.send(body);
});
const ways = { fetch: byFetch, xhr: byXhr };

async function pay({ way, cofre, key, card, country }) {
  const ask = ways[way];
  const check = await ask("GET", cofre + "/ws/merchantIntegrationProperties/isValidPublicIntegrationKey?public_integration_key=" + key);
  if (check.status !== 200) return { check };
  const token = await ask("POST", cofre + "/ws/token", JSON.stringify({ public_integration_key: key, payment_type_code: "", country, card }));
  const query = "publicIntegrationKey=" + key + "&country=" + country + "&origin=" + location.origin;
  const device = await ask("GET", cofre + "/fingerprint/?" + query);
  for (const { source } of device.body.providers) throw new Error("a script to load: " + source);
  const later = "ebanx_session_id=" + device.body.ebanx_session_id + "&providers[0][session_id]=1";
  const provider = await ask("GET", cofre + "/fingerprint/provider?" + query + "&" + later);
  return { check, token, device, provider };
}

/**
 * What the page can read of an address; the name of the error when the browser keeps the answer
 * from it.
 */
async function look({ way, method, url, headers }) {
  try {
    if (headers !== undefined) return (await (await fetch(url, { method, headers })).json()).status;
    return (await ways[way](method, url)).body.status;
  } catch (error) {
    return error.name;
  }
}
`;

const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title></head><body><script>${script}</script></body></html>`;
