import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import type { Clock } from "../src/kernel/clock.ts";
import { startTestServer, type TestServer, type TestServerOptions } from "./server.ts";

/** A server with console sign-in, and the actions of its users without a browser. */
export interface Reply {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: IncomingMessage["headers"];
}

export type Fields = Readonly<Record<string, unknown>>;
export type Headers = Readonly<Record<string, string | readonly string[]>>;

/** Sends a request with only these headers and the host. */
export async function ask(
  server: TestServer,
  path: string,
  fields: Fields | undefined,
  headers: Headers = {},
): Promise<Reply> {
  const body = fields === undefined ? undefined : JSON.stringify(fields);
  const sent = httpRequest(`${server.url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      ...headers,
      ...(body === undefined ? {} : { "Content-Length": String(Buffer.byteLength(body)) }),
    },
    agent: false,
  });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  for await (const piece of response.setEncoding("utf8")) text += String(piece);
  return {
    status: response.statusCode ?? 0,
    body: JSON.parse(text) as Record<string, unknown>,
    headers: response.headers,
  };
}

export const codeOf = ({ body }: Pick<Reply, "body">): unknown =>
  body["status_code"] ?? body["status"];

/** A signed-in user. */
export interface Signed {
  readonly id: string;
  readonly name: string;
  readonly password: string;
  /** The secret of the authenticator app, in base32. */
  readonly secret: string;
  readonly cookie: string;
  readonly csrf: string;
  /** The cookie that identifies the browser. */
  readonly browser: string | undefined;
  call(path: string, fields?: Fields, headers?: Headers): Promise<Reply>;
}

export type Role = "viewer" | "operator" | "admin";

export class ConsoleUsers {
  readonly server: TestServer;
  #passwords = 0;

  readonly #clock: Clock;

  constructor(server: TestServer, clock: Clock = server.clock) {
    this.server = server;
    this.#clock = clock;
  }

  /** The first admin, invited by the link that the start showed. */
  async firstAdmin(): Promise<Signed> {
    const invitation = this.server.cofre.consoleInvitation?.reveal();
    assert.ok(invitation !== undefined, "the first start invites an admin");
    return this.accept(invitation);
  }

  async invited(admin: Signed, name: string, role: Role): Promise<Signed> {
    const { body } = await admin.call("/__cofre/users", { action: "invite", name, role });
    assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
    return this.accept(String(body["invitation"]));
  }

  async accept(invitation: string): Promise<Signed> {
    const headers = { "X-Cofre-CSRF": "none" };
    const shown = await ask(this.server, "/__cofre/enrolment", { invitation }, headers);
    assert.equal(shown.body["status"], "SUCCESS", JSON.stringify(shown.body));
    const [name, secret] = [String(shown.body["name"]), String(shown.body["secret"])];
    const password = `correct horse ${(this.#passwords += 1)} battery`;
    const reply = await ask(
      this.server,
      "/__cofre/enrolment",
      { invitation, password, code: this.code(secret) },
      headers,
    );
    return this.#signed(reply, { name, password, secret });
  }

  /** Half a minute later, because a code is valid once. */
  async signIn(
    { name, password, secret }: Pick<Signed, "name" | "password" | "secret">,
    headers: Headers = {},
  ): Promise<Signed> {
    this.server.clock.advance(30_000);
    const fields = { action: "sign_in", name, password, code: this.code(secret) };
    return this.#signed(
      await ask(this.server, "/__cofre/session", fields, { "X-Cofre-CSRF": "none", ...headers }),
      {
        name,
        password,
        secret,
      },
    );
  }

  /** The current code of an authenticator app (RFC 6238). */
  code(secret: string): string {
    return totp(secret, this.#clock.now());
  }

  #signed(reply: Reply, known: Pick<Signed, "name" | "password" | "secret">): Signed {
    assert.equal(reply.body["status"], "SUCCESS", JSON.stringify(reply.body));
    const cookie = cookieOf(reply);
    assert.ok(cookie !== undefined);
    const csrf = String(reply.body["csrf"]);
    const { id } = reply.body["user"] as { readonly id: string };
    const call = (
      path: string,
      fields: Fields | undefined,
      headers: Headers = {},
    ): Promise<Reply> =>
      ask(this.server, path, fields, { Cookie: cookie, "X-Cofre-CSRF": csrf, ...headers });
    return {
      ...known,
      id,
      cookie,
      csrf,
      browser: reply.headers["set-cookie"]?.[1]?.split(";")[0],
      call,
    };
  }
}

/** `name=value` of the cookie that an answer sets. */
export function cookieOf({ headers }: Pick<Reply, "headers">): string | undefined {
  return headers["set-cookie"]?.[0]?.split(";")[0];
}

export function totp(secret: string, at: number): string {
  const bits = Array.from(secret.replaceAll(/[ =]/g, ""), (letter) =>
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0"),
  ).join("");
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(at / 30_000)));
  const mac = createHmac("sha1", key).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 0x0f;
  return String((mac.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, "0");
}

export async function startWithUsers({
  environment = {},
  ...options
}: TestServerOptions = {}): Promise<ConsoleUsers> {
  const server = await startTestServer({
    ...options,
    environment: { COFRE_CONSOLE: "login", ...environment },
  });
  return new ConsoleUsers(server, options.ports?.clock);
}
