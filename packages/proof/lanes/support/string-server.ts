import { createCipheriv, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * The control for the core dump: an ordinary server. It seals each card, logs nothing, and reads
 * each request with JSON.parse. Prints its port as its first line.
 */
const key = randomBytes(32);
const sealed: Buffer[] = [];
const server = createServer((request, response) => {
  let text = "";
  request.setEncoding("utf8");
  request.on("data", (piece: string) => (text += piece));
  request.on("end", () => {
    const body = JSON.parse(text) as { readonly creditcard?: { readonly card_number?: string } };
    const number = body.creditcard?.card_number ?? "";
    const cipher = createCipheriv("aes-256-gcm", key, randomBytes(12));
    sealed.push(
      Buffer.concat([cipher.update(JSON.stringify(body.creditcard ?? {}), "utf8"), cipher.final()]),
    );
    const masked = `${number.slice(0, 6)}${"x".repeat(6)}${number.slice(-4)}`;
    response.end(
      JSON.stringify({
        status: "SUCCESS",
        token: randomBytes(64).toString("hex"),
        masked_card_number: masked,
      }),
    );
  });
});
server.listen(0, "127.0.0.1", () =>
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`),
);
