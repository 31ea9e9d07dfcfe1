import { clientNames } from "./client-variables.ts";
import { wirePaths } from "../interface/paths.ts";
import { exampleDueDate } from "../vault/card-due-date.ts";
import type { Instant } from "../kernel/instant.ts";
import { plain, type Styled } from "./styled.ts";

/**
 * The output of the first start. Keys are undefined when the operator chose them: those are not
 * printed.
 */
export interface FirstStart {
  /** Whether the console is opened with the secret key. */
  readonly isConsoleByKey: boolean;
  readonly host: string;
  readonly port: number;
  readonly integrationKey: string | undefined;
  readonly publicIntegrationKey: string | undefined;
  readonly now: Instant;
}

/** The URL at which a client on this machine reaches a server that listens on `host`. */
export function baseUrl(host: string, port: number): string {
  const reachable = reachableHost(host);
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}

export function reachableHost(host: string): string {
  return host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
}

/** The next step for TLS; printed at every start with TLS. */
export function tlsLines(port: number): string {
  return `TLS on port ${port}, for client libraries with fixed host names: run \`cofre proxy\` in another terminal, then
  eval "$(cofre env CLIENT)"   in the client's shell; CLIENT is one of ${clientNames.join(", ")}
`;
}

/**
 * The address, the keys, the console, and three commands that can be copied into a shell one after
 * the other without changes.
 */
export function firstStartBanner(start: FirstStart, styled: Styled = plain): string {
  const url = baseUrl(start.host, start.port);
  const key = start.integrationKey ?? "'\"$COFRE_SANDBOX_INTEGRATION_KEY\"'";
  return `
${styled("heading", `Cofre is listening at ${url}`)}

${accountLines(start, styled)}
${start.isConsoleByKey ? consoleLines(url, start.integrationKey, styled) : ""}
${styled("heading", "Run these commands in a shell, one after the other:")}

${firstMinute(url, key, exampleDueDate(start.now)).join("\n\n")}

`;
}

/** The keys of a new account. */
export function accountLines(start: FirstStart, styled: Styled = plain): string {
  return `A sandbox account was created. ${keysTitle(start)}
  ${styled("name", "integration key")}         ${start.integrationKey ?? "the value of COFRE_SANDBOX_INTEGRATION_KEY"}
  ${styled("name", "public integration key")}  ${start.publicIntegrationKey ?? "the value of COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY"}`;
}

/** The address of the console, for later starts: keys are shown at the first start only. */
export function laterStartLines(
  { host, port }: { readonly host: string; readonly port: number },
  mode: "key" | "login",
): string {
  const how =
    mode === "login"
      ? "users sign in there"
      : "it asks for the secret key that the first start has printed\n(if it is lost, a start with COFRE_SANDBOX_INTEGRATION_KEY=KEY adds the key KEY)";
  return `Cofre is listening at ${baseUrl(host, port)}, with the console: ${how}.\n`;
}

/** Chosen keys are not shown, so the title does not say "once". */
function keysTitle({ integrationKey, publicIntegrationKey }: FirstStart): string {
  if (integrationKey === undefined && publicIntegrationKey === undefined)
    return "It has the keys that you chose:";
  return integrationKey === undefined || publicIntegrationKey === undefined
    ? "The generated key is shown only now:"
    : "These keys are shown only now:";
}

function consoleLines(url: string, integrationKey: string | undefined, styled: Styled): string {
  return integrationKey === undefined
    ? `
${styled("heading", "The console, which asks for the integration key:")}
  ${url}/
`
    : `
${styled("heading", "The console, opened with the key after the #:")}
  ${url}/#key=${integrationKey}
`;
}

/**
 * For the first admin of a console with sign-in, or a recovered one: printed by the start that
 * created the link, which is not stored.
 */
export function invitationLines(host: string, port: number, invitation: string): string {
  return `
The console has no admin who can sign in. This link creates one. It works once, for 24 hours, and is shown only now:
  ${baseUrl(host, port)}/#invite=${invitation}

`;
}

/**
 * Tokenize, authorize with the token, capture. `key` is inserted inside single quotes of the shell.
 * The payment code contains the time, because a code can be used once; the second and third command
 * use variables that the previous one has set.
 */
export function firstMinute(url: string, key: string, dueDate: string): string[] {
  const card = `"card_number":"4111111111111111","card_name":"Ana Lima","card_due_date":"${dueDate}","card_cvv":"123"`;
  const customer = `"name":"Ana Lima","email":"ana.lima@example.com","country":"pe","phone_number":"51987654321"`;
  const amount = `"amount_total":"100.00","currency_code":"PEN","merchant_payment_code":"first-'$(date +%s)'"`;
  return [
    `TOKEN=$(curl -s ${url}${wirePaths.token} --data-urlencode 'request_body={"integration_key":"${key}","country":"pe","payment_type_code":"creditcard","creditcard":{${card}}}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/'); echo "$TOKEN"`,
    `HASH=$(curl -s ${url}${wirePaths.direct} --data-urlencode 'request_body={"integration_key":"${key}","operation":"request","payment":{${amount},${customer},"payment_type_code":"creditcard","creditcard":{"token":"'$TOKEN'","auto_capture":false}}}' | sed 's/.*"hash":"\\([^"]*\\)".*/\\1/'); echo "$HASH"`,
    `curl -s ${url}${wirePaths.capture} --data-urlencode 'integration_key=${key}' -d "hash=$HASH"`,
  ];
}
