import {
  challengeCode,
  type ChallengeView,
  type SimulatedAuthenticator,
} from "../authentication/simulated-authenticator.ts";
import { second } from "../kernel/instant.ts";
import { formatMoney } from "../kernel/money.ts";
import type { Account } from "../merchant/account.ts";
import type { WireResponse } from "../wire/answers/answer.ts";
import { textOf, type TreeObject } from "../wire/decode/tree.ts";
import type { OpenEndpoint } from "../wire/endpoint.ts";
import type { EndpointDeps } from "../wire/endpoints/deps.ts";
import { es } from "./challenge-texts-es.ts";
import { ptBr } from "./challenge-texts-pt-br.ts";
import { type ChallengeTexts, en } from "./challenge-texts.ts";
import { ancestorsOf, ownFile, publicFile } from "./fields-endpoint.ts";
import {
  languageOf,
  type PageLanguage,
  textOfFields,
  withoutIndentation,
  pageHeaders,
} from "./fields-files.ts";
import {
  compressedLater,
  htmlPage,
  javascript,
  pageEndpoint,
  servedOnce,
  stylesheet,
} from "./page-files.ts";
import { withoutComments } from "./page-script.ts";

const challengeTexts: Readonly<Record<PageLanguage, ChallengeTexts>> = { en, es, "pt-BR": ptBr };

const paths = {
  challenge: "/3ds/challenge",
  bank: "/3ds/bank",
  notification: "/3ds/notification",
  state: "/3ds/state",
  leave: "/3ds/leave",
  style: "/3ds/challenge.css",
  script: "/3ds/challenge.js",
  forwarding: "/3ds/forward.js",
} as const;

/** The addresses from which shops load the vendor's script, and its stand-in here. */
const standIns = ["/assets/songbird/songbird-dev.js", "/assets/songbird/songbird-prod.js"] as const;

type ChallengeParts = Pick<EndpointDeps, "holderOf" | "authenticatorOf">;

/** A challenge of an account, in a page that the account allows. */
interface Challenged {
  readonly account: Account;
  readonly authenticator: SimulatedAuthenticator;
  readonly id: string;
  readonly lang: PageLanguage;
  readonly origin: string;
  readonly ancestors: readonly string[];
  /** Names the challenge in the addresses of its pages. */
  readonly query: string;
}

/**
 * The pages of a 3-D Secure challenge in the sandbox: a frame of this server in the shop's page
 * (`/3ds/challenge`), which contains the page of the simulated bank (`/3ds/bank`), and the stand-in
 * for the vendor's script that opens it. The frame learns the end of the challenge from this
 * server, which has it from the bank. What arrives in the browser (CRes, window messages) only
 * makes the frame ask.
 */
export function challengeEndpoints(parts: ChallengeParts): readonly OpenEndpoint[] {
  return [
    ...standIns.map((path) => file(path, javascript, "songbird.js", publicFile)),
    file(paths.script, javascript, "challenge.js", ownFile),
    file(paths.forwarding, javascript, "forward.js", ownFile),
    file(paths.style, stylesheet, "challenge.css", ownFile),
    pageEndpoint(paths.challenge, async ({ params }) =>
      withChallenge(params, parts, framePage, unknownPage),
    ),
    posted(paths.bank, async ({ params }) => withChallenge(params, parts, bankPage, unknownPage)),
    posted(paths.notification, async ({ params }) =>
      withChallenge(params, parts, wakingPage, unknownPage),
    ),
    pageEndpoint(paths.state, async ({ params }) =>
      withChallenge(params, parts, stateAnswer, unknownState),
    ),
    posted(paths.leave, async ({ params }) =>
      withChallenge(params, parts, leaveAnswer, unknownState),
    ),
  ];
}

function file(
  path: string,
  type: string,
  name: string,
  headers: NonNullable<WireResponse["headers"]>,
): OpenEndpoint {
  return servedOnce(path, async () => {
    const text = await textOfFields(name);
    const body = withoutIndentation(type === javascript ? withoutComments(text) : text);
    return compressedLater({ status: 200, type, body, headers });
  });
}

