import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A shop's page whose script makes the browser library's 3-D Secure calls. */
export interface AuthenticatingShop extends AsyncDisposable {
  readonly origin: string;
}

/**
 * Serves the page on an origin of its own, with a policy that names one other origin. Its script is
 * written after the interface (2.7): the calls in their order, JSON as plain text, the key inside
 * `additionalData` for one of them, the vendor's script called before its listeners are set, the
 * whole card passed to it, and every status but AUTHENTICATION_SUCCESSFUL thrown.
 */
export async function startAuthenticatingShop(
  cofre: string,
  key: string,
): Promise<AuthenticatingShop> {
  const policy = `default-src 'none'; script-src 'nonce-page' ${cofre}; connect-src ${cofre}; frame-src ${cofre}`;
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title></head><body>
<h1>Shop</h1><button id="pay">Pay</button>
<script nonce="page" src="${cofre}/assets/songbird/songbird-dev.js"></script>
<script nonce="page">const cofre = ${JSON.stringify(cofre)}, key = ${JSON.stringify(key)};${script}</script>
</body></html>`;
  const server = createServer((request, response) => {
    const isPage = request.url?.startsWith("/?") === true || request.url === "/";
    response
      .writeHead(isPage ? 200 : 404, {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": policy,
      })
      .end(isPage ? html : "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const script = `
const records = [], heard = [];
let lastOrder;
addEventListener("message", ({ data }) => heard.push(data));
const ask = async (name, body) => {
  const response = await fetch(cofre + "/ws/threedsecureserver-" + name, {
    method: "POST",
    headers: { "Content-Type": "text/plain" },
    body: JSON.stringify(body),
  });
  return response.json();
};
const first = ({ data: [found] }) => found;
const resultOf = ({ status, consumerAuthenticationInformation: found }) => {
  if (status !== "AUTHENTICATION_SUCCESSFUL") throw new Error(status);
  return {
    threeds_eci: found.eci || found.eciRaw,
    threeds_cryptogram: found.ucaf || found.ucafAuthenticationData,
    threeds_xid: found.xid,
    threeds_version: found.version,
    threeds_trxid: found.directoryServerTransactionId,
  };
};
async function authenticate(number, totalAmount = "100.00") {
  const card = { number, expirationMonth: "12", expirationYear: "2030", type: "001", holderName: "Ana Lima" };
  const amountDetails = { totalAmount, currency: "BRL" };
  const method = { overridePaymentMethod: "CREDIT" };
  const { accessToken: token, paymentId: merchantTrackId } = first(await ask("generateToken", {
    ...amountDetails, orderNumber: null, publicIntegrationKey: key,
    consumerAuthenticationInformation: method, paymentInformation: { card },
  }));
  document.getElementById("Cardinal-ElementContainer")?.remove();
  Cardinal.configure({ timeout: "8000", payment: { view: "modal", displayExitButton: true } });
  Cardinal.setup("init", { jwt: token });
  Cardinal.on("payments.setupComplete", () => Cardinal.trigger("bin.process", card));
  const order = {
    token, merchantTrackId,
    orderInformation: { amountDetails, billTo: { country: "BR", email: "ana@example.com" } },
    paymentInformation: { card },
  };
  lastOrder = order;
  const answer = first(await ask("authentications", {
    ...order,
    additionalData: JSON.stringify({ publicIntegrationKey: key }),
    consumerAuthenticationInformation: { installmentTotalCount: "1", ...method },
    personalIdentification: { id: "85351346893", type: "CPF" },
    deviceInformation: { userAgentBrowserValue: navigator.userAgent },
  }));
  if (answer.status !== "PENDING_AUTHENTICATION") return resultOf(answer);
  const { acsUrl, pareq, authenticationTransactionId } = answer.consumerAuthenticationInformation;
  Cardinal.continue("cca", { AcsUrl: acsUrl, Payload: pareq }, { OrderDetails: { TransactionId: authenticationTransactionId } });
  const [facts, tokenChallenge] = await new Promise((resolve) => {
    Cardinal.on("payments.validated", (...told) => resolve(told));
  });
  const status = !facts.ActionCode && facts.ErrorNumber !== 0 ? "ERROR" : "SUCCESS";
  records.push(status);
  await ask("record", {
    status, merchantTrackId, publicIntegrationKey: key,
    errorNumber: facts.ErrorNumber, errorMessage: facts.ErrorDescription,
  });
  return resultOf(first(await ask("authentication-results", {
    ...order, tokenChallenge, publicIntegrationKey: key,
    consumerAuthenticationInformation: { ...method, authenticationTransactionId },
  })));
}
const pay = async (number, amount) => {
  delete document.body.dataset.outcome;
  const outcome = await authenticate(number, amount).catch(({ message }) => ({ error: message }));
  document.body.dataset.outcome = JSON.stringify(outcome);
};
const asked = new URLSearchParams(location.search);
document.getElementById("pay").onclick = () => pay(asked.get("number"));
`;
