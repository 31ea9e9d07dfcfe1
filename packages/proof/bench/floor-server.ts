/**
 * The floor: the cost of bare node:http for the same bytes. Reads the body, takes `request_body`
 * out of the form, parses its JSON and answers 1 KB that never changes. No routing, no checks, no
 * store: nothing that a payment service could omit, so a ratio to the floor shows what a product
 * adds.
 */
import { createServer } from "node:http";

const answer = JSON.stringify({ payment: { note: "x".repeat(990) }, status: "SUCCESS" });

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const form = new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
    const json = form.get("request_body");
    const tree: unknown = json === null ? null : JSON.parse(json);
    const known = typeof tree === "object" && tree !== null;
    response.writeHead(known || request.method === "GET" ? 200 : 400, {
      "Content-Type": "application/json; charset=utf-8",
      "Content-Length": Buffer.byteLength(answer),
    });
    response.end(answer);
  });
});
server.keepAliveTimeout = 600_000;
server.listen(Number(process.env["FLOOR_PORT"] ?? "0"), "127.0.0.1");
process.on("SIGTERM", () => process.exit(0));