/** An endpoint for forms and for a page's own calls. */
function posted(path: string, handle: OpenEndpoint["handle"]): OpenEndpoint {
  return { path, doc: "page", key: "none", family: "parameters", cors: false, handle };
}

/** The same answer for an unknown key, an unknown challenge and a foreign origin. */
async function withChallenge(
  params: TreeObject,
  { holderOf, authenticatorOf }: ChallengeParts,
  answer: (challenged: Challenged, params: TreeObject) => WireResponse,
  otherwise: WireResponse,
): Promise<WireResponse> {
  const key = textOf(params, "key") ?? "";
  const id = textOf(params, "id") ?? "";
  const origin = textOf(params, "origin") ?? "";
  const holder = key === "" || key.length > 100 ? undefined : await holderOf(key);
  if (holder?.grants !== "public") return otherwise;
  const { account } = holder;
  const authenticator = authenticatorOf(account);
  const ancestors = ancestorsOf(account.settings, "sandbox", origin);
  if (authenticator?.find(account.id, id) === undefined || ancestors === undefined)
    return otherwise;
  const lang = languageOf(textOf(params, "lang"), "");
  const query = new URLSearchParams({ key, id, origin, lang }).toString();
  return answer({ account, authenticator, id, lang, origin, ancestors, query }, params);
}

function framePage({ account, authenticator, id, lang, origin, ancestors, query }: Challenged) {
  const t = challengeTexts[lang];
  const request = { messageType: "CReq", messageVersion: "2.2.0", threeDSServerTransID: id };
  const data = {
    query,
    origin,
    left: String(authenticator.challengeMsLeft(account.id, id)),
    ended: t.ended,
  };
  const attributes = Object.entries(data).map(
    ([name, value]) => `data-${name}="${encodeURIComponent(value)}"`,
  );
  return page(
    lang,
    t.title,
    `<script defer src="${paths.script}"></script>`,
    `<header>
<h1>${t.title}</h1>
<button type="button" id="leave">${t.leave}</button>
</header>
<p id="status" role="status">${t.waiting}</p>
<iframe name="bank" title="${t.bankTitle}" sandbox="allow-forms allow-scripts allow-same-origin"></iframe>
<form id="request" method="post" action="${addressOf(paths.bank, query)}" target="bank">
<input type="hidden" name="creq" value="${base64Of(request)}" />
</form>`,
    pageHeaders([
      "connect-src 'self'",
      // The bank's page: it is this server's here. Form posts and their redirects need both.
      "frame-src 'self'",
      "form-action 'self'",
      `frame-ancestors ${ancestors.join(" ")}`,
    ]),
    attributes,
  );
}

/** The simulated bank (ACS): what it shows after a request, a code or the end. */
function bankPage(challenged: Challenged, params: TreeObject): WireResponse {
  const { account, authenticator, id, lang } = challenged;
  const code = textOf(params, "code");
  const isCancelled = textOf(params, "cancel") !== undefined;
  const isAnswered = !isCancelled && code !== undefined;
  const view = isCancelled
    ? authenticator.cancelChallenge(account.id, id, "cancelled")
    : isAnswered
      ? authenticator.answerChallenge(account.id, id, code)
      : authenticator.openChallenge(account.id, id);
  const t = challengeTexts[lang];
  if (view === undefined) return unknownPage;
  if (view.kind === "silent") return bankAnswer(challenged, "", "");
  if (view.kind === "late") {
    const again = addressOf(paths.bank, challenged.query);
    const seconds = Math.ceil(view.delayMs / second);
    return bankAnswer(
      challenged,
      `<meta http-equiv="refresh" content="${seconds};url=${again}" />`,
      "",
    );
  }
  if (view.kind === "ended") return endedPage(challenged, view);
  const { of, triesLeft } = view;
  const amount = `${of.amount.currency} ${formatMoney(of.amount)}`;
  const problem = isAnswered ? t.wrong.replace("{tries}", String(triesLeft)) : "";
  return bankAnswer(
    challenged,
    "",
    `<p class="bank">${t.bank}</p>
<h1>${t.confirm}</h1>
<p>${t.payment.replace("{amount}", amount).replace("{card}", of.maskedPan)}</p>
<p>${t.simulated.replace("{code}", challengeCode)}</p>
<form method="post" action="${addressOf(paths.bank, challenged.query)}">
<label for="code">${t.code}</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="10" required aria-describedby="problem" aria-invalid="${String(isAnswered)}" />
<p id="problem" role="alert">${problem}</p>
<div class="buttons">
<button>${t.submit}</button>
<button name="cancel" value="1" formnovalidate>${t.cancel}</button>
</div>
</form>`,
  );
}

/** Sends the CRes to the shop's side, through the browser. */
function endedPage(
  challenged: Challenged,
  { claimed }: Extract<ChallengeView, { kind: "ended" }>,
): WireResponse {
  const { id, lang, query } = challenged;
  const answer = {
    messageType: "CRes",
    messageVersion: "2.2.0",
    threeDSServerTransID: id,
    transStatus: claimed,
  };
  return bankAnswer(
    challenged,
    forwardingScript,
    `<h1>${challengeTexts[lang].ended}</h1>
<form method="post" action="${addressOf(paths.notification, query)}">
<input type="hidden" name="cres" value="${base64Of(answer)}" />
</form>`,
  );
}

/** Its script makes the frame ask. The CRes is not read: any page can send one. */
function wakingPage(challenged: Challenged): WireResponse {
  const text = challengeTexts[challenged.lang].ended;
  return bankAnswer(challenged, forwardingScript, `<h1>${text}</h1>`);
}

const forwardingScript = `<script defer src="${paths.forwarding}"></script>`;

function bankAnswer({ lang, ancestors }: Challenged, head: string, content: string): WireResponse {
  return page(
    lang,
    challengeTexts[lang].bankTitle,
    head,
    content,
    pageHeaders(["form-action 'self'", `frame-ancestors 'self' ${ancestors.join(" ")}`]),
  );
}

function stateAnswer({ account, authenticator, id }: Challenged): WireResponse {
  return stateOf(authenticator.find(account.id, id)?.status ?? "unknown");
}

/** The customer goes back to the shop, or the frame's own time is over. */
function leaveAnswer(challenged: Challenged, params: TreeObject): WireResponse {
  const { account, authenticator, id } = challenged;
  const reason = textOf(params, "reason") === "timed_out" ? "timed_out" : "cancelled";
  authenticator.cancelChallenge(account.id, id, reason);
  return stateAnswer(challenged);
}

/** transStatus, `not_completed`, or `unknown`. For what the page shows: the shop's server asks itself. */
function stateOf(status: string): WireResponse {
  return {
    status: 200,
    body: JSON.stringify({ status }),
    headers: [["Cache-Control", "no-store"]],
  };
}

const unknownState = stateOf("unknown");
const unknownPage = page(
  "en",
  challengeTexts.en.title,
  "",
  `<h1>${challengeTexts.en.unknown}</h1>`,
  pageHeaders(["form-action 'none'", "frame-ancestors 'none'"]),
);

function page(
  lang: PageLanguage,
  title: string,
  head: string,
  content: string,
  headers: NonNullable<WireResponse["headers"]>,
  attributes: readonly string[] = [],
): WireResponse {
  const body = `<!doctype html>
<html lang="${lang}" ${attributes.join(" ")}>
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width" />
<title>${title}</title>
<link rel="stylesheet" href="${paths.style}" />
${head}
</head>
<body>
<main>
${content}
</main>
</body>
</html>
`;
  return { status: 200, type: htmlPage, body, headers };
}

function addressOf(path: string, query: string): string {
  return `${path}?${query.replaceAll("&", "&amp;")}`;
}

function base64Of(message: object): string {
  return Buffer.from(JSON.stringify(message)).toString("base64url");
}
